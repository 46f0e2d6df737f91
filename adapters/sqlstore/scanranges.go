package sqlstore

import (
	"context"
	"iter"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
)

// ScanRanges makes the part of the set with keys in ranges equal to a listing of that
// part, as [Set.Scan] does for the whole set. It deletes resources in ranges only, and its
// cost depends only on the number of resources in ranges and in the listing. The ranges may
// be in any order and overlap; without any, ScanRanges does nothing. A listed resource
// outside of them ends the scan with an error.
//
// The first scan of a set that awaits it is a [Set.Scan]; until then ScanRanges returns
// [resourcesync.ErrNotReady]. If too many resources would be deleted, or if deletions are
// held already, ScanRanges holds its deletions. The next Scan publishes held deletions and
// the deletions of withdrawn resources.
//
// ScanRanges may run while a Scan of this Set reads its listing. From then on, the Scan
// ignores the resources of its older listing in ranges. So if ScanRanges fails, call it
// again. Otherwise one scan of a set runs at a time, in all processes, and others fail with
// [resourcesync.ErrScanning].
func (s *Set) ScanRanges(ctx context.Context, ranges []resourcesync.Range, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	sc := &scanRun{set: s, ranges: changes.NewRanges(ranges), part: true, whole: s.scanning.Load()}
	switch {
	case len(sc.ranges) == 0:
		return resourcesync.ScanResult{}, nil
	case sc.whole == nil:
		return s.scan(ctx, sc, resources)
	case !sc.whole.admit(sc.ranges):
		return resourcesync.ScanResult{}, s.fail("scan", resourcesync.ErrScanning)
	}
	defer sc.whole.leave()
	// It has the lock of the Scan, and may lose it.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(sc.whole.held, func() { cancel(context.Cause(sc.whole.held)) })()
	err := sc.session(ctx, resources)
	return sc.result, s.fail("scan", err)
}

// meanwhile has the ranges that are scanned while a Scan runs. A Scan and the partial
// scans that it admits share one lock of the database: it ends after them.
type meanwhile struct {
	held     context.Context // while the Scan has the lock
	admitted sync.Mutex      // held by a partial scan
	applying sync.Mutex      // held while the Scan applies edits; guards the rest
	replaced changes.Ranges  // have been scanned meanwhile, or are
	closed   bool            // no partial scan is admitted
}

// admit lets a partial scan of ranges begin, unless another one runs or admissions are
// closed. From then on the Scan changes nothing in these ranges.
func (m *meanwhile) admit(ranges changes.Ranges) bool {
	if !m.admitted.TryLock() {
		return false
	}
	m.applying.Lock()
	defer m.applying.Unlock()
	if m.closed {
		m.admitted.Unlock()
		return false
	}
	m.replaced = changes.NewRanges(append(m.replaced, ranges...))
	return true
}

// leave ends a partial scan.
func (m *meanwhile) leave() { m.admitted.Unlock() }

// refuse waits for a partial scan that runs. No other will begin.
func (m *meanwhile) refuse() {
	m.admitted.Lock()
	defer m.admitted.Unlock()
	m.applying.Lock()
	defer m.applying.Unlock()
	m.closed = true
}
