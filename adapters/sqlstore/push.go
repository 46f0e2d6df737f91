package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/sqllog"
)

// Log returns the log of notifications of this name, a topic.Log, and creates it if there
// is none. Each Source has a log of its own. [Store.Run] must be running in this process.
func (s *Store) Log(ctx context.Context, name string) (pushlog.Log, error) {
	return sqllog.Open(ctx, s.db, &s.bell, s.now, name)
}
