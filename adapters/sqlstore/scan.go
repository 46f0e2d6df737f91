package sqlstore

import (
	"context"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/stored"
)

// Scan makes the set equal to a listing of all its resources, in any order. It puts new
// and changed resources as [Set.Put] does, deletes those that are not listed, and writes
// nothing for the others. Memory is bounded for a listing of any length: after one and a
// half million, the keys that have been seen are kept in a temporary table, unless the set
// awaited the scan without any resources.
//
// Resources become visible during the scan. Deletions come last, and only if the listing
// is complete. If it yields an error or a resource that cannot be published, or if ctx
// is done, Scan returns that error and deletes nothing. After a
// [resourcesync.UnreadableError] the scan continues, and keeps the resources that the
// scanner could not read. It reads no resource that is listed with
// [resourcesync.ErrUnchanged]. Resources that are put, recorded or deleted during the scan
// are newer than the listing and stay unchanged.
//
// If the set would lose more than [scan.SetOptions].MaxDelete allows, all deletions of the
// scan are held. The resources stay listed until they are seen again. After
// [Set.ConfirmDeletions], or after [scan.SetOptions].MaxDeleteHold, the next scan deletes
// those that are still missing. Creations and updates continue. [Set.Delete] and
// recorded deletions state that a resource is gone; they are never held and not counted.
// A scanner that learns that single resources are gone calls [Set.Withdraw] for them.
//
// One scan of a set runs at a time, in all processes; others fail with
// [resourcesync.ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	return s.scan(ctx, &scanRun{set: s, ranges: changes.All}, resources)
}

// scan runs sc while it holds the lock of the set's scans.
func (s *Set) scan(ctx context.Context, sc *scanRun, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	locked, err := s.store.db.TryLock(ctx, int32(s.id), func(ctx context.Context) error {
		return sc.session(ctx, resources)
	})
	if err == nil && !locked {
		err = resourcesync.ErrScanning
	}
	return sc.result, s.fail("scan", err)
}

// flushInterval is how long resources of a slow listing wait for a full batch.
const flushInterval = time.Second

// firstBatch is the number of resources that are stored together while a set awaits its
// first scan. The set cannot be read yet, and each batch writes pages of the index of places once.
const firstBatch = 10 * batch

// A scanRun is one call of [Set.Scan] or [Set.ScanRanges].
type scanRun struct {
	set       *Set
	ranges    changes.Ranges // that are scanned
	part      bool           // a call of ScanRanges
	whole     *scanRun       // the Scan that has admitted it, or nil
	meanwhile                // of a Scan

	conn       rowdb.Conn // has the temporary tables
	begun      int64      // the newest change when the scan began
	ready      bool
	empty      bool             // the set awaited this scan, and had no resources when it began
	found      []listedResource // not yet compared
	spare      []listedResource // that are being compared, or of an earlier flush
	flushing   <-chan error     // the end of the flush; nil if none is under way
	seen       seen
	unreadable bool // there is a temporary table of unreadable ranges
	result     resourcesync.ScanResult

	// reannounced has the times of the resources that the store has announced again
	// because of this scan. They are not changes by other writers.
	reannounced map[string]int64

	ownLast, ownCount int64 // of the set, while only this scan has written it

	clock  int64       // the time when the scan began
	guard  guard.State // after the scan
	judged int64       // the newest change when deletions were judged
}

// session runs the scan with a dedicated connection.
func (sc *scanRun) session(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) error {
	return sc.set.store.db.Session(ctx, func(c rowdb.Conn) error {
		sc.conn = c
		return sc.run(ctx, resources)
	})
}

