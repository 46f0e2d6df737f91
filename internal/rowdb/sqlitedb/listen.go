package sqlitedb

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// pollInterval is how often a listener polls for commits, which takes some
// microseconds. SQLite has no notification for commits by other connections, such as
// those of the host.
const pollInterval = 20 * time.Millisecond

func (db *database) Listen(ctx context.Context, wake func()) error {
	return db.take(ctx, func(c *connection) error {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		last := int64(-1)
		for {
			version := last
			// data_version moves when another connection commits. This one never
			// commits.
			err := c.Query(ctx, "PRAGMA data_version", func(r rowdb.Row) error { version = r.Int(0); return nil })
			if err != nil {
				return err
			}
			if version != last {
				last = version
				wake()
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
		}
	})
}
