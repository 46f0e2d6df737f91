package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Archive returns the archive of the Change Lists that retention has removed from
// the journal, or nil if [Options].Archive is zero. An rshttp.Set whose Changer is the
// journal uses it automatically.
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
	set, err := a.journal.readReady(ctx, a.journal.store.db)
	st := resourcesync.ArchiveStat{Since: moment(set.archive)}
	if set.erased != 0 {
		st.Erased = moment(set.erased)
	}
	return st, a.journal.fail("archive", err)
}

// ArchivedWindows implements [resourcesync.ChangeArchiver]. Most windows were closed and
// stored before retention reached them. ArchivedWindows closes and stores the others, at
// the same changes: windows for another max, or of a journal that has always fitted into
// one list.
func (a archive) ArchivedWindows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if max < 1 {
		return nil, fmt.Errorf("sqlstore: invalid maximum of %d changes in a window", max)
	}
	j := a.journal
	var closed []paging.Window
	var kept int
	err := j.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		set, err := j.readReady(ctx, c)
		if err != nil {
			return err
		}
		division, stored, err := j.divide(ctx, c, max, set.archive, set.since)
		if err == nil {
			closed, kept = division.Finish(moment(set.since)), stored
		}
		return err
	})
	if err == nil && len(closed) > kept {
		err = j.keepArchived(ctx, max, closed[kept:])
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

// archiveWait is the maximum time to wait for another writer before a request for an archive
// fails.
const archiveWait = 10 * time.Second

// errBusy means that windows of the archive cannot be listed before they are stored.
var errBusy = errors.New("another process is writing to the database; try again")

// keepArchived stores closed windows of the archive. It waits for other writers: windows that
// are not stored would lose their bounds when changes are erased from them.
func (j *Journal) keepArchived(ctx context.Context, max int, closed []paging.Window) error {
	waiting, cancel := context.WithTimeout(ctx, archiveWait)
	defer cancel()
	err := j.store.db.Write(waiting, j.insertWindows(waiting, max, closed))
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return errBusy
	}
	return err
}

// ArchivedChanges implements [resourcesync.ChangeArchiver].
func (a archive) ArchivedChanges(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		erased, err := readErased(ctx, a.journal.store.db, a.journal.id)
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

// Erase removes the changes of the resource at uri from the archive: those already
// archived, and those now in the journal once retention reaches them. It returns the
// number of those in the archive. The journal stays complete: Destinations learn from
// it that they must delete their copies. Later changes are archived again.
//
// Erase reads the whole archive, in batches that do not block other work. If it
// fails, the remaining changes of the resource stay hidden; call Erase again.
func (j *Journal) Erase(ctx context.Context, uri string) (removed int, err error) {
	if err := rsxml.CheckURI(uri); err != nil {
		return 0, j.fail("erase", err)
	}
	var set setRow
	err = j.store.db.Update(ctx, func(c rowdb.Conn) error {
		if set, err = readSet(ctx, c, j.id); err != nil {
			return err
		}
		_, err = c.Exec(ctx, "INSERT INTO rs_erased (set_id, uri, at) VALUES ($1, $2, $3) ON CONFLICT (set_id, uri) DO UPDATE SET at = excluded.at",
			j.id, uri, set.last)
		if err == nil {
			_, err = c.Exec(ctx, "UPDATE rs_set SET erased = $1 WHERE id = $2", max(j.store.now().UnixMicro(), set.erased+1), j.id)
		}
		if err != nil {
			return err
		}
		return c.Notify(ctx)
	})
	for after, more := set.archive, true; more && err == nil; {
		var found []int64
		after, more, found, err = j.findErased(ctx, uri, after, set.since)
		if err == nil && len(found) > 0 {
			err = j.store.db.Update(ctx, func(c rowdb.Conn) error { return eraseChanges(ctx, c, j.id, found) })
			removed += len(found)
		}
	}
	return removed, j.fail("erase", err)
}

// findErased reads a batch of the changes later than after, up to until. It returns the
// time of the last one, whether there are more, and the times of the changes of the
// resource at uri.
func (j *Journal) findErased(ctx context.Context, uri string, after, until int64) (last int64, more bool, found []int64, err error) {
	n, last := 0, after
	var body []byte
	err = j.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT at, body FROM rs_change WHERE set_id = $1 AND at > $2 AND at <= $3 ORDER BY at LIMIT $4",
			func(row rowdb.Row) error {
				n++
				last = row.Int(0)
				if body = row.Append(body[:0], 1); codec.URI(body) == uri {
					found = append(found, last)
				}
				return ctx.Err()
			}, j.id, after, until, batch)
	})
	return last, n == batch, found, err
}

func eraseChanges(ctx context.Context, c rowdb.Conn, set int64, changes []int64) error {
	return c.ExecEach(ctx, "DELETE FROM rs_change WHERE set_id = $1 AND at = $2", len(changes),
		func(i int) []any { return []any{set, changes[i]} })
}

// readErased returns the URIs to erase from the archive of a set, each with the time of
// the last change to erase.
func readErased(ctx context.Context, c rowdb.Querier, set int64) (map[string]time.Time, error) {
	var all map[string]time.Time
	err := c.Query(ctx, "SELECT uri, at FROM rs_erased WHERE set_id = $1", func(row rowdb.Row) error {
		if all == nil {
			all = make(map[string]time.Time)
		}
		all[rowdb.String(row, 0)] = moment(row.Int(1))
		return nil
	}, set)
	return all, err
}
