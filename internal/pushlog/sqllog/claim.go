package sqllog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A candidate is a subscription that can be claimed, and the time since when it waits.
type candidate struct{ id, since int64 }

// Claim implements [pushlog.Subscriptions]. Two kinds of subscriptions can be claimed:
// those that only wait for a notification, ordered by their cursor in the topic, and those
// whose retry or claim is over, ordered by its time. Claim reads at most max rows of each
// from an index. It reads no subscription that has taken all notifications, and skips rows
// that another process is claiming.
func (l *Log) Claim(ctx context.Context, owner string, max int) (claimed []pushlog.Subscription, err error) {
	err = l.write(ctx, func(c rowdb.Conn) (bool, error) {
		claimed = nil
		found, err := l.candidates(ctx, c, max)
		if err != nil || len(found) == 0 {
			return false, err
		}
		slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.id, b.id)) })
		found = found[:min(len(found), max)]
		ids := l.list(found)
		_, err = c.Exec(ctx, "UPDATE rs_progress SET due = "+l.later(pushlog.ClaimTime)+", changed = 0, owner = $1 WHERE id"+fmt.Sprintf(l.among, "$2"), owner, ids)
		if err != nil {
			return false, err
		}
		byID := make(map[int64]pushlog.Subscription, len(found))
		err = c.Query(ctx, "SELECT "+subscriptionColumns+" FROM "+subscriptionTables+" WHERE p.id"+fmt.Sprintf(l.among, "$1"),
			func(r rowdb.Row) error { s := readSubscription(r); byID[s.ID] = s; return nil }, ids)
		for _, f := range found {
			claimed = append(claimed, byID[f.id])
		}
		return false, err
	})
	if err != nil {
		return nil, fail("claim", err)
	}
	return claimed, nil
}

// list returns the ids of candidates as an argument for l.among.
func (l *Log) list(found []candidate) string {
	list := []byte(l.ids[:1])
	for i, f := range found {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, f.id, 10)
	}
	return string(append(list, l.ids[1]))
}

// candidates returns subscriptions that can be claimed, among them the max that have waited
// longest.
func (l *Log) candidates(ctx context.Context, c rowdb.Conn, max int) (found []candidate, err error) {
	// since is when the notification that a subscription needs was appended.
	const since = "(SELECT made FROM rs_notification n WHERE n.topic_id = p.topic_id AND n.number > p.taken ORDER BY n.number LIMIT 1)"
	each := func(r rowdb.Row) error {
		found = append(found, candidate{r.Int(0), r.Int(1)})
		return nil
	}
	err = c.Query(ctx, `SELECT p.id, CASE WHEN p.retry > `+since+` THEN p.retry ELSE `+since+` END
		FROM rs_progress p JOIN rs_topic t ON t.id = p.topic_id
		WHERE p.log_id = $1 AND p.due IS NOT NULL AND p.due <= `+l.clock+` AND p.taken < t.number AND p.expires > `+l.clock+`
		ORDER BY p.due LIMIT $2`+l.lock, each, l.id, max)
	if err != nil {
		return nil, err
	}
	type newest struct{ topic, number int64 }
	var topics []newest
	err = c.Query(ctx, "SELECT id, number FROM rs_topic WHERE log_id = $1",
		func(r rowdb.Row) error { topics = append(topics, newest{r.Int(0), r.Int(1)}); return nil }, l.id)
	if err != nil {
		return nil, err
	}
	err = c.QueryEach(ctx, `SELECT p.id, `+since+` FROM rs_progress p
		WHERE p.topic_id = $1 AND p.due IS NULL AND p.taken < $2 AND p.expires > `+l.clock+` ORDER BY p.taken LIMIT $3`+l.lock, len(topics),
		func(i int) []any { return []any{topics[i].topic, topics[i].number, max} },
		func(_ int, r rowdb.Row) error { return each(r) })
	return found, err
}

// Save implements [pushlog.Subscriptions].
func (l *Log) Save(ctx context.Context, owner string, progress []pushlog.Progress) (lost []int64, err error) {
	if len(progress) == 0 {
		return nil, nil
	}
	err = l.write(ctx, func(c rowdb.Conn) (changed bool, err error) {
		if l.db.Dialect() == rowdb.Postgres {
			lost, changed, err = l.saveAll(ctx, c, owner, progress)
		} else {
			lost, changed, err = l.saveEach(ctx, c, owner, progress)
		}
		return changed, err
	})
	if err != nil {
		return nil, fail("save", err)
	}
	return lost, nil
}

// zeroTime is the zero time, in microseconds.
const zeroTime = "-62135596800000000"

// dueAfterSave returns the SQL expression for the new value of due when progress is saved.
// A subscription for which free is true can be claimed at its retry, or at once if it has
// none. The claims of others are renewed.
func (l *Log) dueAfterSave(retry string, free string) string {
	return "CASE WHEN " + free + " THEN nullif(" + retry + ", " + zeroTime + ") WHEN " + retry + " > " + l.later(pushlog.ClaimTime) +
		" THEN " + retry + " ELSE " + l.later(pushlog.ClaimTime) + " END"
}

