package static

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// endTime is the time for the record at the end, even if Write is cancelled.
const endTime = time.Minute

// A writer is the work of one Write.
type writer struct {
	src     *Source
	options Options
	now     time.Time
	files   Store
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

// own returns the name of a file beside the documents.
func (w *writer) own(name string) string {
	return path.Join(strings.Trim(w.src.site.Routes.Base, "/"), name)
}

// lockAndWrite writes the files while it has the lock.
func (w *writer) lockAndWrite(ctx context.Context) (err error) {
	if err := w.files.Lock(ctx, w.own(lockName)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.files.Unlock(context.WithoutCancel(ctx))) }()
	if w.known, err = readRecord(ctx, w.files, w.own(recordName)); err != nil {
		return err
	}
	return w.write(ctx)
}

func (w *writer) write(ctx context.Context) error {
	unfinished := w.known.Unfinished
	if err := w.skipDumps(ctx); err != nil {
		return err
	}
	err := w.walk(ctx)
	if err == nil && unfinished {
		err = w.adopt(ctx)
	}
	if err == nil {
		err = w.removeUnlisted(ctx)
	}
	w.report.Documents = len(w.live)
	if err == nil {
		w.known.Unfinished, w.known.Source = false, w.src.print
		w.noteDumps()
	}
	// After an error, the next Write knows the files that this one has written.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	failed := w.known.write(ctx, w.files)
	if errors.Is(err, failed) { // a lock that has been lost fails both
		return err
	}
	return errors.Join(err, failed)
}

// skipDumps finds the Resource Dumps that are too recent to be replaced, and complete.
func (w *writer) skipDumps(ctx context.Context) error {
	w.skipped = make(map[group]bool)
	if w.known.Source != w.src.print {
		return nil
	}
	for set, noted := range w.known.Dumps {
		w.skipped[group{set, resourcesync.ResourceDump}] = !w.now.Before(noted) && w.now.Sub(noted) < w.options.DumpEvery
	}
	for name, f := range w.known.Files {
		if g := (group{f.Set, f.Capability}); w.skipped[g] && f.Unlisted.IsZero() {
			intact, err := w.isIntact(ctx, name, f)
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
func (w *writer) adopt(ctx context.Context) error {
	folders := make(map[string]bool)
	for _, folder := range w.src.site.PartFolders() {
		folders[w.own(folder)] = true
	}
	if !w.files.HasHeaders() { // a folder has unfinished files beside those that they replace
		for name := range w.known.Files {
			folders[path.Dir(name)] = true
		}
	}
	for folder := range folders {
		for base, err := range w.files.Files(ctx, folder) {
			name := path.Join(folder, base)
			if err == nil && base == tempName {
				_, err = w.files.Remove(ctx, name)
			}
			if err != nil {
				return err
			}
			if document := strings.TrimSuffix(name, gz); partName.MatchString(name) && w.known.Files[document] == nil {
				w.known.Files[document] = &file{Gzip: zeroIf(!w.files.HasHeaders())}
			}
		}
	}
	return nil
}

// removeUnlisted removes the files that have not been listed for as long as Grace.
func (w *writer) removeUnlisted(ctx context.Context) error {
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
		if err := w.remove(ctx, name); err != nil {
			return err
		}
		if f.Gzip != nil {
			if err := w.remove(ctx, name+gz); err != nil {
				return err
			}
		}
		delete(w.known.Files, name)
	}
	return nil
}
