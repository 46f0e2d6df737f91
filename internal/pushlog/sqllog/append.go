package sqllog

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

type topic struct {
	id int64
	pushlog.State
}

func readTopic(r rowdb.Row) *topic {
	return &topic{id: r.Int(0), State: pushlog.State{Number: r.Int(1), Until: nanosAt(r, 2), Documents: rowdb.String(r, 3)}}
}

// find returns the row of a topic, nil if there is none.
func (l *Log) find(ctx context.Context, c rowdb.Querier, uri, lock string) (*topic, error) {
	return rowdb.One(ctx, c, readTopic,
		"SELECT id, number, until_ns, documents FROM rs_topic WHERE log_id = $1 AND uri = $2"+lock, l.id, []byte(uri))
}

// topic returns the row of a topic, and inserts it if there is none.
func (l *Log) topic(ctx context.Context, c rowdb.Conn, uri, lock string) (*topic, error) {
	if t, err := l.find(ctx, c, uri, lock); err != nil || t != nil {
		return t, err
	}
	_, err := c.Exec(ctx, `INSERT INTO rs_topic (log_id, uri, number, documents, used, subscriptions) VALUES ($1, $2, 0, $3, $4, 0)
		ON CONFLICT (log_id, uri) DO NOTHING`, l.id, []byte(uri), []byte{}, l.now().UnixMicro())
	if err != nil {
		return nil, err
	}
	return l.find(ctx, c, uri, lock)
}

// State implements [pushlog.Log].
func (l *Log) State(ctx context.Context, uri string) (pushlog.State, error) {
	t, err := l.find(ctx, l.db, uri, "")
	if err != nil || t == nil {
		return pushlog.State{}, fail("state", err)
	}
	return t.State, nil
}

// Topics implements [pushlog.Log].
func (l *Log) Topics(ctx context.Context) ([]string, error) {
	uris, err := rowdb.All(ctx, l.db, rowdb.Text, "SELECT uri FROM rs_topic WHERE log_id = $1", l.id)
	return uris, fail("topics", err)
}

func (l *Log) set(ctx context.Context, c rowdb.Conn, t *topic, state pushlog.State) error {
	until, err := nanos(state.Until)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "UPDATE rs_topic SET number = $1, until_ns = $2, documents = $3 WHERE id = $4",
		state.Number, until, []byte(state.Documents), t.id)
	t.State = state
	return err
}

// Begin implements [pushlog.Log].
func (l *Log) Begin(ctx context.Context, uri string, first pushlog.State) (state pushlog.State, err error) {
	err = l.db.Write(ctx, func(c rowdb.Conn) error {
		t, err := l.topic(ctx, c, uri, l.forUpdate)
		if err != nil {
			return err
		}
		if t.Equal(pushlog.State{}) {
			err = l.set(ctx, c, t, first)
		}
		state = t.State
		return err
	})
	return state, fail("begin", err)
}

// Append implements [pushlog.Log]. The From and Until of n, before and next must be
// between the years 1678 and 2262, or zero. The transaction holds the row of the topic until it
// is committed, so notifications become visible in the order of their numbers.
func (l *Log) Append(ctx context.Context, n pushlog.Notification, before, next pushlog.State) error {
	if err := pushlog.CheckAppend(before, next); err != nil {
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
	err = l.write(ctx, func(c rowdb.Conn) (bool, error) {
		t, err := l.topic(ctx, c, n.Topic, l.forUpdate)
		if err != nil {
			return false, err
		}
		if !t.Equal(before) {
			return false, pushlog.ErrMoved
		}
		_, err = c.Exec(ctx, `INSERT INTO rs_notification (topic_id, number, made, from_ns, until_ns, capability_list, size, body)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.id, next.Number, l.now().UnixMicro(), from, until, []byte(n.CapabilityList), len(n.Body), notNil(n.Body))
		if err != nil {
			return false, err
		}
		return true, l.set(ctx, c, t, next)
	})
	return fail("append", err)
}

// Read implements [pushlog.Log].
func (l *Log) Read(ctx context.Context, uri string, after int64, max, maxBytes int) (found []pushlog.Notification, err error) {
	read := func(r rowdb.Row) pushlog.Notification {
		return pushlog.Notification{
			Topic:          uri,
			Number:         r.Int(0),
			Made:           moment(r.Int(1)),
			From:           nanosAt(r, 2),
			Until:          nanosAt(r, 3),
			CapabilityList: rowdb.String(r, 4),
			Body:           r.Append(nil, 5),
		}
	}
	err = l.db.Snapshot(ctx, func(c rowdb.Conn) (err error) {
		found, err = rowdb.All(ctx, c, read, `WITH few AS (
				SELECT n.topic_id, n.number, n.size FROM rs_notification n
				WHERE n.topic_id = (SELECT id FROM rs_topic WHERE log_id = $1 AND uri = $2) AND n.number > $3 ORDER BY n.number LIMIT $4),
			sums AS (SELECT topic_id, number, sum(size) OVER (ORDER BY number) AS total, row_number() OVER (ORDER BY number) AS place FROM few)
			SELECT n.number, n.made, n.from_ns, n.until_ns, n.capability_list, n.body
			FROM sums s JOIN rs_notification n ON n.topic_id = s.topic_id AND n.number = s.number
			WHERE s.place = 1 OR s.total <= $5 ORDER BY s.number`, l.id, []byte(uri), after, max, maxBytes)
		return err
	})
	return found, fail("read", err)
}
