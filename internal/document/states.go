package document

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// StatOf describes the resources in keys. The result is zero without a Stater.
func StatOf(ctx context.Context, stater resourcesync.Stater, keys resourcesync.Range) (resourcesync.Stat, error) {
	if stater == nil {
		return resourcesync.Stat{}, nil
	}
	return stater.Stat(ctx, keys)
}

// ResourceState returns the state of the resources in keys, or was if that is still
// current. It reads the version of the complete set and, only if that has changed, the
// version of keys.
func (st *Set) ResourceState(ctx context.Context, keys resourcesync.Range, was *State) (*State, error) {
	whole, err := StatOf(ctx, st.Stater, partition.Whole)
	if err != nil || was != nil && whole.Version != "" && whole.Version == *was.whole.Load() {
		return was, err
	}
	stat := whole
	if keys != partition.Whole {
		if stat, err = StatOf(ctx, st.Stater, keys); err != nil {
			return nil, err
		}
	}
	if was != nil && stat.Version != "" && stat.Version == was.Version {
		was.whole.Store(&whole.Version)
		return was, nil
	}
	now := st.newResourceState(keys, stat)
	now.whole.Store(&whole.Version)
	return now, nil
}

// newResourceState returns the state of the resources in keys that stat describes.
func (st *Set) newResourceState(keys resourcesync.Range, stat resourcesync.Stat) *State {
	now := newState(stat)
	now.keys = keys
	if st.Stater == nil {
		now.Count = -1
	}
	if now.Modified.After(time.Now()) {
		now.Modified = time.Time{} // changes up to that time may follow
	}
	return now
}

func newState(stat resourcesync.Stat) *State {
	st := &State{Version: stat.Version, Modified: stat.LastModified, Count: stat.Count}
	st.whole.Store(&st.Version)
	return st
}

// rangeState reads the state of a document about a range of keys. The document is not cached
// if the set is not divided into that range: clients can request any range, and must not
// displace listed documents.
func rangeState(ctx context.Context, t Target, was *State) (*State, error) {
	r, ok := partition.ParseRange(t.Part)
	if !ok {
		return nil, t.NotExist("a range of keys")
	}
	unlisted := t.Unlisted()
	if unlisted && was == nil {
		stat, err := StatOf(ctx, t.Set.Stater, r)
		stat.Version = ""
		return t.Set.newResourceState(r, stat), err
	}
	st, err := t.Set.ResourceState(ctx, r, was)
	if err == nil && st != was && unlisted {
		st.Version = ""
	}
	return st, err
}

// isRange reports whether t names a range into which the set is divided. It also returns
// true if t names no range, because such a request costs nothing.
func isRange(t Target) bool {
	r, ok := partition.ParseRange(t.Part)
	return !ok || t.Kind.ranges(t.Set).Lists(r)
}

// JournalState reads the state of a document with changes of the journal. Rendering
// determines whether the document is closed.
func JournalState(ctx context.Context, t Target, was *State) (*State, error) {
	if closed, err := was.stillClosed(ctx); err != nil || closed {
		return was, err
	}
	stat, err := StatOf(ctx, t.Set.ChangeStater, partition.Whole)
	if err != nil {
		return nil, err
	}
	if was != nil && !was.closed && stat.Version != "" && stat.Version == was.Version {
		return was, nil
	}
	return newState(stat), nil
}
