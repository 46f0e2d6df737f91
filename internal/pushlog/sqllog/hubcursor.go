package sqllog

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const hubCursorColumns = "topic, hub, taken, failures, failing_since, last_error, retry, refused, lost, last_refused, refused_error"

func readHubCursor(r rowdb.Row) pushlog.HubCursor {
	return pushlog.HubCursor{
		Topic:        rowdb.String(r, 0),
		Hub:          rowdb.String(r, 1),
		Cursor:       readCursor(r, 2),
		Refused:      r.Int(7),
		Lost:         r.Int(8),
		LastRefused:  r.Int(9),
		RefusedError: rowdb.String(r, 10),
	}
}

// putHubCursor stores cursor; conflict is the clause for an existing row.
func (l *Log) putHubCursor(ctx context.Context, c rowdb.Conn, cursor pushlog.HubCursor, conflict string) error {
	_, err := c.Exec(ctx, "INSERT INTO rs_hub_cursor (log_id, "+hubCursorColumns+`, used)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (log_id, topic, hub) `+conflict,
		l.id, []byte(cursor.Topic), []byte(cursor.Hub), cursor.Taken, cursor.Failures, cursor.FailingSince.UnixMicro(), validText(cursor.LastError), cursor.Retry.UnixMicro(),
		cursor.Refused, cursor.Lost, cursor.LastRefused, validText(cursor.RefusedError), l.now().UnixMicro())
	return err
}

// HubCursor implements [pushlog.HubCursors].
func (l *Log) HubCursor(ctx context.Context, uri, hub string) (cursor pushlog.HubCursor, err error) {
	find := func(c rowdb.Querier) (err error) {
		cursor, err = rowdb.One(ctx, c, readHubCursor,
			"SELECT "+hubCursorColumns+" FROM rs_hub_cursor WHERE log_id = $1 AND topic = $2 AND hub = $3", l.id, []byte(uri), []byte(hub))
		return err
	}
	if err := find(l.db); err != nil || cursor != (pushlog.HubCursor{}) {
		return cursor, fail("hub cursor", err)
	}
	err = l.db.Write(ctx, func(c rowdb.Conn) error {
		fresh := pushlog.HubCursor{Topic: uri, Hub: hub}
		t, err := l.find(ctx, c, uri, "")
		if err != nil {
			return err
		}
		if t != nil {
			fresh.Taken = t.Number
		}
		if err := l.putHubCursor(ctx, c, fresh, "DO NOTHING"); err != nil {
			return err
		}
		return find(c)
	})
	return cursor, fail("hub cursor", err)
}

// SaveHubCursor implements [pushlog.HubCursors].
func (l *Log) SaveHubCursor(ctx context.Context, cursor pushlog.HubCursor) error {
	err := l.db.Write(ctx, func(c rowdb.Conn) error {
		return l.putHubCursor(ctx, c, cursor, `DO UPDATE SET taken = excluded.taken, failures = excluded.failures,
			failing_since = excluded.failing_since, last_error = excluded.last_error, retry = excluded.retry,
			refused = excluded.refused, lost = excluded.lost, last_refused = excluded.last_refused,
			refused_error = excluded.refused_error`)
	})
	return fail("save hub cursor", err)
}

// AllHubCursors implements [pushlog.HubCursors].
func (l *Log) AllHubCursors(ctx context.Context) ([]pushlog.HubCursor, error) {
	all, err := rowdb.All(ctx, l.db, readHubCursor, "SELECT "+hubCursorColumns+" FROM rs_hub_cursor WHERE log_id = $1 ORDER BY topic, hub", l.id)
	return all, fail("hub cursors", err)
}
