package static

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/wellknown"
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
	live    map[string]bool      // the paths of all documents
	recent  map[string]time.Time // when the list of recent changes of a set was last put
	skipped map[group]bool
	session *session // of a Publication, or nil
	report  Report
}

// wellKnown is the name of the file of the Source Description.
var wellKnown = strings.TrimPrefix(wellknown.Path, "/")

// A group is a list or a dump of a set.
type group struct {
	set        string
	capability resourcesync.Capability
}

// own returns the name of a file beside the documents.
func (w *writer) own(name string) string {
	return path.Join(strings.Trim(w.src.site.Routes.Base, "/"), name)
}

func newWriter(out Store, src *Source, o Options) *writer {
	return &writer{src: src, options: o, now: time.Now(), files: out, live: make(map[string]bool), recent: make(map[string]time.Time)}
}

// lockAndWrite writes the files while it has the lock.
func (w *writer) lockAndWrite(ctx context.Context) (err error) {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.unlock(ctx)) }()
	return w.write(ctx)
}

// lock takes the lock, and then reads the record.
func (w *writer) lock(ctx context.Context) (err error) {
	if err := w.files.Lock(ctx, w.own(lockName)); err != nil {
		return err
	}
	if w.known, err = readRecord(ctx, w.files, w.own(recordName)); err != nil {
		return errors.Join(err, w.unlock(ctx))
	}
	return nil
}

func (w *writer) unlock(ctx context.Context) error {
	return w.files.Unlock(context.WithoutCancel(ctx))
}

func (w *writer) write(ctx context.Context) error {
	unfinished := w.known.Unfinished
	if err := w.session.keepUp(ctx, w); err != nil {
		return err
	}
	if err := w.skipRecent(ctx); err != nil {
		return err
	}
	err := w.walk(ctx)
	if err == nil && unfinished {
		err = w.adopt(ctx)
	}
	if failed, _ := errors.AsType[setErrors](err); err == nil || len(failed) > 0 && w.live[wellKnown] {
		err = errors.Join(err, w.removeUnlisted(ctx, failed))
	}
	w.report.Documents = len(w.live)
	if err == nil {
		w.known.Unfinished, w.known.Source = false, w.src.print
		w.forgetSets()
	}
	if w.session != nil && err != nil {
		return err // the session saves the record at its end
	}
	return w.save(ctx, err)
}

// save writes the record after work that has ended with err, and returns the error of both.
func (w *writer) save(ctx context.Context, err error) error {
	// After an error, the next Write knows the files that this one has written.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	failed := w.known.write(ctx, w.files)
	if errors.Is(err, failed) { // a lock that has been lost fails both
		return err
	}
	return errors.Join(err, failed)
}

// saveAndUnlock is save, and releases the lock, also if the Store panics.
func (w *writer) saveAndUnlock(ctx context.Context, err error) (all error) {
	defer func() { all = errors.Join(all, w.unlock(ctx)) }()
	return w.save(ctx, err)
}

// adopt records the files of a Write that was killed before it could record them, and
// removes those that it has not completed.
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
		if err := w.session.keepUp(ctx, w); err != nil {
			return err
		}
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

// removeUnlisted removes the files that have not been listed for as long as Grace, but none of sets that
// have failed.
func (w *writer) removeUnlisted(ctx context.Context, failed setErrors) error {
	for name, f := range w.known.sorted() {
		if w.skipped[group{f.Set, f.Capability}] && f.Unlisted.IsZero() {
			w.noteListed(name)
		}
		if failed[f.Set] != nil {
			continue // the next walk knows whether it is listed
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
		if err := w.session.keepUp(ctx, w); err != nil {
			return err
		}
	}
	return nil
}
