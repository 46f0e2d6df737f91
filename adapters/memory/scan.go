package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
)

// Scan updates the set to match a complete listing, in any order. It puts new and changed
// resources like [Set.Put], deletes the resources that the listing lacks, and leaves the
// others unchanged.
//
// Resources are visible in the set as they are yielded. Deletions happen at the end, all
// at once, and only if the listing is complete: if it yields an error or a resource that
// Put would refuse, or if ctx is done, the scan ends with that error and deletes nothing.
// After a [resourcesync.UnreadableError], however, the scan continues and keeps the
// resources that the scanner could not read. A resource that is listed with
// [resourcesync.ErrUnchanged] stays as it is. Resources put or deleted during the scan are
// newer than the listing and stay unchanged.
//
// If the set would lose more than [Options.MaxDelete] allows, all deletions of the scan
// are held. The resources stay listed until they are found again, until
// [Set.ConfirmDeletions], or until the end of [Options.MaxDeleteHold]; then the next scan
// deletes those that are still missing. Creations and updates continue. [Set.Delete] is
// never held and does not count.
//
// Only one scan runs at a time; others fail with [resourcesync.ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (resourcesync.ScanResult, error) {
	return s.scanRanges(ctx, changes.All, false, resources)
}

// ScanRanges updates the part of the set with keys in ranges to match a listing of that
// part, as [Set.Scan] does for the whole set. It deletes resources in ranges only, and
// its cost depends on their number and that of the listed ones only. The ranges may be in
// any order and overlap; without any, ScanRanges does nothing. A listed resource outside
// of them ends the scan with an error.
//
// The first scan of a set with AwaitScan is a [Set.Scan]; until then ScanRanges returns
// [resourcesync.ErrNotReady]. If too many resources would be deleted, or if deletions are
// held already, those of ScanRanges are held. Held deletions are published by the next
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
	for r, err := range resources {
		if u, ok := errors.AsType[*resourcesync.UnreadableError](err); ok {
			unreadable = append(unreadable, ranges.Clip(u.Keys)...)
			continue
		}
		unchanged := err == resourcesync.ErrUnchanged
		if err == nil || unchanged {
			err = ctx.Err()
		}
		if err == nil && !ranges.Contains(r.Key) {
			err = fmt.Errorf("resource %q is not in the ranges of the scan", r.Key)
		}
		switch {
		case err != nil:
		case unchanged:
			s.foundAgain(r.Key)
			result.Unchanged++
		default:
			err = s.found(&r, &result)
		}
		if err != nil {
			return result, fmt.Errorf("memory: scan: %w", err)
		}
	}
	// A listing may end without an error because ctx is done.
	if err := ctx.Err(); err != nil {
		return result, fmt.Errorf("memory: scan: %w", err)
	}
	s.finish(ranges, part, unreadable, &result)
	return result, nil
}

// finish deletes the resources that a complete listing lacks. After a first scan, it
// makes the set available.
func (s *Set) finish(ranges changes.Ranges, part bool, unreadable changes.Ranges, result *resourcesync.ScanResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result.Unreadable = s.keepUnreadable(unreadable)
	missing := s.missing(ranges)
	if s.state.ready && s.holds(missing, part, result) {
		return
	}
	s.apply(changes.Edits(resourcesync.Deleted, missing))
	result.Deleted = len(missing)
	if !s.state.ready {
		s.forgetDeleted()
		s.state.last = changes.Tick(s.state.last, s.now())
		s.state.ready, s.state.begin, s.state.since = true, s.state.last, s.state.last
		s.snapshot.Store(nil)
		s.changed.Ring()
	}
}

// holds reports whether to hold the deletions of missing resources.
func (s *Set) holds(missing []string, part bool, result *resourcesync.ScanResult) (hold bool) {
	judge := s.guard.Judge
	if part {
		judge = s.guard.JudgePart
	}
	s.guard, hold = judge(s.limits, guard.Found{
		Begun:   s.clock,
		At:      s.now().UnixMicro(),
		Count:   int64(s.state.count),
		Created: int64(result.Created),
		Missing: int64(len(missing)),
		Fresh:   s.countFresh(missing),
	})
	if hold {
		result.Held, result.HeldSince = len(missing), moment(s.guard.Since)
	}
	return hold
}

// countFresh returns the number of missing resources that may be among the recent
// creations that the guard counts as credit.
func (s *Set) countFresh(missing []string) (fresh int64) {
	since, credit := s.guard.CreditSince()
	if !credit {
		return 0
	}
	for _, key := range missing {
		if it, _ := s.state.items.Get(key); it.newest >= since {
			fresh++
		}
	}
	return fresh
}

// ConfirmDeletions lets the next scan publish the held deletions, and returns their
// number. If more resources are missing by then, all of them are held again.
func (s *Set) ConfirmDeletions() (held int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.Confirmed = s.guard.Held
	return int(s.guard.Held)
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
	s.scanning = true
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

// foundAgain notes that the listing has the resource of key, as it is in the set.
func (s *Set) foundAgain(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if it, _ := s.state.items.Get(key); it.member != nil {
		it.member.scan = s.scan
	}
}

// found puts a resource of the listing, unless it was deleted meanwhile.
func (s *Set) found(r *resourcesync.Resource, result *resourcesync.ScanResult) error {
	if err := changes.Check(r); err != nil {
		return err
	}
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
	return nil
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
