package static

import (
	"context"
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
	Lists      map[string]listed    `json:"lists,omitempty"`      // the Resource List of a set
	Files      map[string]*file     `json:"files"`                // by path

	name  string // of the file
	text  []byte // last written
	stamp Stamp  // of the file
}

// A listed is a Resource List that was brought up to date.
type listed struct {
	Noted time.Time `json:"noted"`          // by the clock of the process
	At    time.Time `json:"at"`             // the at of the list: the datetime of the newest change that it shows
	Since time.Time `json:"since,omitzero"` // where the Change List began
}

// A file is a document or a package in the folder.
type file struct {
	Set        string                  `json:"set,omitempty"`
	Capability resourcesync.Capability `json:"capability,omitempty"`
	Validator  string                  `json:"validator,omitempty"`
	Plain      Stamp                   `json:"plain"`
	Gzip       *Stamp                  `json:"gzip,omitempty"`    // of the compressed copy
	Unlisted   time.Time               `json:"unlisted,omitzero"` // since when no document lists it
}

// readRecord reads the record with the given name. It is empty if there is none.
func readRecord(ctx context.Context, s Store, name string) (*record, error) {
	r := &record{Format: recordFormat, Dumps: make(map[string]time.Time), Lists: make(map[string]listed), Files: make(map[string]*file), name: name}
	text, stamp, err := s.Read(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; remove it together with the documents, which are then written again", name, err)
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("%s has format %d, which this version does not know; use the version that wrote it", name, r.Format)
	}
	for name := range r.Files {
		if !fs.ValidPath(name) {
			return nil, fmt.Errorf("%s names the file %q", r.name, name)
		}
	}
	if r.Lists == nil {
		r.Lists = make(map[string]listed)
	}
	if r.Dumps == nil {
		r.Dumps = make(map[string]time.Time)
	}
	r.text, r.stamp = text, stamp
	return r, nil
}

// write writes r unless it is unchanged since the last write.
func (r *record) write(ctx context.Context, s Store) error {
	now, err := json.MarshalIndent(r, "", "\t")
	if err != nil || string(now) == string(r.text) {
		return err
	}
	c := Content{WriterTo: text(now), Type: "application/json", CacheControl: "no-store"}
	if r.stamp, err = s.Write(ctx, r.name, c, r.stamp); err != nil {
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
