package sqlstore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// A hubStore is a [hub.Store] in the store. Secrets of subscriptions are kept as
// they are: signing needs them.
type hubStore struct {
	store *Store
	id    int64

	// What is said in different ways in SQL: the time of day by the database's
	// clock; what makes a query lock the rows p, but for those that others have
	// locked; that something is among the ids of an argument, and how those are
	// written.
	now, lock, among, ids string
}

// HubStore returns the store of the hub with that name, and makes it if there is
// none: one for each hub. [Store.Run] must be running in this process for those
// who watch it.
func (s *Store) HubStore(ctx context.Context, name string) (hub.Store, error) {
	id, err := s.named(ctx, name, "SELECT id FROM rs_hub WHERE name = $1",
		"INSERT INTO rs_hub (name, requests) VALUES ($1, 0) ON CONFLICT (name) DO NOTHING")
	if err != nil {
		return nil, fmt.Errorf("sqlstore: hub %q: %w", name, err)
	}
	h := &hubStore{store: s, id: id}
	switch s.db.Dialect() {
	case rowdb.Postgres:
		h.now = "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)"
		h.lock = " FOR UPDATE OF p SKIP LOCKED"
		h.among, h.ids = " = ANY (CAST(%s AS bigint[]))", "{}"
	case rowdb.SQLite:
		h.now = "CAST(unixepoch('subsec') * 1000000 AS bigint)"
		h.among, h.ids = " IN (SELECT value FROM json_each(%s))", "[]"
	}
	return h, nil
}

func (h *hubStore) fail(what string, err error) error {
	var limit *hub.LimitError
	if err == nil || err == hub.ErrStale || errors.As(err, &limit) {
		return err
	}
	return fmt.Errorf("sqlstore: hub: %s: %w", what, err)
}

// write runs f in a transaction. If f reports news, who watches is told.
func (h *hubStore) write(ctx context.Context, f func(c rowdb.Conn) (news bool, err error)) error {
	news := false
	err := h.store.db.Write(ctx, func(c rowdb.Conn) (err error) {
		if news, err = f(c); err != nil || !news {
			return err
		}
		return c.Notify(ctx)
	})
	if err == nil && news {
		h.store.bell.Ring()
	}
	return err
}

// A hubTopic is a row of rs_hub_topic.
type hubTopic struct{ id, newest int64 }

// topic returns the row of a topic, and makes it if there is none.
func (h *hubStore) topic(ctx context.Context, c rowdb.Conn, uri, lock string) (t hubTopic, err error) {
	find := func() error {
		return c.Query(ctx, "SELECT id, newest FROM rs_hub_topic WHERE hub_id = $1 AND uri = $2"+lock,
			func(r rowdb.Row) error { t = hubTopic{r.Int(0), r.Int(1)}; return nil }, h.id, []byte(uri))
	}
	if err := find(); err != nil || t.id != 0 {
		return t, err
	}
	_, err = c.Exec(ctx, "INSERT INTO rs_hub_topic (hub_id, uri, newest, subscriptions) VALUES ($1, $2, 0, 0) ON CONFLICT (hub_id, uri) DO NOTHING", h.id, []byte(uri))
	if err != nil {
		return t, err
	}
	return t, find()
}

