package sqlstore

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic"
)

const queueColumns = "topic, hub, taken, failures, failing_since, last_error, retry, refused, lost, last_refused, refused_error"

func readQueue(r rowdb.Row) topic.Queue {
	return topic.Queue{
		Topic:        rowdb.String(r, 0),
		Hub:          rowdb.String(r, 1),
		Taken:        r.Int(2),
		Failures:     int(r.Int(3)),
		FailingSince: moment(r.Int(4)),
		LastError:    rowdb.String(r, 5),
		Retry:        moment(r.Int(6)),
		Refused:      r.Int(7),
		Lost:         r.Int(8),
		LastRefused:  r.Int(9),
		RefusedError: rowdb.String(r, 10),
	}
}

// putQueue stores q; conflict says what is done if it is there already.
func (o *outbox) putQueue(ctx context.Context, c rowdb.Conn, q topic.Queue, conflict string) error {
	_, err := c.Exec(ctx, "INSERT INTO rs_queue (outbox_id, "+queueColumns+`, used)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (outbox_id, topic, hub) `+conflict,
		o.id, []byte(q.Topic), []byte(q.Hub), q.Taken, q.Failures, q.FailingSince.UnixMicro(), legible(q.LastError), q.Retry.UnixMicro(),
		q.Refused, q.Lost, q.LastRefused, legible(q.RefusedError), o.store.now().UnixMicro())
	return err
}

// Queue implements [topic.Outbox].
func (o *outbox) Queue(ctx context.Context, uri, hub string) (q topic.Queue, err error) {
	found := false
	query := func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT "+queueColumns+" FROM rs_queue WHERE outbox_id = $1 AND topic = $2 AND hub = $3",
			func(r rowdb.Row) error { q, found = readQueue(r), true; return nil }, o.id, []byte(uri), []byte(hub))
	}
	if err := o.store.db.Do(ctx, query); err != nil || found {
		return q, o.fail("queue", err)
	}
	err = o.store.db.Write(ctx, func(c rowdb.Conn) error {
		fresh := topic.Queue{Topic: uri, Hub: hub}
		t, err := o.find(ctx, c, uri, "")
		if err != nil {
			return err
		}
		if t != nil {
			fresh.Taken = t.Number
		}
		if err := o.putQueue(ctx, c, fresh, "DO NOTHING"); err != nil {
			return err
		}
		return query(c)
	})
	return q, o.fail("queue", err)
}

// Save implements [topic.Outbox].
func (o *outbox) Save(ctx context.Context, q topic.Queue) error {
	err := o.store.db.Write(ctx, func(c rowdb.Conn) error {
		return o.putQueue(ctx, c, q, `DO UPDATE SET taken = excluded.taken, failures = excluded.failures,
			failing_since = excluded.failing_since, last_error = excluded.last_error, retry = excluded.retry,
			refused = excluded.refused, lost = excluded.lost, last_refused = excluded.last_refused,
			refused_error = excluded.refused_error`)
	})
	return o.fail("save", err)
}

// Queues implements [topic.Outbox].
func (o *outbox) Queues(ctx context.Context) (all []topic.Queue, err error) {
	err = o.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT "+queueColumns+" FROM rs_queue WHERE outbox_id = $1 ORDER BY topic, hub",
			func(r rowdb.Row) error { all = append(all, readQueue(r)); return nil }, o.id)
	})
	return all, o.fail("queues", err)
}
