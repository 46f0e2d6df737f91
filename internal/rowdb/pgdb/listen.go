package pgdb

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// channel is the expression for the name of the channel. It is a digest, because the
// name of a schema may be longer than that of a channel. Triggers that notify use the
// same expression.
const channel = "'rs_' || md5(current_schema())"

func (db *database) Listen(ctx context.Context, wake func()) error {
	acquired, err := db.pool.Acquire(ctx)
	if err != nil {
		return rowdb.ContextError(ctx, err)
	}
	return dedicated(ctx, acquired, func(conn *pgx.Conn) error {
		var name string
		if err := conn.QueryRow(ctx, "SELECT "+channel).Scan(&name); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
			return err
		}
		for {
			// Wake once at the beginning, for earlier commits.
			wake()
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return err
			}
		}
	})
}

func (c *connection) Notify(ctx context.Context) error {
	return c.Query(ctx, "SELECT pg_notify("+channel+", '')", func(rowdb.Row) error { return nil })
}
