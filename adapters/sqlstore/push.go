package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/pushlog/sqllog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// Log returns the log of notifications with that name, and makes it if there is none.
// Each Source has a log of its own. [Store.Run] must be running in this process.
func (s *Store) Log(ctx context.Context, name string) (topic.Log, error) {
	return sqllog.Open(ctx, s.db, &s.bell, s.now, name)
}
