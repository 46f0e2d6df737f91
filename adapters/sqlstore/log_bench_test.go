package sqlstore

import (
	"context"
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

const benchTopic = "https://example.org/resourcesync/articles/change/"

// subscribeAll adds n subscriptions to one topic of a log, with the same rows as Apply,
// but many at once.
func subscribeAll(t testing.TB, store *Store, name, uri string, n int) {
	t.Helper()
	l := store.mustLog(t, name)
	ctx, now, never := t.Context(), time.Now(), time.Time{}.UnixMicro()
	if state, err := l.State(ctx, uri); err != nil {
		t.Fatal(err)
	} else if state.Number == 0 {
		publish(t, l, uri, 1)
	}
	err := store.db.Write(ctx, func(c rowdb.Conn) error {
		var log, topic, newest int64
		err := c.Query(ctx, "SELECT l.id, t.id, t.number FROM rs_topic t JOIN rs_log l ON l.id = t.log_id WHERE l.name = $1 AND t.uri = $2",
			func(r rowdb.Row) error { log, topic, newest = r.Int(0), r.Int(1), r.Int(2); return nil }, name, []byte(uri))
		if err != nil {
			return err
		}
		ids := make([]int64, n)
		err = c.QueryEach(ctx, `INSERT INTO rs_subscription (log_id, topic_id, digest, callback, host, client, secret, made)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`, n,
			func(i int) []any {
				callback := fmt.Sprintf("https://subscriber-%d.example.org/callback?of=%[1]d", i)
				digest := sha256.Sum256([]byte(callback))
				return []any{log, topic, digest[:], []byte(callback), fmt.Appendf(nil, "subscriber-%d.example.org", i),
					fmt.Appendf(nil, "client %d", i), []byte("a secret of ordinary length"), now.UnixMicro()}
			},
			func(i int, r rowdb.Row) error { ids[i] = r.Int(0); return nil })
		if err != nil {
			return err
		}
		err = c.ExecEach(ctx, `INSERT INTO rs_progress (id, log_id, topic_id, expires, changed, taken, failures, failing_since, last_error, retry,
				delivered, given_up, last_given_up)
			VALUES ($1, $2, $3, $4, 0, $5, 0, $6, '', $7, 0, 0, 0)`, n,
			func(i int) []any {
				return []any{ids[i], log, topic, now.Add(24 * time.Hour).UnixMicro(), newest, never, never}
			})
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, "UPDATE rs_topic SET subscriptions = subscriptions + $1 WHERE id = $2", n, topic)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if store.db.Dialect() == rowdb.Postgres {
		err := store.db.Do(context.Background(), func(c rowdb.Conn) error {
			if err := c.Script(context.Background(), "VACUUM ANALYZE rs_progress"); err != nil {
				return err
			}
			return c.Script(context.Background(), "VACUUM ANALYZE rs_subscription")
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// publish appends a notification and returns its number.
func publish(t testing.TB, l pushlog.Log, uri string, size int) int64 {
	t.Helper()
	before, err := l.State(context.Background(), uri)
	if err != nil {
		t.Fatal(err)
	}
	next := pushlog.State{Number: before.Number + 1, Until: time.Now()}
	if err := l.Append(context.Background(), pushlog.Notification{Topic: uri, Body: make([]byte, size)}, before, next); err != nil {
		t.Fatal(err)
	}
	return next.Number
}

// BenchmarkHubDeliver measures the cost of a message for the store: all of its 2,000
// subscriptions are claimed, and saved as delivered.
func BenchmarkHubDeliver(b *testing.B) {
	const n = 2000
	for _, total := range []int{n, 100_000} {
		b.Run(fmt.Sprintf("of %d", total), func(b *testing.B) {
			benchEngines(b, func(b *testing.B, e engine) {
				store := e.make(b).open(b, nil)
				h := store.mustLog(b, "hub")
				subscribeAll(b, store, "hub", benchTopic, n)
				// The subscriptions of another topic have all messages.
				subscribeAll(b, store, "hub", benchTopic+"other", total-n)
				var claiming, saving time.Duration
				for b.Loop() {
					newest := publish(b, h, benchTopic, 1000)
					started := time.Now()
					claimed, err := h.Claim(b.Context(), "owner", n)
					if err != nil || len(claimed) != n {
						b.Fatalf("%d were claimed, %v", len(claimed), err)
					}
					claiming += time.Since(started)
					progress := make([]pushlog.Progress, n)
					for i, s := range claimed {
						progress[i] = s.Progress
						progress[i].Taken, progress[i].Release = newest, true
						progress[i].Delivered++
					}
					started = time.Now()
					lost, err := h.Save(b.Context(), "owner", progress)
					if err != nil || len(lost) != 0 {
						b.Fatalf("%d are lost, %v", len(lost), err)
					}
					saving += time.Since(started)
				}
				b.ReportMetric(claiming.Seconds()*1000/float64(b.N), "ms/claim")
				b.ReportMetric(saving.Seconds()*1000/float64(b.N), "ms/save")
			})
		})
	}
}

// BenchmarkHubClaim claims 100 of 100,000 subscriptions to one topic. None of them has
// a message to get, or all have.
func BenchmarkHubClaim(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		store := e.make(b).open(b, nil)
		h := store.mustLog(b, "hub")
		subscribeAll(b, store, "hub", benchTopic, 100_000)
		claim := func(b *testing.B, want int) {
			for b.Loop() {
				claimed, err := h.Claim(b.Context(), "owner", 100)
				if err != nil || len(claimed) != want {
					b.Fatalf("%d were claimed, %v", len(claimed), err)
				}
			}
		}
		b.Run("idle", func(b *testing.B) { claim(b, 0) })
		publish(b, h, benchTopic, 1000)
		b.Run("pending", func(b *testing.B) { claim(b, 100) })
	})
}

func BenchmarkHubRequest(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		store := e.make(b).open(b, nil)
		h := store.mustLog(b, "hub")
		subscribeAll(b, store, "hub", benchTopic, 100_000)
		n := 0
		for b.Loop() {
			n++
			r := pushlog.Request{Topic: benchTopic, Callback: fmt.Sprintf("https://new.example.org/%d", n%1000), Host: "new.example.org", Client: "new", Made: time.Now()}
			err := h.Request(b.Context(), r, pushlog.Limits{Host: 2000, HostPending: 2000, Client: 2000, Topic: 200_000, Pending: 2000})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLogAppend(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		l := e.make(b).open(b, nil).mustLog(b, "source")
		for b.Loop() {
			publish(b, l, benchTopic, 10_000)
		}
	})
}
