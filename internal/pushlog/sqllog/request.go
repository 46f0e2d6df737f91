package sqllog

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Request implements [pushlog.Subscriptions]. Its transaction locks the row of the log, so
// that requests of a log are stored one at a time and limits are exact.
func (l *Log) Request(ctx context.Context, r pushlog.Request, limits pushlog.Limits) error {
	err := l.write(ctx, func(c rowdb.Conn) (bool, error) {
		id, err := rowdb.One(ctx, c, rowdb.Int, "UPDATE rs_log SET requests = requests + 1 WHERE id = $1 RETURNING requests", l.id)
		if err != nil {
			return false, err
		}
		t, err := l.topic(ctx, c, r.Topic, "")
		if err != nil {
			return false, err
		}
		key := digest(r.Callback)
		newest, err := rowdb.One(ctx, c, rowdb.Int, `SELECT coalesce((SELECT newest FROM rs_request WHERE topic_id = $1 AND digest = $2 AND ends = 0), number)
			FROM rs_topic WHERE id = $3`, t.id, key, t.id)
		if err != nil {
			return false, err
		}
		if _, err := c.Exec(ctx, "DELETE FROM rs_request WHERE topic_id = $1 AND digest = $2", t.id, key); err != nil {
			return false, err
		}
		if err := l.checkLimits(ctx, c, t.id, r, limits); err != nil {
			return false, err
		}
		_, err = c.Exec(ctx, `INSERT INTO rs_request (log_id, id, topic_id, digest, callback, host, client, ends, secret, lease, made, newest)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
			l.id, id, t.id, key, []byte(r.Callback), []byte(r.Host), []byte(r.Client), number(r.End), r.Secret, r.Lease.Microseconds(), r.Made.UnixMicro(), newest)
		return true, err
	})
	return fail("request", err)
}

// checkLimits returns a [*pushlog.LimitError] if r would exceed limits.
func (l *Log) checkLimits(ctx context.Context, c rowdb.Conn, topic int64, r pushlog.Request, limits pushlog.Limits) error {
	if limits == (pushlog.Limits{}) {
		return nil
	}
	var pending, clientPending, hostPending, topicPending int64
	err := c.Query(ctx, `SELECT count(*), count(CASE WHEN client = $1 THEN 1 END), count(CASE WHEN host = $2 THEN 1 END),
		count(CASE WHEN topic_id = $3 THEN 1 END) FROM rs_request WHERE log_id = $4`, func(row rowdb.Row) error {
		pending, clientPending, hostPending, topicPending = row.Int(0), row.Int(1), row.Int(2), row.Int(3)
		return nil
	}, []byte(r.Client), []byte(r.Host), topic, l.id)
	if err != nil {
		return err
	}
	err = exceeded(
		count{"pending", pending, limits.Pending},
		count{"client pending", clientPending, limits.ClientPending},
		count{"host pending", hostPending, limits.HostPending})
	if err != nil || limits.Host == 0 && limits.Client == 0 && limits.Topic == 0 {
		return err
	}
	var there, ofHost, ofClient, ofTopic int64
	err = c.Query(ctx, `SELECT
		(SELECT count(*) FROM rs_subscription WHERE topic_id = $1 AND digest = $2),
		(SELECT count(*) FROM (SELECT 1 FROM rs_subscription WHERE log_id = $3 AND host = $4 LIMIT $5) h),
		(SELECT count(*) FROM (SELECT 1 FROM rs_subscription WHERE log_id = $6 AND client = $7 LIMIT $8) c),
		(SELECT subscriptions FROM rs_topic WHERE id = $9)`, func(row rowdb.Row) error {
		there, ofHost, ofClient, ofTopic = row.Int(0), row.Int(1), row.Int(2), row.Int(3)
		return nil
	}, topic, digest(r.Callback), l.id, []byte(r.Host), limits.Host, l.id, []byte(r.Client), limits.Client, topic)
	if err != nil || there > 0 {
		return err
	}
	return exceeded(
		count{"host", ofHost + hostPending, limits.Host},
		count{"client", ofClient + clientPending, limits.Client},
		count{"topic", ofTopic + topicPending, limits.Topic})
}

// A count is a number that has a limit.
type count struct {
	what string
	n    int64
	max  int // 0 if there is no limit
}

// exceeded returns an error if a limit leaves no room for one more.
func exceeded(counts ...count) error {
	for _, c := range counts {
		if c.max > 0 && c.n >= int64(c.max) {
			return &pushlog.LimitError{What: c.what, Max: c.max}
		}
	}
	return nil
}

// ClaimRequests implements [pushlog.Subscriptions].
func (l *Log) ClaimRequests(ctx context.Context, owner string, max int) (claimed []pushlog.Request, err error) {
	err = l.write(ctx, func(c rowdb.Conn) (bool, error) {
		claimed = nil
		// Without MATERIALIZED, PostgreSQL might run the CTEs once per row.
		return false, c.Query(ctx, `WITH ranked AS MATERIALIZED (
				SELECT id, row_number() OVER (PARTITION BY client ORDER BY id) AS rank FROM rs_request WHERE log_id = $1),
			free AS MATERIALIZED (
				SELECT p.id FROM ranked JOIN rs_request p ON p.log_id = $1 AND p.id = ranked.id
				WHERE p.due IS NULL OR p.due <= `+l.clock+` ORDER BY ranked.rank, p.id LIMIT $2`+l.lock+`)
			UPDATE rs_request SET owner = $3, due = `+l.later(pushlog.VerifyTime)+` WHERE log_id = $4 AND id IN (SELECT id FROM free)
			RETURNING id, (SELECT uri FROM rs_topic t WHERE t.id = topic_id), callback, host, client, ends, secret, lease, made`,
			func(r rowdb.Row) error {
				claimed = append(claimed, pushlog.Request{
					ID:       r.Int(0),
					Topic:    rowdb.String(r, 1),
					Callback: rowdb.String(r, 2),
					Host:     rowdb.String(r, 3),
					Client:   rowdb.String(r, 4),
					End:      r.Int(5) != 0,
					Secret:   bytesAt(r, 6),
					Lease:    time.Duration(r.Int(7)) * time.Microsecond,
					Made:     moment(r.Int(8)),
				})
				return nil
			}, l.id, max, owner, l.id)
	})
	slices.SortFunc(claimed, func(a, b pushlog.Request) int { return cmp.Compare(a.ID, b.ID) })
	return claimed, fail("claim requests", err)
}

// takeRequest removes a request that owner has claimed, and returns the number of the newest
// notification when it was made: the maximum if an older program has made it, which records none.
func (l *Log) takeRequest(ctx context.Context, c rowdb.Conn, owner string, id int64) (newest int64, err error) {
	found := false
	err = c.Query(ctx, "DELETE FROM rs_request WHERE log_id = $1 AND id = $2 AND owner = $3 RETURNING coalesce(newest, 9223372036854775807)",
		func(r rowdb.Row) error { newest, found = r.Int(0), true; return nil }, l.id, id, owner)
	if err == nil && !found {
		err = pushlog.ErrStale
	}
	return newest, err
}

// Drop implements [pushlog.Subscriptions].
func (l *Log) Drop(ctx context.Context, owner string, r pushlog.Request) error {
	err := l.write(ctx, func(c rowdb.Conn) (bool, error) {
		_, err := l.takeRequest(ctx, c, owner, r.ID)
		return false, err
	})
	return fail("drop", err)
}

// Apply implements [pushlog.Subscriptions].
func (l *Log) Apply(ctx context.Context, owner string, r pushlog.Request, expires time.Time) error {
	err := l.write(ctx, func(c rowdb.Conn) (news bool, err error) {
		newest, err := l.takeRequest(ctx, c, owner, r.ID)
		if err != nil {
			return false, err
		}
		t, err := l.topic(ctx, c, r.Topic, "")
		if err != nil {
			return false, err
		}
		id, err := rowdb.One(ctx, c, rowdb.Int, "SELECT id FROM rs_subscription WHERE topic_id = $1 AND digest = $2", t.id, digest(r.Callback))
		if err != nil {
			return false, err
		}
		if id != 0 && !r.End {
			// Renew it unless it has expired.
			n, err := c.Exec(ctx, `UPDATE rs_progress SET expires = $1, changed = CASE WHEN owner IS NULL THEN 0 ELSE 1 END,
					retry = CASE WHEN owner IS NULL THEN `+zeroTime+` ELSE retry END, due = CASE WHEN owner IS NULL THEN NULL ELSE due END
				WHERE id = $2 AND expires > `+l.clock, expires.UnixMicro(), id)
			if err == nil && n > 0 {
				_, err = c.Exec(ctx, "UPDATE rs_subscription SET secret = $1 WHERE id = $2", r.Secret, id)
				return true, err
			}
			if err != nil {
				return false, err
			}
		}
		if id != 0 {
			if err := l.remove(ctx, c, id); err != nil {
				return false, err
			}
		}
		if r.End {
			return false, nil
		}
		return false, l.insert(ctx, c, t.id, r, newest, expires)
	})
	return fail("apply", err)
}

// insert makes a subscription that begins after the notification newest.
func (l *Log) insert(ctx context.Context, c rowdb.Conn, topic int64, r pushlog.Request, newest int64, expires time.Time) error {
	id, err := rowdb.One(ctx, c, rowdb.Int, `INSERT INTO rs_subscription (log_id, topic_id, digest, callback, host, client, secret, made)
		VALUES ($1, $2, $3, $4, $5, $6, $7, `+l.clock+`) RETURNING id`,
		l.id, topic, digest(r.Callback), []byte(r.Callback), []byte(r.Host), []byte(r.Client), r.Secret)
	if err != nil {
		return err
	}
	never := time.Time{}.UnixMicro()
	_, err = c.Exec(ctx, `INSERT INTO rs_progress (id, log_id, topic_id, expires, changed, taken, failures, failing_since, last_error, retry,
			delivered, given_up, last_given_up)
		SELECT $1, log_id, id, $2, 0, CASE WHEN number < $3 THEN number ELSE $3 END, 0, $4, '', $5, 0, 0, 0 FROM rs_topic WHERE id = $6`,
		id, expires.UnixMicro(), newest, never, never, topic)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "UPDATE rs_topic SET subscriptions = subscriptions + 1 WHERE id = $1", topic)
	return err
}

// remove deletes subscriptions. It locks the rows of topics last, because Append waits for
// them.
func (l *Log) remove(ctx context.Context, c rowdb.Conn, ids ...int64) error {
	args := func(i int) []any { return []any{ids[i], l.id} }
	// + 0 keeps PostgreSQL from using an index on log_id, with any statistics.
	if err := c.ExecEach(ctx, "DELETE FROM rs_progress WHERE id = $1 AND log_id + 0 = $2", len(ids), args); err != nil {
		return err
	}
	removed := map[int64]int{}
	err := c.QueryEach(ctx, "DELETE FROM rs_subscription WHERE id = $1 AND log_id + 0 = $2 RETURNING topic_id", len(ids), args,
		func(_ int, r rowdb.Row) error { removed[r.Int(0)]++; return nil })
	if err != nil {
		return err
	}
	topics := slices.Sorted(maps.Keys(removed))
	return c.ExecEach(ctx, "UPDATE rs_topic SET subscriptions = subscriptions - $1 WHERE id = $2", len(topics),
		func(i int) []any { return []any{removed[topics[i]], topics[i]} })
}

// End implements [pushlog.Subscriptions].
func (l *Log) End(ctx context.Context, id int64) error {
	err := l.write(ctx, func(c rowdb.Conn) (bool, error) { return false, l.remove(ctx, c, id) })
	return fail("end", err)
}
