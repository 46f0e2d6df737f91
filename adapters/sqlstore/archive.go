package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Archive returns the archive of the Change Lists that retention has removed from
// the journal, or nil if [Options].Archive is zero. An rshttp.Set whose Changer is the
// journal has it without being told.
func (j *Journal) Archive() resourcesync.ChangeArchiver {
	if j.store.archive == 0 {
		return nil
	}
	return archive{j}
}

// An archive is the part of a journal between the archive's Since and the
// journal's own.
type archive struct{ journal *Journal }

// StatArchive implements [resourcesync.ChangeArchiver].
func (a archive) StatArchive(ctx context.Context) (resourcesync.ArchiveStat, error) {
	var st resourcesync.ArchiveStat
	err := a.journal.store.db.Do(ctx, func(c rowdb.Conn) error {
		set, err := a.journal.readReady(ctx, c)
		st.Since = moment(set.archive)
		if set.erased != 0 {
			st.Erased = moment(set.erased)
		}
		return err
	})
	if err != nil {
		return resourcesync.ArchiveStat{}, a.journal.fail("archive", err)
	}
	return st, nil
}

// ArchivedWindows implements [resourcesync.ChangeArchiver]. Most windows were closed and
// stored before retention reached them. Those of another max, or of a journal that has
// always fitted into one list, are closed and stored here, at the same changes.
func (a archive) ArchivedWindows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if max < 1 {
		return nil, fmt.Errorf("sqlstore: windows of at most %d changes", max)
	}
	j := a.journal
	var closed []paging.Window
	var kept int
	err := j.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		set, err := j.readReady(ctx, c)
		if err != nil {
			return err
		}
		closed, err = readWindows(ctx, c, set.id, max, set.archive, set.since)
		if err != nil {
			return err
		}
		kept = len(closed)
		from := set.archive
		if kept > 0 {
			from = closed[kept-1].Until.UnixMicro()
		}
		if from == set.since {
			return nil
		}
		division := paging.NewWindows(moment(set.archive), j.store.window, max, 0)
		division.Resume(closed)
		err = c.Query(ctx, "SELECT at, size FROM rs_change WHERE set_id = $1 AND at > $2 AND at <= $3 ORDER BY at",
			func(row rowdb.Row) error { return division.Add(moment(row.Int(0)), int(row.Int(1))) }, j.id, from, set.since)
		closed = division.Finish(moment(set.since))
		return err
	})
	if err == nil && len(closed) > kept {
		// Stored windows keep their bounds when changes are erased from them.
		err = j.keepWindows(ctx, max, closed[kept:])
	}
	if err != nil {
		return nil, j.fail("archived windows", err)
	}
	windows := make([]resourcesync.Interval, len(closed))
	for i, w := range closed {
		windows[i] = w.Interval
	}
	return windows, nil
}

// ArchivedChanges implements [resourcesync.ChangeArchiver].
func (a archive) ArchivedChanges(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		erased, err := a.erased(ctx)
		if err != nil {
			yield(resourcesync.Change{}, a.journal.fail("archived changes", err))
			return
		}
		for c, err := range a.journal.read(ctx, iv, archived) {
			if at, ok := erased[c.Resource.URI]; ok && !c.Datetime.After(at) {
				continue
			}
			if !yield(c, a.journal.fail("archived changes", err)) {
				return
			}
		}
	}
}

// erased returns the URIs to erase, each with the time of the last change to erase.
func (a archive) erased(ctx context.Context) (all map[string]time.Time, err error) {
	err = a.journal.store.db.Do(ctx, func(c rowdb.Conn) error {
		all, err = readErased(ctx, c, a.journal.id)
		return err
	})
	return all, err
}
