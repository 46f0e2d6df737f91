package rshttp

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A record is the source of the changes in a document: a set's journal, or the archive
// of the changes that the journal has dropped.
type record interface {
	// changes yields the changes in iv; see [checked.Changes].
	changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error]

	// stat returns the time after which the record is complete, and the time of the
	// last erasure, zero if there was none.
	stat(ctx context.Context) (since, erased time.Time, err error)
}

// A journal is the journal of a set.
type journal struct{ *set }

func (j journal) changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.Changes(ctx, j.changer, iv, omit)
}

func (j journal) stat(ctx context.Context) (since, erased time.Time, err error) {
	since, err = j.changer.Since(ctx)
	return since, time.Time{}, err
}

// A versionJournal is the part of a journal for which the set keeps versions.
type versionJournal struct{ journal }

func (j versionJournal) stat(ctx context.Context) (since, erased time.Time, err error) {
	since, erased, err = j.journal.stat(ctx)
	if err != nil || j.retainer == nil {
		return since, erased, err
	}
	kept, err := j.retainer.Since(ctx)
	if kept.After(since) {
		since = kept
	}
	return since, erased, err
}

// A changeArchive is the archive of a set's journal.
type changeArchive struct{ resourcesync.ChangeArchiver }

func (a changeArchive) changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.ArchivedChanges(ctx, a, iv, omit)
}

func (a changeArchive) stat(ctx context.Context) (since, erased time.Time, err error) {
	stat, err := a.StatArchive(ctx)
	return stat.Since, stat.Erased, err
}

// renderArchivedWindow renders a Change List that the journal no longer has. It renders the
// same bytes as before, unless changes have been erased.
func renderArchivedWindow(ctx context.Context, t target, st *state, b *render.Body, from time.Time) error {
	gone := &goneError{index: t.url(kindChangeList, ""), reason: "the journal no longer has this window"}
	a := t.set.changeArchiver
	if a == nil {
		return gone
	}
	// Read first: any later erasure makes the document stale.
	stat, err := a.StatArchive(ctx)
	if err != nil {
		return err
	}
	windows, err := a.ArchivedWindows(ctx, t.set.options.PageSize)
	if err != nil {
		return err
	}
	i, found := partition.Find(windows, from)
	if !found {
		return gone
	}
	err = renderChanges(ctx, t, st, b, changeArchive{a}, windows[i])
	if errors.Is(err, errMoved) {
		return gone
	}
	if st.erased = stat.Erased; !stat.Erased.IsZero() {
		st.modified = time.Time{} // the entries no longer determine it
	}
	return err
}

// archivedLists yields the Change Lists in the archive of a journal.
func (st *set) archivedLists(ctx context.Context) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		windows, err := st.changeArchiver.ArchivedWindows(ctx, st.options.PageSize)
		if err != nil {
			yield(resourcesync.Snapshot{}, err)
			return
		}
		for _, iv := range windows {
			uri := st.url(kindChangeWindow, partition.FormatTime(iv.From))
			if !yield(resourcesync.Snapshot{URI: uri, Interval: iv}, nil) {
				return
			}
		}
	}
}
