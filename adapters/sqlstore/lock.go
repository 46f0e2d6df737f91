package sqlstore

import (
	"context"
	"fmt"
)

// TryLock runs f while it holds the lock with a name, and reports whether the lock was free. No other
// call with this name, in any process that uses the same database, gets the lock until f returns.
// The locks of the store itself have no names.
//
// In PostgreSQL, TryLock takes an advisory lock of a session, and so a connection. If the process dies, stops,
// or is cut off from the database, the lock becomes free after a few seconds. The context of f
// then ends, and f must return. In SQLite, TryLock locks a file beside the database, and the
// system frees the lock when the process dies.
//
// TryLock is safe for concurrent use.
func (s *Store) TryLock(ctx context.Context, name string, f func(ctx context.Context) error) (bool, error) {
	free, err := s.db.TryLockNamed(ctx, name, f)
	if err != nil {
		err = fmt.Errorf("sqlstore: lock %q: %w", name, err)
	}
	return free, err
}
