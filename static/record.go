package static

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// recordName is the name of the file beside the documents that has the record.
const recordName = ".static.json"

// recordFormat is the version of the format of the record.
const recordFormat = 1

// A record describes the files that have been written.
type record struct {
	Format     int                  `json:"format"`
	Unfinished bool                 `json:"unfinished,omitempty"` // the last Write has not ended
	Source     string               `json:"source"`               // the version of the Source
	Dumps      map[string]time.Time `json:"dumps,omitempty"`      // when the Resource Dump of a set was last brought up to date
	Files      map[string]*file     `json:"files"`                // by path

	text []byte // last written
}

// A file is a document or a package in the folder.
type file struct {
	Set        string                  `json:"set,omitempty"`
	Capability resourcesync.Capability `json:"capability,omitempty"`
	Validator  string                  `json:"validator,omitempty"`
	Plain      stamp                   `json:"plain"`
	Gzip       *stamp                  `json:"gzip,omitempty"`    // of the compressed copy
	Unlisted   time.Time               `json:"unlisted,omitzero"` // since when no document lists it
}

// A stamp identifies a version of a file: if it is the same, no other program has changed the file.
type stamp struct {
	Size     int64 `json:"size"`
	Modified int64 `json:"modified"` // nanoseconds since 1970
}

// readRecord reads the record of a folder. It is empty if there is none.
func readRecord(t *tree) (*record, error) {
	r := &record{Format: recordFormat, Dumps: make(map[string]time.Time), Files: make(map[string]*file)}
	text, err := t.root.ReadFile(t.own(recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; remove it together with the documents, which are then written again", t.own(recordName), err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("%s has format %d, which this version does not know; use the version that wrote it", t.own(recordName), r.Format)
	}
	for name := range r.Files {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%s names the file %q", t.own(recordName), name)
		}
	}
	r.text = text
	return r, nil
}

// write writes r unless it is unchanged since the last write.
func (r *record) write(t *tree) error {
	now, err := json.MarshalIndent(r, "", "\t")
	if err != nil || string(now) == string(r.text) {
		return err
	}
	if _, err := t.write(t.own(recordName), text(now)); err != nil {
		return err
	}
	r.text = now
	return nil
}

// sorted yields the files in the order of their paths. Callers may remove files in the loop.
func (r *record) sorted() iter.Seq2[string, *file] {
	return func(yield func(string, *file) bool) {
		for _, name := range slices.Sorted(maps.Keys(r.Files)) {
			if !yield(name, r.Files[name]) {
				return
			}
		}
	}
}
