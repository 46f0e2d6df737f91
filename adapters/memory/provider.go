package memory

import (
	"context"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// Resources implements [resourcesync.Provider].
func (s *Set) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		st, err := s.view(ctx)
		if err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		st.items.Ascend(r.From, func(key string, it item) bool {
			switch {
			case !r.Contains(key):
				return false
			case it.member == nil:
				return true
			}
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Resource{}, err)
				return false
			}
			return yield(*it.member.resource, nil)
		})
	}
}

// Stat implements [resourcesync.Stater]. Its cost is constant for the whole set, and
// linear in the number of keys for a range.
//
// Version changes when something in the range changes, and otherwise only if the journal
// drops a deletion just outside of the range.
//
// LastModified is never before the time at which the set was created, or its first scan
// ended. It includes deletions, and moves back only if the journal drops the last change
// in an empty range.
func (s *Set) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	st, err := s.view(ctx)
	switch {
	case err != nil:
		return resourcesync.Stat{}, err
	case r == resourcesync.Range{}:
		return st.whole, nil
	}
	return st.stat(r), nil
}

// Cuts implements [resourcesync.Cutter]. It reads all keys, but no resources.
func (s *Set) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	if every < 1 {
		return nil, fmt.Errorf("memory: invalid page size of %d resources", every)
	}
	st, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	division := paging.NewCuts(previous, every)
	st.items.Scan(func(key string, it item) bool {
		if err = ctx.Err(); err != nil {
			return false
		}
		newest := moment(max(it.newest, st.begin))
		if it.member != nil {
			division.Add(key, it.member.size, newest)
		} else {
			division.AddDeleted(key, newest)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	cuts := division.Done()
	for i := range cuts {
		if cuts[i].Newest.IsZero() {
			cuts[i].Newest = moment(st.begin)
		}
	}
	return cuts, nil
}
