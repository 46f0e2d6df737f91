package sqllog

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// anyDue is before every time at which a subscription can be claimed again.
const anyDue = int64(math.MinInt64)

// The maximum numbers of subscriptions and notifications deleted in one transaction.
const (
	expiredBatch = 1000
	clearBatch   = 100
)

// Clear implements [pushlog.Log]. It works in batches.
func (l *Log) Clear(ctx context.Context, used map[string][]string, before, idle time.Time) (dropped []pushlog.Dropped, err error) {
	if err := l.forgetHubs(ctx, used, idle.UnixMicro()); err != nil {
		return nil, fail("clear", err)
	}
	passed, err := l.passed(ctx)
	for _, t := range passed {
		all := pushlog.Dropped{Topic: t.uri}
		for n := clearBatch; n == clearBatch && err == nil; {
			var d pushlog.Dropped
			if n, d, err = l.clearTopic(ctx, t, before.UnixMicro()); err != nil {
				break
			}
			all.Messages += d.Messages
			all.Subscriptions = max(all.Subscriptions, d.Subscriptions) // a subscription behind one batch is behind the next
			all.Deliveries += d.Deliveries
		}
		if all.Messages > 0 {
			dropped = append(dropped, all)
		}
	}
	if err == nil {
		err = l.forgetTopics(ctx, used, before.UnixMicro())
	}
	return dropped, fail("clear", err)
}

// A position has the lowest cursors of a topic: waiting is the lowest of its hubs and of the
// requests to subscribe, and taken the lowest of its subscriptions.
type position struct {
	id             int64
	uri            string
	waiting, taken int64
}

func (l *Log) passed(ctx context.Context) (topics []*position, err error) {
	err = l.db.Snapshot(ctx, func(c rowdb.Conn) error {
		byID := map[int64]*position{}
		err := c.Query(ctx, `SELECT id, uri, coalesce((SELECT min(taken) FROM rs_hub_cursor q WHERE q.log_id = t.log_id AND q.topic = t.uri), number)
			FROM rs_topic t WHERE log_id = $1`, func(r rowdb.Row) error {
			t := &position{id: r.Int(0), uri: rowdb.String(r, 1), waiting: r.Int(2), taken: math.MaxInt64}
			topics, byID[t.id] = append(topics, t), t
			return nil
		}, l.id)
		if err != nil {
			return err
		}
		// An index orders the subscriptions that only wait for a notification
		// by taken. Those with a claim or a retry are few.
		err = c.QueryEach(ctx, "SELECT taken FROM rs_progress WHERE topic_id = $1 AND due IS NULL ORDER BY taken LIMIT 1", len(topics),
			func(i int) []any { return []any{topics[i].id} },
			func(i int, r rowdb.Row) error { topics[i].taken = r.Int(0); return nil })
		if err != nil {
			return err
		}
		err = c.Query(ctx, "SELECT topic_id, min(newest) FROM rs_request WHERE log_id = $1 AND ends = 0 AND newest IS NOT NULL GROUP BY topic_id",
			func(r rowdb.Row) error {
				if t := byID[r.Int(0)]; t != nil {
					t.waiting = min(t.waiting, r.Int(1))
				}
				return nil
			}, l.id)
		if err != nil {
			return err
		}
		return c.Query(ctx, "SELECT topic_id, taken FROM rs_progress WHERE log_id = $1 AND due > $2",
			func(r rowdb.Row) error {
				if t := byID[r.Int(0)]; t != nil {
					t.taken = min(t.taken, r.Int(1))
				}
				return nil
			}, l.id, anyDue)
	})
	return topics, err
}

// clearTopic deletes a batch of the oldest notifications of a topic: those that all
// cursors have passed and those appended before the time before, but never the newest. It
// returns how many it deleted, and counts the subscriptions that had not taken them.
func (l *Log) clearTopic(ctx context.Context, t *position, before int64) (n int, d pushlog.Dropped, err error) {
	err = l.write(ctx, func(c rowdb.Conn) (bool, error) {
		var first, last int64
		n, d = 0, pushlog.Dropped{}
		keep := false
		err := c.Query(ctx, `SELECT number, made FROM rs_notification WHERE topic_id = $1
			AND number < (SELECT number FROM rs_topic WHERE id = $2) ORDER BY number LIMIT $3`, func(r rowdb.Row) error {
			// Keep all notifications after the first one that is kept.
			if keep = keep || r.Int(0) > min(t.waiting, t.taken) && r.Int(1) >= before; !keep {
				if n++; n == 1 {
					first = r.Int(0)
				}
				last = r.Int(0)
			}
			return nil
		}, t.id, t.id, clearBatch)
		if err != nil || n == 0 {
			return false, err
		}
		if last > t.taken {
			if d, err = l.untaken(ctx, c, t.id, first, last); err != nil {
				return false, err
			}
		}
		_, err = c.Exec(ctx, "DELETE FROM rs_notification WHERE topic_id = $1 AND number <= $2", t.id, last)
		return false, err
	})
	return n, d, err
}

// Expire implements [pushlog.Subscriptions]. It works in batches.
func (l *Log) Expire(ctx context.Context) error {
	err := l.write(ctx, func(c rowdb.Conn) (bool, error) {
		_, err := c.Exec(ctx, "DELETE FROM rs_request WHERE log_id = $1 AND made < "+l.later(-time.Hour), l.id)
		return false, err
	})
	for n := expiredBatch; n == expiredBatch && err == nil; {
		n, err = l.clearExpired(ctx)
	}
	return fail("expire", err)
}

