package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Put adds resources to the set, each in place of the one with its key if there is
// one. What has the same entry as the resource in the set, by
// [resourcesync.Resource.EqualEntry], is no change and not journalled; its Stamp is
// kept. A LastModified in the future is recorded as unknown, here and wherever else
// a resource gets into the store. A read sees all of the resources of one call or
// none, and sees them as soon as Put has returned. Changes recorded earlier come
// before it.
//
// If a resource is not fit to be published, because its key is empty or longer
// than resourcesync.MaxKeyLength or because no document can hold its URI or
// another field (see [rsxml.CheckResource]), the error names the field and none
// of them is put.
func (s *Set) Put(ctx context.Context, resources ...resourcesync.Resource) error {
	edits := make([]changes.Edit, len(resources))
	for i := range resources {
		if err := changes.CheckFields(&resources[i]); err != nil {
			return s.fail("put", err)
		}
		edits[i] = changes.Edit{Type: changes.Upsert, Key: resources[i].Key, Resource: &resources[i]}
	}
	_, err := s.change(ctx, edits)
	return s.fail("put", err)
}

// Delete removes the resources with these keys from the set. Keys that are not in
// the set change nothing. A read sees all of the deletions of one call or none,
// and sees them as soon as Delete has returned.
func (s *Set) Delete(ctx context.Context, keys ...string) error {
	edits := make([]changes.Edit, len(keys))
	for i, key := range keys {
		edits[i] = changes.Edit{Type: resourcesync.Deleted, Key: key}
	}
	_, err := s.change(ctx, edits)
	return s.fail("delete", err)
}

// change makes edits at once, after all changes that have been recorded before.
func (s *Set) change(ctx context.Context, edits []changes.Edit) (done *changeBatch, err error) {
	err = s.store.db.Update(ctx, func(c rowdb.Conn) error {
		if err := s.store.takeAllUp(ctx, c); err != nil {
			return err
		}
		set, err := readSet(ctx, c, s.id)
		if err != nil {
			return err
		}
		done, err = s.store.apply(ctx, c, &set, edits)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.store.noteDiscarded()
	return done, nil
}
