package static

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A writer is the work of one Write.
type writer struct {
	src     *Source
	options Options
	now     time.Time
	files   *tree
	known   *record
	live    map[string]bool // the paths of all documents
	skipped map[group]bool
	report  Report
}

// A group is a list or a dump of a set.
type group struct {
	set        string
	capability resourcesync.Capability
}

func (w *writer) open(out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	var err error
	if w.files, err = openTree(out, w.src.site.Routes.Base, w.options.changed); err != nil {
		return err
	}
	if w.known, err = readRecord(w.files); err != nil {
		w.files.close()
		return err
	}
	return nil
}

func (w *writer) close() { w.files.close() }

func (w *writer) write(ctx context.Context) error {
	unfinished := w.known.Unfinished
	if err := w.skipDumps(); err != nil {
		return err
	}
	err := w.walk(ctx)
	if err == nil && unfinished {
		err = w.adopt()
	}
	if err == nil {
		err = w.removeUnlisted()
	}
	w.report.Documents = len(w.live)
	if err == nil {
		w.known.Unfinished, w.known.Source = false, w.src.print
		w.noteDumps()
	}
	// After an error, the next Write knows the files that this one has written.
	return errors.Join(err, w.known.write(w.files))
}

// skipDumps finds the Resource Dumps that are too recent to be replaced, and complete.
func (w *writer) skipDumps() error {
	w.skipped = make(map[group]bool)
	if w.known.Source != w.src.print {
		return nil
	}
	for set, noted := range w.known.Dumps {
		w.skipped[group{set, resourcesync.ResourceDump}] = !w.now.Before(noted) && w.now.Sub(noted) < w.options.DumpEvery
	}
	for name, f := range w.known.Files {
		if g := (group{f.Set, f.Capability}); w.skipped[g] && f.Unlisted.IsZero() {
			intact, err := w.isIntact(name, f)
			if err != nil {
				return err
			}
			w.skipped[g] = intact
		}
	}
	return nil
}

// noteDumps records which Resource Dumps are up to date now.
func (w *writer) noteDumps() {
	noted := make(map[string]time.Time)
	for name := range w.live {
		f := w.known.Files[name]
		if f.Capability != resourcesync.ResourceDump {
			continue
		}
		if w.skipped[group{f.Set, f.Capability}] {
			noted[f.Set] = w.known.Dumps[f.Set]
		} else {
			noted[f.Set] = w.now.UTC()
		}
	}
	w.known.Dumps = noted
}

// adopt records the files that a Write has written that was killed before it could record
// them, and removes those that it has not completed.
func (w *writer) adopt() error {
	folders := make(map[string]bool)
	for name := range w.known.Files {
		folders[path.Dir(name)] = true
	}
	for folder := range folders {
		names, err := fs.ReadDir(w.files.root.FS(), folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range names {
			name := path.Join(folder, e.Name())
			if e.Name() == tempName {
				err = w.files.remove(name)
			} else if document := strings.TrimSuffix(name, gz); e.Type().IsRegular() && partName.MatchString(name) && w.known.Files[document] == nil {
				w.known.Files[document] = &file{Gzip: new(stamp)}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removeUnlisted removes the files that have not been listed for as long as Grace.
func (w *writer) removeUnlisted() error {
	for name, f := range w.known.sorted() {
		if w.skipped[group{f.Set, f.Capability}] && f.Unlisted.IsZero() {
			w.live[name] = true
		}
		if w.live[name] {
			f.Unlisted = time.Time{}
			continue
		}
		if f.Unlisted.IsZero() {
			f.Unlisted = w.now.UTC().Truncate(time.Second)
		}
		if w.now.Sub(f.Unlisted) < w.options.Grace {
			w.report.Unlisted++
			continue
		}
		if err := w.remove(name); err != nil {
			return err
		}
		if f.Gzip != nil {
			if err := w.remove(name + gz); err != nil {
				return err
			}
		}
		delete(w.known.Files, name)
	}
	return nil
}