// clearExpired deletes a batch of subscriptions that have expired, and returns their
// number. It skips locked rows.
func (l *Log) clearExpired(ctx context.Context) (n int, err error) {
	err = l.write(ctx, func(c rowdb.Conn) (bool, error) {
		ids, err := rowdb.All(ctx, c, rowdb.Int, "SELECT p.id FROM rs_progress p WHERE p.log_id = $1 AND p.expires <= "+l.clock+
			" ORDER BY p.expires LIMIT $2"+l.lock, l.id, expiredBatch)
		if n = len(ids); err != nil || n == 0 {
			return false, err
		}
		return false, l.remove(ctx, c, ids...)
	})
	return n, err
}

// untaken counts the subscriptions that have not taken all notifications of a topic from
// first to last, and the deliveries that they miss. The numbers have no gaps.
func (l *Log) untaken(ctx context.Context, c rowdb.Conn, topic, first, last int64) (d pushlog.Dropped, err error) {
	err = c.Query(ctx, `SELECT count(*), coalesce(max($1 - taken), 0), CAST(coalesce(sum($2 - taken), 0) AS bigint) FROM (
			SELECT CASE WHEN taken < $3 THEN $4 ELSE taken END AS taken FROM rs_progress
			WHERE topic_id = $5 AND due IS NULL AND taken < $6 AND expires > `+l.clock+`
		UNION ALL
			SELECT CASE WHEN taken < $3 THEN $4 ELSE taken END FROM rs_progress
			WHERE log_id = $7 AND due > $8 AND topic_id = $5 AND taken < $6 AND expires > `+l.clock+`) p`, func(r rowdb.Row) error {
		d.Subscriptions, d.Messages, d.Deliveries = int(r.Int(0)), int(r.Int(1)), int(r.Int(2))
		return nil
	}, last, last, first-1, first-1, topic, last, l.id, anyDue)
	return d, err
}

// noteEvery is the interval at which the use of a cursor or a topic is recorded.
const noteEvery = time.Hour

// A use is the use of a hub cursor or a topic.
type use struct {
	noted int64 // when it was last recorded to be in use
	now   bool  // it is in use
	key   []any
}

// forgetHubs forgets the cursors that have not been in use since idle.
func (l *Log) forgetHubs(ctx context.Context, used map[string][]string, idle int64) error {
	read := func(r rowdb.Row) use {
		topic, hub := r.Append(nil, 1), r.Append(nil, 2)
		return use{r.Int(0), slices.Contains(used[string(topic)], string(hub)), []any{l.id, topic, hub}}
	}
	all, err := rowdb.All(ctx, l.db, read, "SELECT used, topic, hub FROM rs_hub_cursor WHERE log_id = $1", l.id)
	if err != nil {
		return err
	}
	return l.forget(ctx, all, idle,
		"UPDATE rs_hub_cursor SET used = $1 WHERE log_id = $2 AND topic = $3 AND hub = $4",
		"DELETE FROM rs_hub_cursor WHERE log_id = $1 AND topic = $2 AND hub = $3")
}

// forgetTopics forgets the topics without subscriptions that have not been in use since
// before, with their notifications and cursors.
func (l *Log) forgetTopics(ctx context.Context, used map[string][]string, before int64) error {
	read := func(r rowdb.Row) use {
		uri := r.Append(nil, 2)
		_, now := used[string(uri)]
		u := use{r.Int(0), now, []any{l.id, uri}}
		if !now && r.Int(1) > 0 {
			u.noted = math.MaxInt64
		}
		return u
	}
	all, err := rowdb.All(ctx, l.db, read, "SELECT used, subscriptions, uri FROM rs_topic WHERE log_id = $1", l.id)
	if err != nil {
		return err
	}
	return l.forget(ctx, all, before-noteEvery.Microseconds(),
		"UPDATE rs_topic SET used = $1 WHERE log_id = $2 AND uri = $3",
		"DELETE FROM rs_notification WHERE topic_id = (SELECT id FROM rs_topic WHERE log_id = $1 AND uri = $2)",
		"DELETE FROM rs_topic WHERE log_id = $1 AND uri = $2",
		"DELETE FROM rs_hub_cursor WHERE log_id = $1 AND topic = $2")
}

// forget records the rows in use with the statement note, and deletes those that have not been
// since before with the statements remove.
func (l *Log) forget(ctx context.Context, all []use, before int64, note string, remove ...string) error {
	now := l.now().UnixMicro()
	var stay, leave []use
	for _, u := range all {
		switch {
		case u.now && u.noted <= now-noteEvery.Microseconds():
			stay = append(stay, u)
		case !u.now && u.noted < before:
			leave = append(leave, u)
		}
	}
	if len(stay)+len(leave) == 0 {
		return nil
	}
	return l.db.Write(ctx, func(c rowdb.Conn) error {
		err := c.ExecEach(ctx, note, len(stay), func(i int) []any { return append([]any{now}, stay[i].key...) })
		for _, sql := range remove {
			if err == nil {
				err = c.ExecEach(ctx, sql, len(leave), func(i int) []any { return leave[i].key })
			}
		}
		return err
	})
}
