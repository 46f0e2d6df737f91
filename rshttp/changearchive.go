package rshttp

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A record is the source of the changes in a list: a set's journal, or the archive
// of the changes that the journal has dropped.
type record interface {
	// changes yields the changes in iv; see [checked.Changes].
	changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error]

	// since returns the time after which the record is complete.
	since(ctx context.Context) (time.Time, error)
}

// A changeArchive is the archive of a set's journal.
type changeArchive struct{ resourcesync.ChangeArchiver }

func (a changeArchive) changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.ArchivedChanges(ctx, a, iv, omit)
}

func (a changeArchive) since(ctx context.Context) (time.Time, error) {
	stat, err := a.StatArchive(ctx)
	return stat.Since, err
}

// changes implements record for the journal of st.
func (st *set) changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.Changes(ctx, st.changer, iv, omit)
}

func (st *set) since(ctx context.Context) (time.Time, error) { return st.changer.Since(ctx) }

// renderArchivedWindow makes a Change List that the journal no longer has. It has the
// bytes that it had before, unless something has been erased.
func (s *Source) renderArchivedWindow(ctx context.Context, t target, from time.Time) (*document, error) {
	gone := &goneError{index: s.routes.url(kindChangeList, t.set, ""), reason: "the journal no longer has this window"}
	a := t.set.changeArchiver
	if a == nil {
		return nil, gone
	}
	// Read first: any later erasure makes the document stale.
	stat, err := a.StatArchive(ctx)
	if err != nil {
		return nil, err
	}
	windows, err := a.ArchivedWindows(ctx, s.options.PageSize)
	if err != nil {
		return nil, err
	}
	i, found := partition.Find(windows, from)
	if !found {
		return nil, gone
	}
	doc, err := s.renderChanges(ctx, t, changeArchive{a}, &document{target: t, archived: true, erased: stat.Erased}, windows[i])
	if errors.Is(err, errMoved) {
		err = gone
	}
	return doc, err
}

// stillArchived reports whether d, a Change List, is in the archive as it is.
func (s *Source) stillArchived(ctx context.Context, d *document) (bool, error) {
	if !d.archived {
		return false, nil // made from the journal, which has dropped its changes since
	}
	stat, err := d.target.set.changeArchiver.StatArchive(ctx)
	return err == nil && !stat.Since.After(d.from) && stat.Erased.Equal(d.erased), err
}

// archivedLists yields the Change Lists in the archive of a journal.
func (s *Source) archivedLists(ctx context.Context, st *set) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		windows, err := st.changeArchiver.ArchivedWindows(ctx, s.options.PageSize)
		if err != nil {
			yield(resourcesync.Snapshot{}, err)
			return
		}
		for _, iv := range windows {
			uri := s.routes.url(kindChangeWindow, st, partition.FormatTime(iv.From))
			if !yield(resourcesync.Snapshot{URI: uri, Interval: iv}, nil) {
				return
			}
		}
	}
}
