package memory

import (
	"context"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/stored"
	"github.com/resourcesync-go/resourcesync/scan"
)

// holds reports whether to hold the deletions of missing and withdrawn resources.
func (s *Set) holds(missing []changes.Edit, withdrawn []string, result *resourcesync.ScanResult) (hold bool) {
	judge, count := s.guard.JudgePart, int64(s.state.count)
	if !s.part {
		judge, count = s.guard.Judge, stored.Judged(count, int64(len(missing)), result)
	}
	n, waiting := len(missing)+len(withdrawn), int64(len(withdrawn))
	s.guard, hold = judge(s.limits, guard.Found{
		Begun:   s.clock,
		At:      s.now().UnixMicro(),
		Count:   count + waiting,
		Created: int64(result.Created),
		Missing: int64(n),
		Fresh:   s.countFresh(missing) + waiting, // the times of their creation are not known
	})
	if hold {
		result.Held, result.HeldSince = n, moment(s.guard.Since)
	}
	return hold
}

// countFresh returns the number of missing resources that may be among the recent
// creations that the guard counts as credit.
func (s *Set) countFresh(missing []changes.Edit) (fresh int64) {
	since, credit := s.guard.CreditSince()
	if !credit {
		return 0
	}
	for _, e := range missing {
		if it, _ := s.state.items.Get(e.Key); it.newest >= since {
			fresh++
		}
	}
	return fresh
}

// Kept describes the missing resources that the last scan has kept.
func (s *Set) Kept(context.Context) (scan.Kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stored.Kept(s.guard, s.limits), nil
}

// ConfirmDeletions lets the next scan publish the held deletions, and returns their
// number. If more resources are missing by then, all of them are held again.
func (s *Set) ConfirmDeletions(context.Context) (held int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.guard.Confirmed = s.guard.Held
	return s.guard.Held, nil
}

func (s *Set) limit(l guard.Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
}

// Withdraw removes the resources with these keys from the set at once. It is for a scanner
// that learns that single resources must no longer be listed. Unlike [Set.Delete], it holds
// deletions if they are too many, as a scan does.
//
// A few deletions are journalled at once. Others wait for the end of the next complete scan,
// or of the one that is running. That scan journals or holds them together with the deletions
// of resources that its listing does not have. If a resource is put again while its deletion
// waits, the journal has no deletion: it has an update if the resource has changed, and
// nothing otherwise.
func (s *Set) Withdraw(ctx context.Context, keys ...string) error {
	return s.withdraw(ctx, false, keys)
}

// WithdrawForScan is like Withdraw, except that no deletion is journalled before the end of a
// complete scan, however few there are. It is for a scanner that may still find out that they
// mean nothing: see [Set.ApproveWithdrawn].
func (s *Set) WithdrawForScan(ctx context.Context, keys ...string) error {
	return s.withdraw(ctx, true, keys)
}

// ApproveWithdrawn has each scan call approve before it journals deletions of withdrawn
// resources. The scan journals no deletion of a resource that is withdrawn after the call
// began. If approve returns an error, the scan fails with it, and all deletions wait.
func (s *Set) ApproveWithdrawn(approve func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.approve = approve
}

func (s *Set) withdraw(ctx context.Context, later bool, keys []string) error {
	return s.write(ctx, func() {
		if !s.state.ready || s.limits.HoldNothing() {
			s.apply(changes.Edits(resourcesync.Deleted, keys))
			return
		}
		if later || !s.mayPublish(len(keys)) {
			s.apply(changes.Edits(changes.Withdraw, keys))
			return
		}
		before := s.state.count
		deleted := s.apply(changes.Edits(resourcesync.Deleted, keys)).Deleted
		s.published += deleted
		s.guard, _ = s.guard.Judge(s.limits, s.foundGone(before, deleted))
	})
}

// mayPublish reports whether n deletions may be journalled without a scan: if they and
// those since the last scan are few, and if no others wait.
func (s *Set) mayPublish(n int) bool {
	if s.scanning && !s.part || s.published+n > guard.Few || s.guard.Held > 0 || len(s.withdrawn) > 0 {
		return false
	}
	_, hold := s.guard.Judge(s.limits, s.foundGone(s.state.count, n))
	return !hold
}

// foundGone returns the numbers that the guard judges if n of count resources are
// withdrawn. The times of their creation are not known.
func (s *Set) foundGone(count, n int) guard.Found {
	now := s.now().UnixMicro()
	return guard.Found{Begun: now, At: now, Count: int64(count), Missing: int64(n), Fresh: int64(n)}
}

// waiting returns the keys of withdrawn resources whose deletions the current scan judges, in
// order: of those that were withdrawn up to the change at judged.
func (s *Set) waiting(judged int64) (keys []string) {
	if s.part {
		return nil
	}
	for key := range s.withdrawn {
		if it, _ := s.state.items.Get(key); it.newest <= judged {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
