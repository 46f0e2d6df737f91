package sqlstore

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic"
)

// outboxLock is the number of the lock of who leads the first outbox; those of
// the others follow downwards.
const outboxLock = -2

// An outbox is a [topic.Outbox] in the store.
type outbox struct {
	store *Store
	id    int64
}

// Outbox returns the outbox with that name, and makes it if there is none: one for
// each Source that has topics. [Store.Run] must be running in this process for
// those who watch it.
func (s *Store) Outbox(ctx context.Context, name string) (topic.Outbox, error) {
	id, err := s.named(ctx, name, "SELECT id FROM rs_outbox WHERE name = $1",
		"INSERT INTO rs_outbox (name) VALUES ($1) ON CONFLICT (name) DO NOTHING")
	if err != nil {
		return nil, fmt.Errorf("sqlstore: outbox %q: %w", name, err)
	}
	return &outbox{s, id}, nil
}

// named returns the id of a row with that name, and makes one if there is none.
func (s *Store) named(ctx context.Context, name, find, insert string) (id int64, err error) {
	query := func(c rowdb.Conn) error {
		return c.Query(ctx, find, func(r rowdb.Row) error { id = r.Int(0); return nil }, name)
	}
	if err := s.db.Do(ctx, query); err != nil || id != 0 {
		return id, err
	}
	err = s.db.Write(ctx, func(c rowdb.Conn) error {
		if _, err := c.Exec(ctx, insert, name); err != nil {
			return err
		}
		return query(c)
	})
	return id, err
}

func (o *outbox) fail(what string, err error) error {
	if err == nil || err == topic.ErrMoved {
		return err
	}
	return fmt.Errorf("sqlstore: outbox: %s: %w", what, err)
}

// A topicRow is a row of rs_topic.
type topicRow struct {
	id int64
	topic.State
}

// find returns the row of a topic, nil if it has not begun.
func (o *outbox) find(ctx context.Context, c rowdb.Conn, uri, lock string) (t *topicRow, err error) {
	err = c.Query(ctx, "SELECT id, number, until_ns, documents FROM rs_topic WHERE outbox_id = $1 AND uri = $2"+lock, func(r rowdb.Row) error {
		t = &topicRow{id: r.Int(0), State: topic.State{Number: r.Int(1), Until: nanosAt(r, 2), Documents: rowdb.String(r, 3)}}
		return nil
	}, o.id, []byte(uri))
	return t, err
}

// State implements [topic.Outbox].
func (o *outbox) State(ctx context.Context, uri string) (state topic.State, err error) {
	err = o.store.db.Do(ctx, func(c rowdb.Conn) error {
		t, err := o.find(ctx, c, uri, "")
		if t != nil {
			state = t.State
		}
		return err
	})
	return state, o.fail("state", err)
}

// insertTopic makes the row of a topic unless there is one.
func (o *outbox) insertTopic(ctx context.Context, c rowdb.Conn, uri string, state topic.State) error {
	until, err := nanos(state.Until)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `INSERT INTO rs_topic (outbox_id, uri, number, until_ns, documents, used) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (outbox_id, uri) DO NOTHING`, o.id, []byte(uri), state.Number, until, []byte(state.Documents), o.store.now().UnixMicro())
	return err
}

// Begin implements [topic.Outbox].
func (o *outbox) Begin(ctx context.Context, uri string, first topic.State) (state topic.State, err error) {
	err = o.store.db.Write(ctx, func(c rowdb.Conn) error {
		if err := o.insertTopic(ctx, c, uri, first); err != nil {
			return err
		}
		t, err := o.find(ctx, c, uri, "")
		if err == nil {
			state = t.State
		}
		return err
	})
	return state, o.fail("begin", err)
}

// Add implements [topic.Outbox]. From, Until and those of states must be between
// the years 1678 and 2262, or zero.
func (o *outbox) Add(ctx context.Context, n topic.Notification, before, next topic.State) error {
	if err := topic.CheckAdd(before, next); err != nil {
		return err
	}
	from, err := nanos(n.From)
	if err != nil {
		return err
	}
	until, err := nanos(n.Until)
	if err != nil {
		return err
	}
	nextUntil, err := nanos(next.Until)
	if err != nil {
		return err
	}
	err = o.store.db.Write(ctx, func(c rowdb.Conn) error {
		if before.Equal(topic.State{}) {
			if err := o.insertTopic(ctx, c, n.Topic, before); err != nil {
				return err
			}
		}
		t, err := o.find(ctx, c, n.Topic, o.store.forUpdate())
		if err != nil {
			return err
		}
		if t == nil || !t.State.Equal(before) {
			return topic.ErrMoved
		}
		_, err = c.Exec(ctx, `INSERT INTO rs_notification (topic_id, number, made, from_ns, until_ns, capability_list, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			t.id, next.Number, o.store.now().UnixMicro(), from, until, []byte(n.CapabilityList), notNil(n.Body))
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, "UPDATE rs_topic SET number = $1, until_ns = $2, documents = $3 WHERE id = $4",
			next.Number, nextUntil, []byte(next.Documents), t.id)
		if err != nil {
			return err
		}
		return c.Notify(ctx)
	})
	if err == nil {
		o.store.bell.Ring()
	}
	return o.fail("add", err)
}

// Notifications implements [topic.Outbox].
func (o *outbox) Notifications(ctx context.Context, uri string, after int64, max int) (found []topic.Notification, err error) {
	err = o.store.db.Snapshot(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, `SELECT n.number, n.from_ns, n.until_ns, n.capability_list, n.body
			FROM rs_notification n
			WHERE n.topic_id = (SELECT id FROM rs_topic WHERE outbox_id = $1 AND uri = $2) AND n.number > $3 ORDER BY n.number LIMIT $4`, func(r rowdb.Row) error {
			found = append(found, topic.Notification{
				Topic:          uri,
				Number:         r.Int(0),
				From:           nanosAt(r, 1),
				Until:          nanosAt(r, 2),
				CapabilityList: rowdb.String(r, 3),
				Body:           r.Append(nil, 4),
			})
			return nil
		}, o.id, []byte(uri), after, max)
	})
	return found, o.fail("notifications", err)
}

// Lead implements [topic.Outbox].
func (o *outbox) Lead(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
	return o.store.db.TryLock(ctx, int32(outboxLock-o.id), f)
}

// Watch implements [topic.Outbox].
func (o *outbox) Watch(ctx context.Context, wake func()) error {
	return o.store.bell.Listen(ctx, wake)
}

// forUpdate is what makes a query lock the rows that it returns until its
// transaction ends. In SQLite only one transaction writes.
func (s *Store) forUpdate() string {
	if s.db.Dialect() == rowdb.Postgres {
		return " FOR UPDATE"
	}
	return ""
}

// nanos returns t as it is stored, with all of its digits: nil for the zero time.
func nanos(t time.Time) (any, error) {
	switch {
	case t.IsZero():
		return nil, nil
	case t.Before(time.Unix(0, math.MinInt64)) || t.After(time.Unix(0, math.MaxInt64)):
		return nil, fmt.Errorf("sqlstore: the time %v is not between the years 1678 and 2262", t)
	}
	return t.UnixNano(), nil
}

func nanosAt(r rowdb.Row, column int) time.Time {
	if r.Null(column) {
		return time.Time{}
	}
	return time.Unix(0, r.Int(column)).UTC()
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// legible returns s without what PostgreSQL does not take for text.
func legible(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}
