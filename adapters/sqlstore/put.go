package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Put adds resources to the set, and replaces those with the same keys. A resource whose
// entry is that of the resource in the set, by [resourcesync.Resource.EqualEntry], is
// not journalled; only its Stamp is stored. A LastModified in the future is recorded as
// unknown, by this and every other method. A read sees all resources of one call or
// none, and all of them once Put has returned. Changes that were recorded before come
// before them in the journal.
//
// A resource cannot be published if its key is empty or longer than
// resourcesync.MaxKeyLength, or if no document can hold its URI or another field (see
// [rsxml.CheckResource]). The error then names the field, and no resource is put.
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

// Delete removes the resources with these keys from the set. It ignores keys that are
// not in the set. A read sees all deletions of one call or none, and all of them once
// Delete has returned.
func (s *Set) Delete(ctx context.Context, keys ...string) error {
	edits := make([]changes.Edit, len(keys))
	for i, key := range keys {
		edits[i] = changes.Edit{Type: resourcesync.Deleted, Key: key}
	}
	_, err := s.change(ctx, edits)
	return s.fail("delete", err)
}

// change applies edits in one transaction, after all changes that were recorded before.
func (s *Set) change(ctx context.Context, edits []changes.Edit) (*changeBatch, error) {
	return s.changeRead(ctx, edits, nil)
}

// changeRead is change with the rows of the edited keys, read before.
func (s *Set) changeRead(ctx context.Context, edits []changes.Edit, before *preload) (done *changeBatch, err error) {
	err = s.store.db.Update(ctx, func(c rowdb.Conn) error {
		if err := s.store.numberAll(ctx, c); err != nil {
			return err
		}
		set, err := readSet(ctx, c, s.id)
		if err != nil {
			return err
		}
		done, err = s.store.apply(ctx, c, &set, edits, before)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.store.noteDiscarded()
	return done, nil
}