// Publish implements [hub.Store]. Who publishes to a topic has its row until the
// message is committed, so that numbers come to light in their order.
func (h *hubStore) Publish(ctx context.Context, m hub.Message) (number int64, err error) {
	err = h.write(ctx, func(c rowdb.Conn) (bool, error) {
		t, err := h.topic(ctx, c, m.Topic, h.store.forUpdate())
		if err != nil {
			return false, err
		}
		number = 0
		err = c.Query(ctx, "SELECT number FROM rs_message WHERE topic_id = $1 AND tag = $2",
			func(r rowdb.Row) error { number = r.Int(0); return nil }, t.id, []byte(m.ID))
		if err != nil || number != 0 {
			return false, err
		}
		number = t.newest + 1
		_, err = c.Exec(ctx, `INSERT INTO rs_message (topic_id, number, tag, published, size, content_type, links, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.id, number, []byte(m.ID), m.Published.UnixMicro(), len(m.Body), []byte(m.ContentType), []byte(m.Links), notNil(m.Body))
		if err != nil {
			return false, err
		}
		_, err = c.Exec(ctx, "UPDATE rs_hub_topic SET newest = $1 WHERE id = $2", number, t.id)
		return true, err
	})
	return number, h.fail("publish", err)
}

// Messages implements [hub.Store].
func (h *hubStore) Messages(ctx context.Context, uri string, after int64, max, maxBytes int) (found []hub.Message, err error) {
	err = h.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, `WITH few AS (
				SELECT m.topic_id, m.number, m.size FROM rs_message m
				WHERE m.topic_id = (SELECT id FROM rs_hub_topic WHERE hub_id = $1 AND uri = $2) AND m.number > $3 ORDER BY m.number LIMIT $4),
			sums AS (SELECT topic_id, number, sum(size) OVER (ORDER BY number) AS total, row_number() OVER (ORDER BY number) AS place FROM few)
			SELECT m.number, m.tag, m.content_type, m.links, m.body, m.published
			FROM sums s JOIN rs_message m ON m.topic_id = s.topic_id AND m.number = s.number
			WHERE s.place = 1 OR s.total <= $5 ORDER BY s.number`, func(r rowdb.Row) error {
			found = append(found, hub.Message{
				Topic:       uri,
				Number:      r.Int(0),
				ID:          rowdb.String(r, 1),
				ContentType: rowdb.String(r, 2),
				Links:       rowdb.String(r, 3),
				Body:        r.Append(nil, 4),
				Published:   moment(r.Int(5)),
			})
			return nil
		}, h.id, []byte(uri), after, max, maxBytes)
	})
	return found, h.fail("messages", err)
}

// Watch implements [hub.Store].
func (h *hubStore) Watch(ctx context.Context, wake func()) error {
	return h.store.bell.Listen(ctx, wake)
}

// subscriptionColumns are those of a subscription s with the progress p and the
// topic t.
const subscriptionColumns = `s.id, t.uri, s.callback, s.host, s.secret, s.made, p.expires,
	p.taken, p.failures, p.failing_since, p.last_error, p.retry, p.delivered, p.given_up, p.last_given_up`

const subscriptionTables = `rs_progress p JOIN rs_subscription s ON s.id = p.id JOIN rs_hub_topic t ON t.id = p.topic_id`

func readSubscription(r rowdb.Row) hub.Subscription {
	return hub.Subscription{
		ID:       r.Int(0),
		Topic:    rowdb.String(r, 1),
		Callback: rowdb.String(r, 2),
		Host:     rowdb.String(r, 3),
		Secret:   bytesAt(r, 4),
		Made:     moment(r.Int(5)),
		Expires:  moment(r.Int(6)),
		Progress: hub.Progress{
			ID:           r.Int(0),
			Taken:        r.Int(7),
			Failures:     int(r.Int(8)),
			FailingSince: moment(r.Int(9)),
			LastError:    rowdb.String(r, 10),
			Retry:        moment(r.Int(11)),
			Delivered:    r.Int(12),
			GivenUp:      r.Int(13),
			LastGivenUp:  r.Int(14),
		},
	}
}

// subscriptionPage is how many subscriptions are read at once.
const subscriptionPage = 2000

// Subscriptions implements [hub.Store]. It reads some of them at a time; what
// changes meanwhile may be seen or not.
func (h *hubStore) Subscriptions(ctx context.Context) iter.Seq2[hub.Subscription, error] {
	return func(yield func(hub.Subscription, error) bool) {
		for last := int64(0); ; {
			var page []hub.Subscription
			err := h.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
				return c.Query(ctx, "SELECT "+subscriptionColumns+" FROM "+subscriptionTables+
					" WHERE +p.hub_id = $1 AND p.id > $2 ORDER BY p.id LIMIT $3", // +: not by an index of hubs
					func(r rowdb.Row) error { page = append(page, readSubscription(r)); return nil }, h.id, last, subscriptionPage)
			})
			if err != nil {
				yield(hub.Subscription{}, h.fail("subscriptions", err))
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

// digest is what a callback is found by: it may be longer than an index takes.
func digest(callback string) []byte {
	d := sha256.Sum256([]byte(callback))
	return d[:]
}

// bytesAt returns the bytes in a column, nil if it is NULL.
func bytesAt(r rowdb.Row, column int) []byte {
	if r.Null(column) {
		return nil
	}
	return r.Append([]byte{}, column)
}

// later is the moment d from now, in SQL.
func (h *hubStore) later(d time.Duration) string {
	return fmt.Sprintf("%s + %d", h.now, d.Microseconds())
}
