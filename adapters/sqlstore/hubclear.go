package sqlstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// anyDue is before every time at which a subscription can be claimed again.
const anyDue = int64(math.MinInt64)

// expiredBatch is how many subscriptions are deleted in one transaction.
const expiredBatch = 1000

// Clear implements [hub.Store]. It works in batches.
func (h *hubStore) Clear(ctx context.Context, before time.Time) (dropped []hub.Dropped, err error) {
	err = h.clearRequests(ctx)
	for n := expiredBatch; n == expiredBatch && err == nil; {
		n, err = h.clearExpired(ctx)
	}
	if err == nil {
		dropped, err = h.clearMessages(ctx, before.UnixMicro())
	}
	return dropped, h.fail("clear", err)
}

// anHour before now, in SQL: how long requests stay, and messages at least.
func (h *hubStore) anHourAgo() string {
	return fmt.Sprintf("%s - %d", h.now, time.Hour.Microseconds())
}

func (h *hubStore) clearRequests(ctx context.Context) error {
	return h.write(ctx, func(c rowdb.Conn) (bool, error) {
		_, err := c.Exec(ctx, "DELETE FROM rs_request WHERE hub_id = $1 AND made < "+h.anHourAgo(), h.id)
		return false, err
	})
}

// clearExpired deletes a batch of subscriptions that have expired, and returns how
// many there were. What is locked at this moment is left for the next time.
func (h *hubStore) clearExpired(ctx context.Context) (n int, err error) {
	err = h.write(ctx, func(c rowdb.Conn) (bool, error) {
		var ids []int64
		err := c.Query(ctx, "SELECT p.id FROM rs_progress p WHERE p.hub_id = $1 AND p.expires <= "+h.now+" ORDER BY p.expires LIMIT $2"+h.lock,
			func(r rowdb.Row) error { ids = append(ids, r.Int(0)); return nil }, h.id, expiredBatch)
		if n = len(ids); err != nil || n == 0 {
			return false, err
		}
		return false, h.remove(ctx, c, ids...)
	})
	return n, err
}

func (h *hubStore) clearMessages(ctx context.Context, before int64) (dropped []hub.Dropped, err error) {
	topics := map[int64]string{}
	taken := map[int64]int64{} // by every subscription, of each topic
	err = h.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		var ids []int64
		err := c.Query(ctx, "SELECT id, uri FROM rs_hub_topic WHERE hub_id = $1",
			func(r rowdb.Row) error {
				ids = append(ids, r.Int(0))
				topics[r.Int(0)], taken[r.Int(0)] = rowdb.String(r, 1), math.MaxInt64
				return nil
			}, h.id)
		if err != nil {
			return err
		}
		// Subscriptions that wait for nothing but messages are in order;
		// of those with a claim or a retry there are few.
		err = c.QueryEach(ctx, "SELECT taken FROM rs_progress WHERE topic_id = $1 AND due IS NULL ORDER BY taken LIMIT 1", len(ids),
			func(i int) []any { return []any{ids[i]} },
			func(i int, r rowdb.Row) error { taken[ids[i]] = r.Int(0); return nil })
		if err != nil {
			return err
		}
		return c.Query(ctx, "SELECT topic_id, taken FROM rs_progress WHERE hub_id = $1 AND due > $2",
			func(r rowdb.Row) error { taken[r.Int(0)] = min(taken[r.Int(0)], r.Int(1)); return nil }, h.id, anyDue)
	})
	for id, least := range taken {
		all := hub.Dropped{Topic: topics[id]}
		for n := clearBatch; n == clearBatch && err == nil; {
			var d hub.Dropped
			if n, d, err = h.clearTopic(ctx, id, least, before); err != nil {
				break
			}
			all.Messages += d.Messages
			all.Subscriptions = max(all.Subscriptions, d.Subscriptions) // who waits for a message waits for the next ones
			all.Deliveries += d.Deliveries
		}
		if all.Messages > 0 {
			dropped = append(dropped, all)
		}
	}
	return dropped, err
}

// clearTopic deletes a batch of the oldest messages of a topic, those that are
// taken or old, and never the newest or one of the last hour. It returns how many
// there were, and who had not taken them.
func (h *hubStore) clearTopic(ctx context.Context, id, taken, before int64) (n int, d hub.Dropped, err error) {
	err = h.write(ctx, func(c rowdb.Conn) (bool, error) {
		var first, last int64
		n, d = 0, hub.Dropped{}
		keep := false
		err := c.Query(ctx, `SELECT number, published, published < `+h.anHourAgo()+` FROM rs_message WHERE topic_id = $1
			AND number < (SELECT newest FROM rs_hub_topic WHERE id = $2) ORDER BY number LIMIT $3`, func(r rowdb.Row) error {
			// What comes after one that is kept is newer.
			if keep = keep || r.Int(2) == 0 || r.Int(0) > taken && r.Int(1) >= before; !keep {
				if n++; n == 1 {
					first = r.Int(0)
				}
				last = r.Int(0)
			}
			return nil
		}, id, id, clearBatch)
		if err != nil || n == 0 {
			return false, err
		}
		if last > taken {
			if d, err = h.untaken(ctx, c, id, first, last); err != nil {
				return false, err
			}
		}
		_, err = c.Exec(ctx, "DELETE FROM rs_message WHERE topic_id = $1 AND number <= $2", id, last)
		return false, err
	})
	return n, d, err
}

// untaken returns who has not taken the messages of a topic from the first number
// to the last. Numbers of the store have no gaps.
func (h *hubStore) untaken(ctx context.Context, c rowdb.Conn, topic, first, last int64) (d hub.Dropped, err error) {
	err = c.Query(ctx, `SELECT count(*), coalesce(max($1 - taken), 0), CAST(coalesce(sum($2 - taken), 0) AS bigint) FROM (
			SELECT CASE WHEN taken < $3 THEN $4 ELSE taken END AS taken FROM rs_progress
			WHERE topic_id = $5 AND due IS NULL AND taken < $6 AND expires > `+h.now+`
		UNION ALL
			SELECT CASE WHEN taken < $3 THEN $4 ELSE taken END FROM rs_progress
			WHERE hub_id = $7 AND due > $8 AND topic_id = $5 AND taken < $6 AND expires > `+h.now+`) p`, func(r rowdb.Row) error {
		d.Subscriptions, d.Messages, d.Deliveries = int(r.Int(0)), int(r.Int(1)), int(r.Int(2))
		return nil
	}, last, last, first-1, first-1, topic, last, h.id, anyDue)
	return d, err
}