// saveEach saves with one statement for each subscription.
func (l *Log) saveEach(ctx context.Context, c rowdb.Conn, owner string, progress []pushlog.Progress) (lost []int64, changed bool, err error) {
	// 0: owner has no claim; 1: it has one; 2: it has one, and a request has changed
	// the subscription.
	claims := make([]int64, len(progress))
	err = c.QueryEach(ctx, "SELECT 1 + changed FROM rs_progress WHERE id = $1 AND log_id = $2 AND owner = $3", len(progress),
		func(i int) []any { return []any{progress[i].ID, l.id, owner} },
		func(i int, r rowdb.Row) error { claims[i] = r.Int(0); return nil })
	if err != nil {
		return nil, false, err
	}
	var held []pushlog.Progress
	var ended []int64
	for i, p := range progress {
		switch {
		case claims[i] == 0:
			lost = append(lost, p.ID)
		case claims[i] == 2:
			lost = append(lost, p.ID)
			p.Release, changed = true, true
			held = append(held, p)
		case p.End:
			ended = append(ended, p.ID)
		default:
			held = append(held, p)
		}
	}
	if err := l.remove(ctx, c, ended...); err != nil {
		return nil, false, err
	}
	return lost, changed, c.ExecEach(ctx, `UPDATE rs_progress SET taken = $1, failures = $2, failing_since = $3, last_error = $4, retry = $5,
		delivered = $6, given_up = $7, last_given_up = $8, changed = 0,
		owner = CASE WHEN $9 = 1 THEN NULL ELSE owner END, due = `+l.dueAfterSave("$5", "$9 = 1")+` WHERE id = $10`, len(held),
		func(i int) []any {
			p := &held[i]
			return []any{p.Taken, p.Failures, p.FailingSince.UnixMicro(), legible(p.LastError), p.Retry.UnixMicro(),
				p.Delivered, p.GivenUp, p.LastGivenUp, number(p.Release), p.ID}
		})
}

// saveAll saves with one statement. It locks rows in the order of their ids, so that
// two calls with some of the same rows do not deadlock. The lateral join makes
// PostgreSQL find each row by its id, whatever its statistics about owners are.
func (l *Log) saveAll(ctx context.Context, c rowdb.Conn, owner string, progress []pushlog.Progress) (lost []int64, changed bool, err error) {
	columns := make([]array, 10)
	for i := range progress {
		p := &progress[i]
		for k, v := range []int64{p.ID, p.Taken, int64(p.Failures), p.FailingSince.UnixMicro(), p.Retry.UnixMicro(),
			p.Delivered, p.GivenUp, p.LastGivenUp, int64(number(p.Release))} {
			columns[k].int(v)
		}
		columns[9].text(legible(p.LastError))
	}
	args := []any{l.id, owner}
	for i := range columns {
		args = append(args, columns[i].literal())
	}
	held := map[int64]bool{} // by id: whether a request has changed the subscription
	err = c.Query(ctx, `WITH x AS (
			SELECT * FROM unnest(CAST($3 AS bigint[]), CAST($4 AS bigint[]), CAST($5 AS bigint[]), CAST($6 AS bigint[]), CAST($7 AS bigint[]),
				CAST($8 AS bigint[]), CAST($9 AS bigint[]), CAST($10 AS bigint[]), CAST($11 AS bigint[]), CAST($12 AS text[]))
				AS x (id, taken, failures, failing_since, retry, delivered, given_up, last_given_up, release, last_error)),
		held AS MATERIALIZED (SELECT x.*, p.changed FROM (SELECT * FROM x ORDER BY id) x CROSS JOIN LATERAL
			(SELECT p.changed FROM rs_progress p WHERE p.id = x.id AND p.log_id = $1 AND p.owner = $2 FOR UPDATE) p),
		saved AS (UPDATE rs_progress p SET taken = held.taken, failures = held.failures, failing_since = held.failing_since,
			last_error = held.last_error, retry = held.retry, delivered = held.delivered, given_up = held.given_up,
			last_given_up = held.last_given_up, changed = 0,
			owner = CASE WHEN held.release = 1 OR held.changed = 1 THEN NULL ELSE p.owner END,
			due = `+l.dueAfterSave("held.retry", "held.release = 1 OR held.changed = 1")+`
			FROM held WHERE p.id = held.id)
		SELECT id, changed FROM held`, func(r rowdb.Row) error { held[r.Int(0)] = r.Int(1) == 1; return nil }, args...)
	if err != nil {
		return nil, false, err
	}
	var ended []int64
	for i := range progress {
		free, found := held[progress[i].ID]
		switch {
		case !found || free:
			lost = append(lost, progress[i].ID)
		case progress[i].End:
			ended = append(ended, progress[i].ID)
		}
		changed = changed || free
	}
	return lost, changed, l.remove(ctx, c, ended...)
}

// An array is the text of a PostgreSQL array.
type array []byte

func (a *array) int(v int64) { *a = strconv.AppendInt(append(*a, ','), v, 10) }

func (a *array) text(s string) {
	*a = append(*a, ",\""...)
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			*a = append(*a, '\\')
		}
		*a = append(*a, s[i])
	}
	*a = append(*a, '"')
}

// literal returns the array, which must have an element.
func (a array) literal() string { return "{" + string(a[1:]) + "}" }
