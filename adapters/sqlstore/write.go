package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Put adds resources to the set, and replaces those with the same keys. A resource whose
// entry has not changed, by [resourcesync.Resource.EqualEntry], is not journalled; only its
// Stamp is stored. A LastModified in the future is recorded as unknown, by this and every
// other method. A read sees all resources of one call or none, and all of them once Put has
// returned. Changes that were recorded before come before them in the journal.
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
	_, err := s.change(ctx, changes.Edits(resourcesync.Deleted, keys))
	return s.fail("delete", err)
}

// change applies edits in one transaction, after all changes that were recorded before.
func (s *Set) change(ctx context.Context, edits []changes.Edit) (*changeBatch, error) {
	return s.changeRead(ctx, edits, nil)
}

// changeRead is like change, with rows that were loaded before the transaction.
func (s *Set) changeRead(ctx context.Context, edits []changes.Edit, before *preload) (done *changeBatch, err error) {
	err = s.update(ctx, func(c rowdb.Conn, set *setRow) (err error) {
		done, err = s.store.apply(ctx, c, set, edits, before)
		return err
	})
	return done, err
}

// update runs f in a transaction, after all changes that were recorded before.
func (s *Set) update(ctx context.Context, f func(rowdb.Conn, *setRow) error) error {
	err := s.store.db.Update(ctx, func(c rowdb.Conn) error {
		if err := s.store.numberAll(ctx, c); err != nil {
			return err
		}
		set, err := readSet(ctx, c, s.id)
		if err != nil {
			return err
		}
		return f(c, &set)
	})
	if err == nil {
		s.store.noteDiscarded()
	}
	return err
}

// Withdraw removes the resources with these keys from the set at once. It is for a
// scanner that learns that single resources must no longer be listed. Unlike [Set.Delete],
// it holds deletions if they are too many, as a scan does.
//
// No read returns the resources once Withdraw has returned. A few deletions are
// journalled at once. Others wait, across restarts, for the end of the next complete
// scan, or of the scan that this process is running. That scan journals or holds them
// together with the deletions of resources that its listing does not have. If a resource
// is put again while its deletion waits, the journal has no deletion: it has an update
// if the resource has changed, and nothing otherwise.
func (s *Set) Withdraw(ctx context.Context, keys ...string) error {
	return s.withdraw(ctx, false, keys)
}

// WithdrawForScan is like Withdraw, except that no deletion is journalled before the end of a
// complete scan, however few there are. It is for a scanner that may still find out that they mean
// nothing: see [Set.ApproveWithdrawn].
func (s *Set) WithdrawForScan(ctx context.Context, keys ...string) error {
	return s.withdraw(ctx, true, keys)
}

// ApproveWithdrawn has each scan of this process call approve before it journals deletions of
// withdrawn resources, also of those that other processes have withdrawn. The scan journals no
// deletion of a resource that is withdrawn after the call began. If approve returns an error, the
// scan fails with it, and all deletions wait.
func (s *Set) ApproveWithdrawn(approve func(ctx context.Context) error) { s.approve.Store(&approve) }

func (s *Set) withdraw(ctx context.Context, later bool, keys []string) error {
	var published int
	err := s.update(ctx, func(c rowdb.Conn, set *setRow) (err error) {
		published = 0
		guarded := set.ready && !s.limits.HoldNothing()
		atOnce := !guarded
		if guarded && !later {
			if atOnce, err = s.mayPublish(ctx, c, set, len(keys)); err != nil {
				return err
			}
		}
		kind := changes.Withdraw
		if atOnce {
			kind = resourcesync.Deleted
		}
		before := set.count
		b, err := s.store.apply(ctx, c, set, changes.Edits(kind, keys), nil)
		if err != nil || !guarded || !atOnce || b.Counts.Deleted == 0 {
			return err
		}
		published = b.Counts.Deleted
		return s.countPublished(ctx, c, before, int64(published))
	})
	if err == nil {
		s.published.Add(int64(published))
	}
	return s.fail("withdraw", err)
}

// mayPublish reports whether n deletions may be journalled without a scan: if they and
// those since the last scan are few, and if no others wait.
func (s *Set) mayPublish(ctx context.Context, c rowdb.Conn, set *setRow, n int) (bool, error) {
	if s.scanning.Load() != nil || s.published.Load()+int64(n) > guard.Few {
		return false, nil
	}
	g, err := readGuard(ctx, c, s.id)
	if err != nil || g.Held > 0 {
		return false, err
	}
	waiting, err := rowdb.One(ctx, c, rowdb.Int, "SELECT 1 FROM rs_withdrawn WHERE set_id = $1 LIMIT 1", s.id)
	if err != nil || waiting == 1 {
		return false, err
	}
	_, hold := g.Judge(s.limits, s.foundGone(set.count, int64(n)))
	return !hold, nil
}

// countPublished adds n deletions, journalled without a scan, to those that the guard
// counts. The set had count resources.
func (s *Set) countPublished(ctx context.Context, c rowdb.Conn, count, n int64) error {
	g, err := readGuard(ctx, c, s.id)
	if err != nil {
		return err
	}
	unreadable := g.Unreadable
	g, _ = g.Judge(s.limits, s.foundGone(count, n))
	g.Unreadable = unreadable
	return saveGuard(ctx, c, s.id, g)
}

// foundGone returns the numbers that the guard judges if n of count resources are
// withdrawn. The times of their creation are not known.
func (s *Set) foundGone(count, n int64) guard.Found {
	now := s.store.now().UnixMicro()
	return guard.Found{Begun: now, At: now, Count: count, Missing: n, Fresh: n}
}

func (b *changeBatch) saveWithdrawn(ctx context.Context, keys []string) error {
	var begun, ended []string
	for _, key := range keys {
		switch {
		case b.Items[key].Withdrawn != nil:
			begun = append(begun, key)
		case b.withdrawn[key]:
			ended = append(ended, key)
		}
	}
	err := b.conn.ExecEach(ctx, `INSERT INTO rs_withdrawn (set_id, key, at, size, place, body) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (set_id, key) DO UPDATE SET at = excluded.at, size = excluded.size, place = excluded.place, body = excluded.body`, len(begun),
		func(i int) []any {
			it := b.Items[begun[i]]
			return []any{b.set.id, []byte(begun[i]), it.Newest, b.entry.ResourceSize(it.Withdrawn), b.store.places.of(it.Withdrawn.URI), b.bodyOf(it.Withdrawn)}
		})
	if err != nil {
		return err
	}
	return b.conn.ExecEach(ctx, "DELETE FROM rs_withdrawn WHERE set_id = $1 AND key = $2", len(ended),
		func(i int) []any { return []any{b.set.id, []byte(ended[i])} })
}
