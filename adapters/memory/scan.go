package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
)

// ErrScanning says that a scan was refused because another is under way.
var ErrScanning = errors.New("memory: another scan is under way")

// A ScanResult counts what a scan did.
type ScanResult struct {
	Created, Updated, Deleted int

	// Unchanged counts the resources that were in the set as they are, those
	// named again in the same listing, of which the first holds, and those
	// that were deleted while the scan was under way.
	Unchanged int
}

// Scan makes the set what a listing says that it is. resources names all of
// them, in any order: what is new or different is put as by [Set.Put], what is
// not named any more is deleted, and the rest is left alone.
//
// Resources show in the set as they come. Deletions, all at once, come last, and
// only if the listing is complete: when it yields an error, or a resource that
// Put would refuse, or when ctx is done, the scan ends with that error and
// deletes nothing. What was put or deleted while the scan was under way is newer
// than the listing and stays as it is.
//
// One scan runs at a time; others fail with [ErrScanning].
func (s *Set) Scan(ctx context.Context, resources iter.Seq2[resourcesync.Resource, error]) (ScanResult, error) {
	if !s.beginScan() {
		return ScanResult{}, ErrScanning
	}
	defer s.endScan()

	var result ScanResult
	for r, err := range resources {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = s.saw(&r, &result)
		}
		if err != nil {
			return result, fmt.Errorf("memory: scan: %w", err)
		}
	}
	// A listing that stops without an error because ctx is done is not
	// complete.
	if err := ctx.Err(); err != nil {
		return result, fmt.Errorf("memory: scan: %w", err)
	}
	s.write(func() {
		result.Deleted = s.sweep()
		if !s.state.ready {
			s.forgetDeleted()
			s.state.ready = true
			s.state.begin = s.tick()
			s.state.since = s.state.begin
		}
	})
	return result, nil
}

func (s *Set) beginScan() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scanning {
		return false
	}
	s.scanning = true
	s.scan++
	s.begun = s.state.last
	return true
}

func (s *Set) endScan() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scanning = false
}

// saw puts a resource that the scan has come upon.
func (s *Set) saw(r *resourcesync.Resource, result *ScanResult) error {
	p, err := check(r)
	if err != nil {
		return err
	}
	s.write(func() {
		it, _ := s.state.items.Get(r.Key)
		seen := it.member != nil && it.member.scan == s.scan
		deleted := it.member == nil && it.newest > s.begun
		if seen || deleted {
			result.Unchanged++
			return
		}
		switch s.put(r, p) {
		case resourcesync.Created:
			result.Created++
		case resourcesync.Updated:
			result.Updated++
		default:
			result.Unchanged++
		}
	})
	return nil
}

// forgetDeleted forgets what was deleted during a first scan: no journal tells of
// it.
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

// sweep deletes what has been neither seen nor put since the scan began, and
// returns how many resources that were.
func (s *Set) sweep() int {
	var gone []string
	s.state.items.Scan(func(key string, it item) bool {
		if it.member != nil && it.member.scan != s.scan {
			gone = append(gone, key)
		}
		return true
	})
	for _, key := range gone {
		s.delete(key)
	}
	return len(gone)
}
