package memory

import (
	"context"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/stored"
)

// Scan updates the set to match a complete listing, in any order. It puts new and changed
// resources like [Set.Put], deletes the resources that the listing lacks, and leaves the
// others unchanged.
//
// Resources are visible in the set as they are yielded. Deletions happen at the end, all
// at once, and only if the listing is complete: if it yields an error or a resource that
// cannot be published, or if ctx is done, the scan ends with that error and deletes nothing.
// After a [resourcesync.UnreadableError], however, the scan continues and keeps the
// resources that the scanner could not read. A resource that is listed with
// [resourcesync.ErrUnchanged] stays unchanged. Resources put or deleted during the scan are
// newer than the listing and stay unchanged.
//
// If the set would lose more than [scan.SetOptions].MaxDelete allows, all deletions of the scan
// are held. The resources stay listed until they are found again, until
// [Set.ConfirmDeletions], or until the end of [scan.SetOptions].MaxDeleteHold; then the next scan
// deletes those that are still missing. Creations and updates continue. [Set.Delete] is
// never held and does not count.
//
// Only one scan runs at a time; others fail with [resourcesync.ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	return s.scanRanges(ctx, changes.All, false, resources)
}

// ScanRanges updates the part of the set with keys in ranges to match a listing of that
// part, as [Set.Scan] does for the whole set. It deletes resources in ranges only, and its
// cost depends only on the number of resources in ranges and in the listing. The ranges may
// be in any order and overlap; without any, ScanRanges does nothing. A listed resource
// outside of them ends the scan with an error.
//
// The first scan of a set with AwaitScan is a [Set.Scan]; until then ScanRanges returns
// [resourcesync.ErrNotReady]. If too many resources would be deleted, or if deletions are
// held already, ScanRanges holds its deletions. Held deletions are published by the next
// Scan.
func (s *Set) ScanRanges(ctx context.Context, ranges []resourcesync.Range, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	merged := changes.NewRanges(ranges)
	if len(merged) == 0 {
		return resourcesync.ScanResult{}, nil
	}
	return s.scanRanges(ctx, merged, true, resources)
}

func (s *Set) scanRanges(ctx context.Context, ranges changes.Ranges, part bool, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	if err := s.beginScan(part); err != nil {
		return resourcesync.ScanResult{}, err
	}
	defer s.endScan()

	var result resourcesync.ScanResult
	var unreadable changes.Ranges
	err := stored.Take(ctx, ranges, resources, stored.Taker{
		Unreadable: func(keys resourcesync.Range) error {
			unreadable = append(unreadable, ranges.Clip(keys)...)
			return nil
		},
		Found: func(r *resourcesync.Resource, unchanged bool) error {
			if unchanged {
				s.foundAgain(r.Key)
				result.Unchanged++
			} else {
				s.found(r, &result)
			}
			return nil
		},
	})
	if err == nil {
		err = s.finish(ctx, ranges, unreadable, &result)
	}
	if listing, ok := err.(*stored.ListingError); ok {
		return result, listing.Err
	}
	if err != nil {
		return result, fmt.Errorf("memory: scan: %w", err)
	}
	return result, nil
}

// finish deletes the resources that a complete listing lacks, and publishes the deletions of
// withdrawn ones. After a first scan, it makes the set available.
func (s *Set) finish(ctx context.Context, ranges, unreadable changes.Ranges, result *resourcesync.ScanResult) error {
	judged, approve := s.keep(unreadable, result)
	if approve != nil {
		if err := approve(ctx); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	edits := changes.Edits(resourcesync.Deleted, s.missing(ranges))
	if !s.state.ready {
		result.Deleted = s.apply(edits).Deleted
		s.open()
		return nil
	}
	withdrawn := s.waiting(judged)
	if s.holds(edits, withdrawn, result) {
		return nil
	}
	s.apply(append(edits, changes.Edits(changes.Release, withdrawn)...)).AddTo(result)
	return nil
}

// keep keeps the resources in unreadable ranges. It returns the newest change: resources
// that are withdrawn later wait for the next scan. approve is nil if none is withdrawn.
func (s *Set) keep(unreadable changes.Ranges, result *resourcesync.ScanResult) (judged int64, approve func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result.Unreadable = s.keepUnreadable(unreadable)
	if !s.part {
		s.guard.Unreadable = int64(result.Unreadable)
		s.published = 0
		if len(s.withdrawn) > 0 {
			approve = s.approve
		}
	}
	return s.state.last, approve
}

// open makes the set available after its first scan.
func (s *Set) open() {
	s.forgetDeleted()
	s.state.last = changes.Tick(s.state.last, s.now())
	s.state.ready, s.state.begin, s.state.since = true, s.state.last, s.state.last
	s.snapshot.Store(nil)
	s.changed.Ring()
}

func (s *Set) beginScan(part bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.scanning:
		return resourcesync.ErrScanning
	case part && !s.state.ready:
		return resourcesync.ErrNotReady
	}
	s.scanning, s.part = true, part
	s.scan++
	s.begun = s.state.last
	s.clock = s.now().UnixMicro()
	return nil
}

func (s *Set) endScan() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scanning = false
}

// foundAgain notes that the listing has the resource of key, unchanged.
func (s *Set) foundAgain(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, _ := s.state.items.Get(key); it.member != nil {
		it.member.scan = s.scan
	}
}

// found puts a resource of the listing, unless it was deleted meanwhile.
func (s *Set) found(r *resourcesync.Resource, result *resourcesync.ScanResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, _ := s.state.items.Get(r.Key)
	switch {
	case it.member == nil && it.newest > s.begun: // deleted meanwhile
		result.Unchanged++
	case it.member != nil && (it.member.scan == s.scan || it.member.resource.Equal(*r)):
		it.member.scan = s.scan
		result.Unchanged++
	default:
		s.apply([]changes.Edit{upsert(r)}).AddTo(result)
	}
}

// forgetDeleted forgets the resources deleted during a first scan, which are in no
// journal.
func (s *Set) forgetDeleted() {
	var deleted []string
	s.state.items.Scan(func(key string, it item) bool {
		if it.member == nil {
			deleted = append(deleted, key)
		}
		return true
	})
	for _, key := range deleted {
		s.state.items.Delete(key)
	}
}

// keepUnreadable marks the resources in these ranges as found, and returns the number of
// those that the scan had not found.
func (s *Set) keepUnreadable(ranges changes.Ranges) (kept int) {
	for _, keys := range ranges {
		s.state.items.Ascend(keys.From, func(key string, it item) bool {
			if !keys.Contains(key) {
				return false
			}
			if it.member != nil && it.member.scan != s.scan {
				it.member.scan = s.scan
				kept++
			}
			return true
		})
	}
	return kept
}

// missing returns the keys in ranges that have been neither found nor put since the scan
// began.
func (s *Set) missing(ranges changes.Ranges) (keys []string) {
	for _, r := range ranges {
		s.state.items.Ascend(r.From, func(key string, it item) bool {
			if !r.Contains(key) {
				return false
			}
			if it.member != nil && it.member.scan != s.scan {
				keys = append(keys, key)
			}
			return true
		})
	}
	return keys
}
