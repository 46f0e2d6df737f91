package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// clearBatch is how many notifications or messages are deleted in one transaction.
const clearBatch = 100

// noteEvery is how often it is written down that something is still in use.
const noteEvery = time.Hour

// Clear implements [topic.Outbox].
func (o *outbox) Clear(ctx context.Context, used map[string][]string, before, idle time.Time) error {
	return o.fail("clear", o.clear(ctx, used, before, idle))
}

func (o *outbox) clear(ctx context.Context, used map[string][]string, before, idle time.Time) error {
	if err := o.forgetQueues(ctx, used, idle.UnixMicro()); err != nil {
		return err
	}
	topics := map[int64]int64{} // what every hub has taken, by topic
	err := o.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, `SELECT id, coalesce((SELECT min(taken) FROM rs_queue q WHERE q.outbox_id = t.outbox_id AND q.topic = t.uri), number)
			FROM rs_topic t WHERE outbox_id = $1`, func(r rowdb.Row) error { topics[r.Int(0)] = r.Int(1); return nil }, o.id)
	})
	if err != nil {
		return err
	}
	for id, taken := range topics {
		for n := clearBatch; n == clearBatch; {
			if n, err = o.clearTopic(ctx, id, taken, before.UnixMicro()); err != nil {
				return err
			}
		}
	}
	return o.forgetTopics(ctx, used, before.UnixMicro())
}

// forgetQueues notes which queues are in use, and deletes the others that have not
// been since idle.
func (o *outbox) forgetQueues(ctx context.Context, used map[string][]string, idle int64) error {
	type queue struct{ topic, hub []byte }
	var stay, leave []queue
	now := o.store.now().UnixMicro()
	err := o.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT topic, hub, used FROM rs_queue WHERE outbox_id = $1", func(r rowdb.Row) error {
			q := queue{r.Append(nil, 0), r.Append(nil, 1)}
			switch noted := r.Int(2); {
			case !slices.Contains(used[string(q.topic)], string(q.hub)):
				if noted < idle {
					leave = append(leave, q)
				}
			case noted <= now-noteEvery.Microseconds():
				stay = append(stay, q)
			}
			return nil
		}, o.id)
	})
	if err != nil || len(stay)+len(leave) == 0 {
		return err
	}
	return o.store.db.Write(ctx, func(c rowdb.Conn) error {
		err := c.ExecEach(ctx, "UPDATE rs_queue SET used = $1 WHERE outbox_id = $2 AND topic = $3 AND hub = $4", len(stay),
			func(i int) []any { return []any{now, o.id, stay[i].topic, stay[i].hub} })
		if err != nil {
			return err
		}
		return c.ExecEach(ctx, "DELETE FROM rs_queue WHERE outbox_id = $1 AND topic = $2 AND hub = $3", len(leave),
			func(i int) []any { return []any{o.id, leave[i].topic, leave[i].hub} })
	})
}

// forgetTopics notes which topics are in use, and deletes the others that have not
// been since before, with what is left of them.
func (o *outbox) forgetTopics(ctx context.Context, used map[string][]string, before int64) error {
	type row struct {
		id  int64
		uri []byte
	}
	var stay, leave []row
	now := o.store.now().UnixMicro()
	err := o.store.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT id, uri, used FROM rs_topic WHERE outbox_id = $1", func(r rowdb.Row) error {
			t := row{r.Int(0), r.Append(nil, 1)}
			_, in := used[string(t.uri)]
			switch noted := r.Int(2); {
			case !in:
				if noted+noteEvery.Microseconds() < before {
					leave = append(leave, t)
				}
			case noted <= now-noteEvery.Microseconds():
				stay = append(stay, t)
			}
			return nil
		}, o.id)
	})
	if err != nil || len(stay)+len(leave) == 0 {
		return err
	}
	return o.store.db.Write(ctx, func(c rowdb.Conn) error {
		err := c.ExecEach(ctx, "UPDATE rs_topic SET used = $1 WHERE id = $2", len(stay),
			func(i int) []any { return []any{now, stay[i].id} })
		if err != nil {
			return err
		}
		for _, sql := range []string{"DELETE FROM rs_notification WHERE topic_id = $1", "DELETE FROM rs_topic WHERE id = $1"} {
			if err := c.ExecEach(ctx, sql, len(leave), func(i int) []any { return []any{leave[i].id} }); err != nil {
				return err
			}
		}
		return c.ExecEach(ctx, "DELETE FROM rs_queue WHERE outbox_id = $1 AND topic = $2", len(leave),
			func(i int) []any { return []any{o.id, leave[i].uri} })
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
