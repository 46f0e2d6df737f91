package sqlstore

import (
	"context"
	"slices"
	"time"

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
	_, err := c.Exec(ctx, "INSERT INTO rs_queue (outbox_id, "+queueColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (outbox_id, topic, hub) `+conflict,
		o.id, []byte(q.Topic), []byte(q.Hub), q.Taken, q.Failures, q.FailingSince.UnixMicro(), legible(q.LastError), q.Retry.UnixMicro(),
		q.Refused, q.Lost, q.LastRefused, legible(q.RefusedError))
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

// clearBatch is how many notifications or messages are deleted in one transaction.
const clearBatch = 100

// Clear implements [topic.Outbox].
func (o *outbox) Clear(ctx context.Context, hubs []string, before time.Time) error {
	if err := o.forgetQueues(ctx, hubs); err != nil {
		return o.fail("clear", err)
	}
	topics := map[int64]int64{} // what every hub has taken, by topic
	err := o.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, `SELECT id, coalesce((SELECT min(taken) FROM rs_queue q WHERE q.outbox_id = t.outbox_id AND q.topic = t.uri), number)
			FROM rs_topic t WHERE outbox_id = $1`, func(r rowdb.Row) error { topics[r.Int(0)] = r.Int(1); return nil }, o.id)
	})
	for id, taken := range topics {
		for n := clearBatch; n == clearBatch && err == nil; {
			n, err = o.clearTopic(ctx, id, taken, before.UnixMicro())
		}
	}
	return o.fail("clear", err)
}

// forgetQueues deletes the queues of hubs other than these.
func (o *outbox) forgetQueues(ctx context.Context, hubs []string) error {
	var others []string
	err := o.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT DISTINCT hub FROM rs_queue WHERE outbox_id = $1", func(r rowdb.Row) error {
			if hub := rowdb.String(r, 0); !slices.Contains(hubs, hub) {
				others = append(others, hub)
			}
			return nil
		}, o.id)
	})
	if err != nil || len(others) == 0 {
		return err
	}
	return o.store.db.Write(ctx, func(c rowdb.Conn) error {
		return c.ExecEach(ctx, "DELETE FROM rs_queue WHERE outbox_id = $1 AND hub = $2", len(others),
			func(i int) []any { return []any{o.id, []byte(others[i])} })
	})
}

// clearTopic deletes a batch of the oldest notifications of a topic, those that
// are taken or old, and never the newest. It returns how many there were.
func (o *outbox) clearTopic(ctx context.Context, id, taken, before int64) (n int, err error) {
	err = o.store.db.Write(ctx, func(c rowdb.Conn) error {
		var last int64
		keep := false
		err := c.Query(ctx, `SELECT number, made FROM rs_notification WHERE topic_id = $1
			AND number < (SELECT number FROM rs_topic WHERE id = $2) ORDER BY number LIMIT $3`, func(r rowdb.Row) error {
			// What comes after one that is kept is newer.
			if keep = keep || r.Int(0) > taken && r.Int(1) >= before; !keep {
				last = r.Int(0)
				n++
			}
			return nil
		}, id, id, clearBatch)
		if err != nil || n == 0 {
			return err
		}
		_, err = c.Exec(ctx, "DELETE FROM rs_notification WHERE topic_id = $1 AND number <= $2", id, last)
		return err
	})
	return n, err
}
