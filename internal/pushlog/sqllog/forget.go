package sqllog

import (
	"context"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// noteEvery is the interval at which the use of a cursor or a topic is recorded.
const noteEvery = time.Hour

// forgetHubs records the use of cursors, and deletes those not in use since idle.
func (l *Log) forgetHubs(ctx context.Context, used map[string][]string, idle int64) error {
	type cursor struct{ topic, hub []byte }
	var stay, leave []cursor
	now := l.now().UnixMicro()
	err := l.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT topic, hub, used FROM rs_hub_cursor WHERE log_id = $1", func(r rowdb.Row) error {
			q := cursor{r.Append(nil, 0), r.Append(nil, 1)}
			switch noted := r.Int(2); {
			case !slices.Contains(used[string(q.topic)], string(q.hub)):
				if noted < idle {
					leave = append(leave, q)
				}
			case noted <= now-noteEvery.Microseconds():
				stay = append(stay, q)
			}
			return nil
		}, l.id)
	})
	if err != nil || len(stay)+len(leave) == 0 {
		return err
	}
	return l.db.Write(ctx, func(c rowdb.Conn) error {
		err := c.ExecEach(ctx, "UPDATE rs_hub_cursor SET used = $1 WHERE log_id = $2 AND topic = $3 AND hub = $4", len(stay),
			func(i int) []any { return []any{now, l.id, stay[i].topic, stay[i].hub} })
		if err != nil {
			return err
		}
		return c.ExecEach(ctx, "DELETE FROM rs_hub_cursor WHERE log_id = $1 AND topic = $2 AND hub = $3", len(leave),
			func(i int) []any { return []any{l.id, leave[i].topic, leave[i].hub} })
	})
}

// forgetTopics records the use of topics, and deletes those not in use since before, with
// their notifications and cursors.
func (l *Log) forgetTopics(ctx context.Context, used map[string][]string, before int64) error {
	type row struct {
		id  int64
		uri []byte
	}
	var stay, leave []row
	now := l.now().UnixMicro()
	err := l.db.Do(ctx, func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT id, uri, used, subscriptions FROM rs_topic WHERE log_id = $1", func(r rowdb.Row) error {
			t := row{r.Int(0), r.Append(nil, 1)}
			_, in := used[string(t.uri)]
			switch noted := r.Int(2); {
			case !in:
				if noted+noteEvery.Microseconds() < before && r.Int(3) == 0 {
					leave = append(leave, t)
				}
			case noted <= now-noteEvery.Microseconds():
				stay = append(stay, t)
			}
			return nil
		}, l.id)
	})
	if err != nil || len(stay)+len(leave) == 0 {
		return err
	}
	return l.db.Write(ctx, func(c rowdb.Conn) error {
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
		return c.ExecEach(ctx, "DELETE FROM rs_hub_cursor WHERE log_id = $1 AND topic = $2", len(leave),
			func(i int) []any { return []any{l.id, leave[i].uri} })
	})
}
