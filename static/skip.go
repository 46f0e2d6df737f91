package static

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// skipRecent finds the lists and dumps that are too recent to be replaced, and complete.
func (w *writer) skipRecent(ctx context.Context) error {
	w.skipped = make(map[group]bool)
	if w.known.Source != w.src.print {
		return nil
	}
	for set, noted := range w.known.Dumps {
		w.skipped[group{set, resourcesync.ResourceDump}] = w.isRecent(noted, w.options.DumpEvery)
	}
	if w.session != nil {
		for set, list := range w.known.Lists {
			w.skipped[group{set, resourcesync.ResourceList}] = w.isListRecent(ctx, set, list)
		}
	}
	for name, f := range w.known.Files {
		if err := w.session.keepUp(ctx, w); err != nil {
			return err
		}
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

// isRecent reports whether less than every has passed since noted. A clock that has been set back
// makes nothing recent.
func (w *writer) isRecent(noted time.Time, every time.Duration) bool {
	return !w.now.Before(noted) && w.now.Sub(noted) < every
}

// isListRecent reports whether the Resource List of a set need not be brought up to date yet. The
// error of a set that cannot be read is found when its lists are put.
func (w *writer) isListRecent(ctx context.Context, set string, list listed) bool {
	st := w.src.site.Sets[set]
	if st == nil || !w.isRecent(list.Noted, w.session.listEvery) || st.Ready(ctx) != nil {
		return false
	}
	since, err := journalSince(ctx, st)
	return err == nil && list.isCovered(since)
}

// clockMargin is more than the clocks of this process and of a journal differ.
const clockMargin = 24 * time.Hour

// isCovered reports whether a Change List that begins at since has all changes after the list. It
// may begin after the newest change that the list shows if it begins before the list was made: a
// host can drop old changes at any time.
func (l listed) isCovered(since time.Time) bool {
	return !since.After(l.At) || since.Equal(l.Since) || since.Before(l.Noted.Add(-clockMargin))
}

// journalSince returns the time after which the Change Lists of a set have all changes. It is zero
// without a journal.
func journalSince(ctx context.Context, st *document.Set) (time.Time, error) {
	if st.Changer == nil {
		return time.Time{}, nil
	}
	windows, err := st.Windows.Get(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return beginning(windows), nil
}

// beginning returns where the first listed one of some windows begins.
func beginning(windows []resourcesync.Interval) time.Time {
	return windows[max(0, len(windows)-rsxml.MaxEntries)].From
}

// noteList records that the Resource List of a set is up to date. at is the time of the newest change
// that it shows, or zero; since is where the Change List began before it was made.
func (w *writer) noteList(st *document.Set, at, since time.Time) {
	if w.session == nil {
		return
	}
	if at.IsZero() {
		at = w.now
	}
	w.known.Lists[st.Name] = listed{Noted: w.now.UTC(), At: at.UTC(), Since: since.UTC()}
}

// noteDump records that the Resource Dump of a set is up to date, unless it was skipped.
func (w *writer) noteDump(st *document.Set) {
	if st.Opener != nil && !w.skipped[group{st.Name, resourcesync.ResourceDump}] {
		w.known.Dumps[st.Name] = w.now.UTC()
	}
}

// forgetSets removes the records of sets and dumps that no longer exist.
func (w *writer) forgetSets() {
	sets := w.src.site.Sets
	maps.DeleteFunc(w.known.Lists, func(set string, _ listed) bool { return sets[set] == nil })
	maps.DeleteFunc(w.known.Dumps, func(set string, _ time.Time) bool { return sets[set] == nil || sets[set].Opener == nil })
}

// setErrors are the errors of sets by their names.
type setErrors map[string]error

// err returns e as an error, or nil if it is empty.
func (e setErrors) err() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// Unwrap returns the errors in the order of the names of their sets.
func (e setErrors) Unwrap() (all []error) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, fmt.Errorf("%s: %w", document.Title(name), e[name]))
	}
	return all
}

// ready returns the errors of sets that are ready.
func (e setErrors) ready() setErrors {
	ready := maps.Clone(e)
	maps.DeleteFunc(ready, func(_ string, err error) bool { return errors.Is(err, resourcesync.ErrNotReady) })
	return ready
}

func (e setErrors) Error() (text string) {
	for i, err := range e.Unwrap() {
		if i > 0 {
			text += "\n"
		}
		text += err.Error()
	}
	return text
}