func (sc *scanRun) run(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) error {
	if err := sc.begin(ctx); err != nil {
		return err
	}
	if !sc.part {
		sc.held = ctx
		sc.set.scanning.Store(sc)
		defer sc.set.scanning.Store(nil)
		defer sc.refuse()
	}
	if err := sc.take(ctx, resources); err != nil {
		return err
	}
	sc.refuse()
	if err := sc.keepUnreadable(ctx); err != nil {
		return err
	}
	before, err := readGuard(ctx, sc.conn, sc.set.id)
	if err != nil {
		return err
	}
	var missing missing
	if complete, err := sc.hasSeenAll(ctx); err != nil {
		return err
	} else if !complete {
		since, _ := before.CreditSince()
		if missing, err = sc.findMissing(ctx, since); err != nil {
			return err
		}
	}
	if !sc.ready {
		if err := sc.sweep(ctx, missing); err != nil {
			return err
		}
		sc.guard = before
		if err := sc.settle(ctx); err != nil {
			return err
		}
		return sc.set.openAfterScan(ctx)
	}
	hold, err := sc.judge(ctx, missing)
	if err != nil || hold {
		return err
	}
	if err := sc.sweep(ctx, missing); err != nil {
		return err
	}
	if !sc.part {
		if err := sc.releaseWithdrawn(ctx); err != nil {
			return err
		}
	}
	return sc.settle(ctx)
}

// take reads the listing until its end or an error.
func (sc *scanRun) take(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (err error) {
	defer sc.flushed() // if the listing panics
	last := time.Now()
	atOnce := batch
	if !sc.ready {
		atOnce = firstBatch
	}
	var builder entries.Builder
	err = stored.Take(ctx, sc.ranges, resources, stored.Taker{
		Unreadable: func(keys resourcesync.Range) error { return sc.noteUnreadable(ctx, keys) },
		Found: func(r *resourcesync.Resource, unchanged bool) (err error) {
			listed := listedResource{key: r.Key}
			if !unchanged {
				listed.body = codec.Append(nil, changes.Recorded(r, sc.begun, sc.set.store.now))
				if !sc.ready || sc.part {
					// Most resources of a first scan are new, and most of a part have changed.
					// The flush has more to do than the listing, so this goroutine encodes them.
					if listed.encoded, err = sc.set.store.encode(r.Key, listed.body, &builder); err != nil {
						return err
					}
				}
			}
			sc.found = append(sc.found, listed)
			slow := time.Since(last) > flushInterval
			if len(sc.found) < atOnce && !slow {
				return nil
			}
			err = sc.startFlush(ctx)
			if err == nil && slow {
				err = sc.flushed()
			}
			last = time.Now()
			return err
		},
	})
	e := sc.startFlush(ctx)
	if e == nil {
		e = sc.flushed()
	}
	if err == nil {
		err = e
	}
	return err
}

// startFlush flushes the resources found, while the listing goes on. It waits until the
// flush before has ended.
func (sc *scanRun) startFlush(ctx context.Context) error {
	if err := sc.flushed(); err != nil {
		return err
	}
	found := sc.found
	sc.found, sc.spare = sc.spare, found
	done := make(chan error, 1)
	go func() { done <- sc.flush(ctx, found) }()
	sc.flushing = done
	return nil
}

// flushed waits until the last flush has ended.
func (sc *scanRun) flushed() error {
	if sc.flushing == nil {
		return nil
	}
	err := <-sc.flushing
	sc.flushing = nil
	clear(sc.spare)
	sc.spare = sc.spare[:0]
	return err
}

func (sc *scanRun) begin(ctx context.Context) error {
	row, err := readSet(ctx, sc.conn, sc.set.id)
	sc.begun, sc.ready, sc.clock = row.last, row.ready, sc.set.store.now().UnixMicro()
	sc.empty = !row.ready && row.count == 0
	sc.seen.most = sc.set.store.maxSeen
	if !sc.part {
		sc.seen.likely = int(row.count)
	}
	sc.ownLast, sc.ownCount = row.last, 0
	if err == nil && sc.part && !sc.ready {
		err = resourcesync.ErrNotReady
	}
	return err
}

// openAfterScan opens a set that has awaited its first scan. Its journal begins now.
func (s *Set) openAfterScan(ctx context.Context) error {
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
