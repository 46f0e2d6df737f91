package memory

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
)

// Put adds resources to the set, and replaces those with the same keys. If the entry of a
// resource is unchanged, by [resourcesync.Resource.EqualEntry], Put records no change and
// only updates its Stamp. It records a LastModified in the future as unknown. A read sees
// all resources of one call or none.
//
// The set keeps copies. If the key of a resource is empty or longer than
// resourcesync.MaxKeyLength, or if a document cannot hold its URI or another field (see
// [rsxml.CheckResource]), the error names the field, and Put does nothing.
func (s *Set) Put(ctx context.Context, resources ...resourcesync.Resource) error {
	edits := make([]changes.Edit, len(resources))
	for i := range resources {
		if err := changes.CheckFields(&resources[i]); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		edits[i] = upsert(&resources[i])
	}
	return s.write(ctx, func() { s.apply(edits) })
}

// Delete removes the resources with these keys from the set. It ignores keys that are not
// in the set. A read sees all deletions of one call or none.
func (s *Set) Delete(ctx context.Context, keys ...string) error {
	return s.write(ctx, func() { s.apply(changes.Edits(resourcesync.Deleted, keys)) })
}

// write changes the set, unless ctx is done.
func (s *Set) write(ctx context.Context, change func()) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	return nil
}

func upsert(r *resourcesync.Resource) changes.Edit {
	own := r.Clone()
	return changes.Edit{Type: changes.Upsert, Key: r.Key, Resource: &own}
}

// apply applies edits. If they change the set, it updates readers and wakes watchers.
func (s *Set) apply(edits []changes.Edit) changes.Counts {
	b := changes.Batch{
		Items: make(map[string]*changes.Item, len(edits)),
		Ready: s.state.ready, Last: s.state.last, Count: int64(s.state.count), Now: s.now,
	}
	for i := range edits {
		s.load(&b, edits[i].Key)
	}
	b.Apply(edits)
	vacated := b.Vacated()
	for _, uri := range vacated {
		s.loadSuccessor(&b, uri)
	}
	b.Reannounce(vacated)
	s.save(&b)
	for i := range edits {
		if edits[i].Type == changes.Upsert {
			it, _ := s.state.items.Get(edits[i].Key)
			it.member.scan = s.scan
		}
	}
	return b.Counts
}

func (s *Set) load(b *changes.Batch, key string) {
	if b.Items[key] != nil {
		return
	}
	it, _ := s.state.items.Get(key)
	loaded := &changes.Item{Newest: it.newest, Withdrawn: s.withdrawn[key]}
	if it.member != nil {
		loaded.Live = it.member.resource
	}
	b.Items[key] = loaded
}

// loadSuccessor adds to b the first resource at uri that b does not have yet.
func (s *Set) loadSuccessor(b *changes.Batch, uri string) {
	s.state.places.Ascend(placeOf(uri, ""), func(p place) bool {
		if p.uri != uri {
			return false
		}
		if b.Items[p.key] != nil {
			return true
		}
		s.load(b, p.key)
		return false
	})
}

func (s *Set) save(b *changes.Batch) {
	changed := b.Changed()
	for _, key := range changed {
		s.saveItem(key, b.Items[key])
	}
	if len(changed) > 0 {
		s.snapshot.Store(nil)
	}
	if b.Last == s.state.last {
		return // only a Stamp has changed
	}
	s.state.last, s.state.count = b.Last, int(b.Count)
	if s.state.ready {
		s.applyRetention(b.Last)
		for _, e := range b.Events {
			c := e.Change()
			s.state.journal = append(s.state.journal, event{e, s.builder.ChangeSize(&c)})
		}
	}
	s.changed.Ring()
}

func (s *Set) saveItem(key string, to *changes.Item) {
	it, _ := s.state.items.Get(key)
	was := it.member
	it.newest = to.Newest
	if to.Withdrawn == nil {
		delete(s.withdrawn, key)
	} else {
		s.withdrawn[key] = to.Withdrawn
	}
	switch {
	case to.Live == nil:
		it.member = nil
	case was == nil || to.Live != was.resource:
		it.member = &member{resource: to.Live, size: s.builder.ResourceSize(to.Live)}
	}
	switch {
	case it.member == was: // announced again, or a withdrawn resource is deleted
	case was == nil:
		s.state.places.Set(it.member.place())
	case it.member == nil:
		s.state.places.Delete(was.place())
	case it.member.resource.URI != was.resource.URI:
		s.state.places.Delete(was.place())
		s.state.places.Set(it.member.place())
	}
	if it.member == nil && !s.state.ready && !s.scanning {
		s.state.items.Delete(key) // there is no journal yet
	} else {
		s.state.items.Set(key, it)
	}
}

// Known returns copies of the resources with these keys, in the same order; a zero Resource
// means that there is none. It also works before the first scan of a set with AwaitScan.
func (s *Set) Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	known := make([]resourcesync.Resource, len(keys))
	// Without a snapshot: a scanner asks for each resource, and each call would copy the state.
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range keys {
		if it, _ := s.state.items.Get(key); it.member != nil {
			known[i] = it.member.resource.Clone()
		}
	}
	return known, nil
}

// Origin returns what [Set.SetOrigin] has recorded, or "".
func (s *Set) Origin(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.origin, nil
}

// SetOrigin records where the resources in the set come from.
func (s *Set) SetOrigin(_ context.Context, origin string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.origin = origin
	return nil
}

// Len returns the number of resources. It also works before the first scan of a set with
// AwaitScan.
func (s *Set) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.count
}
