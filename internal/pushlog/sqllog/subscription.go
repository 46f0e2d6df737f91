package sqllog

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// subscriptionColumns are the columns that readSubscription reads, of a subscription s, its
// progress p and its topic t.
const subscriptionColumns = `s.id, t.uri, s.callback, s.host, s.secret, s.made, p.expires,
	p.taken, p.failures, p.failing_since, p.last_error, p.retry, p.delivered, p.given_up, p.last_given_up, p.refused_since, p.last_delivered`

const subscriptionTables = `rs_progress p JOIN rs_subscription s ON s.id = p.id JOIN rs_topic t ON t.id = p.topic_id`

func readSubscription(r rowdb.Row) pushlog.Subscription {
	return pushlog.Subscription{
		ID:       r.Int(0),
		Topic:    rowdb.String(r, 1),
		Callback: rowdb.String(r, 2),
		Host:     rowdb.String(r, 3),
		Secret:   bytesAt(r, 4),
		Made:     moment(r.Int(5)),
		Expires:  moment(r.Int(6)),
		Progress: pushlog.Progress{
			ID:            r.Int(0),
			Cursor:        readCursor(r, 7),
			Delivered:     r.Int(12),
			GivenUp:       r.Int(13),
			LastGivenUp:   r.Int(14),
			RefusedSince:  moment(r.Int(15)),
			LastDelivered: moment(r.Int(16)),
		},
	}
}

const subscriptionPage = 2000

// Subscriptions implements [pushlog.Subscriptions]. It reads them in pages, and may
// or may not yield those that are added meanwhile.
func (l *Log) Subscriptions(ctx context.Context) iter.Seq2[pushlog.Subscription, error] {
	return func(yield func(pushlog.Subscription, error) bool) {
		for last := int64(0); ; {
			var page []pushlog.Subscription
			err := l.db.Snapshot(ctx, func(c rowdb.Conn) (err error) {
				page, err = rowdb.All(ctx, c, readSubscription, "SELECT "+subscriptionColumns+" FROM "+subscriptionTables+
					" WHERE +p.log_id = $1 AND p.id > $2 ORDER BY p.id LIMIT $3", l.id, last, subscriptionPage) // + avoids an index on log_id
				return err
			})
			if err != nil {
				yield(pushlog.Subscription{}, fail("subscriptions", err))
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
				last = s.ID
			}
			if len(page) < subscriptionPage {
				return
			}
		}
	}
}

// A candidate is a subscription that can be claimed, and the time since when it waits.
type candidate struct {
	pushlog.Subscription
	since int64
}

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
		slices.SortFunc(found, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.ID, b.ID)) })
		found = found[:min(len(found), max)]
		for _, f := range found {
			claimed = append(claimed, f.Subscription)
		}
		_, err = c.Exec(ctx, "UPDATE rs_progress SET due = "+l.later(pushlog.ClaimTime)+", changed = 0, owner = $1 WHERE id"+l.among, owner, l.list(found))
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
		list = strconv.AppendInt(list, f.ID, 10)
	}
	return string(append(list, l.ids[1]))
}

// candidates returns subscriptions that can be claimed, among them the max that have waited
// longest.
func (l *Log) candidates(ctx context.Context, c rowdb.Conn, max int) (found []candidate, err error) {
	// since is when the notification that a subscription needs was appended.
	const since = "(SELECT made FROM rs_notification n WHERE n.topic_id = p.topic_id AND n.number > p.taken ORDER BY n.number LIMIT 1)"
	each := func(r rowdb.Row) error {
		found = append(found, candidate{readSubscription(r), r.Int(17)})
		return nil
	}
	err = c.Query(ctx, "SELECT "+subscriptionColumns+", CASE WHEN p.retry > "+since+" THEN p.retry ELSE "+since+` END
		FROM `+subscriptionTables+`
		WHERE p.log_id = $1 AND p.due IS NOT NULL AND p.due <= `+l.clock+` AND p.taken < t.number AND p.expires > `+l.clock+`
		ORDER BY p.due LIMIT $2`+l.lock, each, l.id, max)
	if err != nil {
		return nil, err
	}
	// A Source can have thousands of topics, most of them without anything to deliver.
	type newest struct{ topic, number int64 }
	topics, err := rowdb.All(ctx, c, func(r rowdb.Row) newest { return newest{r.Int(0), r.Int(1)} },
		`SELECT id, number FROM rs_topic t WHERE log_id = $1
		AND EXISTS (SELECT 1 FROM rs_progress p WHERE p.topic_id = t.id AND p.due IS NULL AND p.taken < t.number)`, l.id)
	if err != nil {
		return nil, err
	}
	err = c.QueryEach(ctx, "SELECT "+subscriptionColumns+", "+since+" FROM "+subscriptionTables+`
		WHERE p.topic_id = $1 AND p.due IS NULL AND p.taken < $2 AND p.expires > `+l.clock+` ORDER BY p.taken LIMIT $3`+l.lock, len(topics),
		func(i int) []any { return []any{topics[i].topic, topics[i].number, max} },
		func(_ int, r rowdb.Row) error { return each(r) })
	return found, err
}

// Save implements [pushlog.Subscriptions]. It locks rows in the order of their ids, so that
// two calls with some of the same rows do not deadlock.
func (l *Log) Save(ctx context.Context, owner string, progress []pushlog.Progress) (lost []int64, err error) {
	progress = slices.SortedFunc(slices.Values(progress), func(a, b pushlog.Progress) int { return cmp.Compare(a.ID, b.ID) })
	err = l.write(ctx, func(c rowdb.Conn) (changed bool, err error) {
		// 0: owner has no claim; 1: it has one; 2: it has one, and a request has changed
		// the subscription.
		claims := make([]int64, len(progress))
		// + 0 keeps PostgreSQL from using an index on log_id, with any statistics.
		err = c.QueryEach(ctx, "SELECT 1 + changed FROM rs_progress WHERE id = $1 AND log_id + 0 = $2 AND owner = $3"+l.forUpdate, len(progress),
			func(i int) []any { return []any{progress[i].ID, l.id, owner} },
			func(i int, r rowdb.Row) error { claims[i] = r.Int(0); return nil })
		if err != nil {
			return false, err
		}
		lost = nil
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
			return false, err
		}
		return changed, c.ExecEach(ctx, `UPDATE rs_progress SET taken = $1, failures = $2, failing_since = $3, last_error = $4, retry = $5,
				delivered = $6, given_up = $7, last_given_up = $8, refused_since = $9, last_delivered = $10, changed = 0,
				owner = CASE WHEN $11 = 1 THEN NULL ELSE owner END, due = `+l.dueAfterSave("$5", "$11 = 1")+` WHERE id = $12`, len(held),
			func(i int) []any {
				p := &held[i]
				return []any{p.Taken, p.Failures, p.FailingSince.UnixMicro(), validText(p.LastError), p.Retry.UnixMicro(),
					p.Delivered, p.GivenUp, p.LastGivenUp, p.RefusedSince.UnixMicro(), p.LastDelivered.UnixMicro(), number(p.Release), p.ID}
			})
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
func (l *Log) dueAfterSave(retry, free string) string {
	return "CASE WHEN " + free + " THEN nullif(" + retry + ", " + zeroTime + ") WHEN " + retry + " > " + l.later(pushlog.ClaimTime) +
		" THEN " + retry + " ELSE " + l.later(pushlog.ClaimTime) + " END"
}
