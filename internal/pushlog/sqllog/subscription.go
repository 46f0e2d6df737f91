package sqllog

import (
	"context"
	"iter"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// subscriptionColumns are the columns that readSubscription reads, of a subscription s, its
// progress p and its topic t.
const subscriptionColumns = `s.id, t.uri, s.callback, s.host, s.secret, s.made, p.expires,
	p.taken, p.failures, p.failing_since, p.last_error, p.retry, p.delivered, p.given_up, p.last_given_up`

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
			ID:          r.Int(0),
			Cursor:      readCursor(r, 7),
			Delivered:   r.Int(12),
			GivenUp:     r.Int(13),
			LastGivenUp: r.Int(14),
		},
	}
}

// subscriptionPage is the number of subscriptions that are read at once.
const subscriptionPage = 2000

// Subscriptions implements [pushlog.Subscriptions]. It reads them in pages, and may
// or may not yield those that are added meanwhile.
func (l *Log) Subscriptions(ctx context.Context) iter.Seq2[pushlog.Subscription, error] {
	return func(yield func(pushlog.Subscription, error) bool) {
		for last := int64(0); ; {
			var page []pushlog.Subscription
			err := l.db.Snapshot(ctx, func(c rowdb.Conn) error {
				return c.Query(ctx, "SELECT "+subscriptionColumns+" FROM "+subscriptionTables+
					" WHERE +p.log_id = $1 AND p.id > $2 ORDER BY p.id LIMIT $3", // + avoids an index on log_id
					func(r rowdb.Row) error { page = append(page, readSubscription(r)); return nil }, l.id, last, subscriptionPage)
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
