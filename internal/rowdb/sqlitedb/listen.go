package sqlitedb

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// pollEvery is how often a listener looks whether something has been committed,
// which takes some microseconds. SQLite tells nobody, and the commits of a host's
// own connections are not seen otherwise.
const pollEvery = 20 * time.Millisecond

func (db *database) Listen(ctx context.Context, wake func()) error {
	return db.take(ctx, func(c *connection) error {
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		last := int64(-1)
		for {
			version := last
			// It moves when another connection commits. This one never does.
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
