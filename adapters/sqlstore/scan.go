package sqlstore

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Scan makes the set what a listing says that it is. resources names all of
// them, in any order: what is new or different is put as by [Set.Put], what is
// not named any more is deleted, and the rest is left alone, without anything
// being written. Memory is bounded however many there are; what has been seen is
// remembered in a temporary table.
//
// Resources show in the set as they come. Deletions come last, and only if the
// listing is complete: when it yields an error, or a resource that Put would refuse,
// or when ctx is done, the scan ends with that error and deletes nothing. A
// [resourcesync.UnreadableError] is the exception: the scan goes on, and keeps the
// resources that the scanner could not read. Resources put, recorded or deleted
// during the scan are newer than the listing and stay.
//
// If the set would lose more than [SetOptions.MaxDelete] allows, all deletions of
// the scan are held: the resources stay listed until they are seen again, until
// [Set.ConfirmDeletions], or until [SetOptions.MaxDeleteHold] is over, and a later
// scan deletes those that are still missing. Creations and updates continue.
// [Set.Delete] and recorded deletions state that a resource is gone; they are never
// held, and do not count. A scanner that learns that single resources are gone calls
// [Set.Withdraw] for them.
//
// One scan of a set runs at a time, in all processes; others fail with
// [resourcesync.ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	sc := &scan{set: s}
	locked, err := s.store.db.TryLock(ctx, int32(s.id), func(ctx context.Context) error {
		return s.store.db.Session(ctx, func(c rowdb.Conn) error {
			sc.conn = c
			s.scanning.Store(true)
			defer s.scanning.Store(false)
			return sc.run(ctx, resources)
		})
	})
	if err == nil && !locked {
		return resourcesync.ScanResult{}, resourcesync.ErrScanning
	}
	return sc.result, s.fail("scan", err)
}

// scanRest is how long what a slow listing has yielded may wait for more.
const scanRest = time.Second

// A scan is under way.
type scan struct {
	set    *Set
	conn   rowdb.Conn // has the temporary table
	begun  int64      // the newest change when the scan began
	ready  bool
	found  []namedResource // not yet compared
	result resourcesync.ScanResult

	// reannounced has the resources that the scan made the store announce again,
	// with the times. These are no changes by other writers.
	reannounced map[string]int64

	clock  int64       // the time when the scan began
	guard  guard.State // after the scan
	judged int64       // the newest change when deletions were judged
}

func (sc *scan) run(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) error {
	if err := sc.begin(ctx); err != nil {
		return err
	}
	if err := sc.take(ctx, resources); err != nil {
		return err
	}
	if err := sc.keepUnreadable(ctx); err != nil {
		return err
	}
	missing, err := sc.findMissing(ctx)
	if err != nil {
		return err
	}
	if !sc.ready {
		if err := sc.sweep(ctx); err != nil {
			return err
		}
		return sc.set.openUp(ctx)
	}
	hold, err := sc.judge(ctx, missing)
	if err != nil || hold {
		return err
	}
	if err := sc.sweep(ctx); err != nil {
		return err
	}
	if err := sc.releaseWithdrawn(ctx); err != nil {
		return err
	}
	return sc.settle(ctx)
}

// take takes in the listing, as far as it comes.
func (sc *scan) take(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (err error) {
	flushed := time.Now()
	for r, failure := range resources {
		if unreadable, ok := errors.AsType[*resourcesync.UnreadableError](failure); ok {
			if err := sc.noteUnreadable(ctx, unreadable.Keys); err != nil {
				return err
			}
			continue
		}
		if err = failure; err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = changes.Check(&r)
		}
		if err != nil {
			break
		}
		known := changes.Recorded(&r, sc.begun, sc.set.store.now)
		sc.found = append(sc.found, namedResource{r.Key, codec.Append(nil, known)})
		if len(sc.found) == batch || time.Since(flushed) > scanRest {
			if err := sc.flush(ctx); err != nil {
				return err
			}
			flushed = time.Now()
		}
	}
	// A listing that stops without an error because ctx is done is not
	// complete.
	if err == nil {
		err = ctx.Err()
	}
	if e := sc.flush(ctx); err == nil {
		err = e
	}
	return err
}

func (sc *scan) begin(ctx context.Context) error {
	for _, table := range []string{
		"CREATE TEMP TABLE rs_seen (key BLOB PRIMARY KEY) WITHOUT ROWID",
		"CREATE TEMP TABLE rs_missing (key BLOB PRIMARY KEY, newest BIGINT NOT NULL) WITHOUT ROWID",
		"CREATE TEMP TABLE rs_unreadable (lo BLOB PRIMARY KEY, hi BLOB NOT NULL) WITHOUT ROWID",
	} {
		if sc.set.store.db.Dialect() == rowdb.Postgres {
			table = strings.NewReplacer("BLOB", "bytea", "WITHOUT ROWID", "").Replace(table)
		}
		if err := sc.conn.Script(ctx, table); err != nil {
			return err
		}
	}
	row, err := readSet(ctx, sc.conn, sc.set.id)
	sc.begun, sc.ready, sc.clock = row.last, row.ready, sc.set.store.now().UnixMicro()
	return err
}

// openUp opens a set that has awaited its first scan: its history and its journal
// begin now.
func (s *Set) openUp(ctx context.Context) error {
	return s.store.db.Update(ctx, func(c rowdb.Conn) error {
		row, err := readSet(ctx, c, s.id)
		if err != nil || row.ready {
			return err
		}
		row.last = changes.Tick(row.last, s.store.now())
		row.ready, row.begin, row.since, row.archive = true, row.last, row.last, row.last
		if err := row.save(ctx, c); err != nil {
			return err
		}
		return c.Notify(ctx)
	})
}
