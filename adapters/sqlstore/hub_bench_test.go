package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

const benchTopic = "https://example.org/resourcesync/articles/change/"

// subscribeAll makes n subscriptions of one topic, with the rows that Apply makes
// of them, but many at once.
func subscribeAll(t testing.TB, h *hubStore, uri string, n int) {
	t.Helper()
	ctx, expires, never := t.Context(), time.Now().Add(24*time.Hour).UnixMicro(), time.Time{}.UnixMicro()
	err := h.store.db.Write(ctx, func(c rowdb.Conn) error {
		topic, err := h.topic(ctx, c, uri, "")
		if err != nil {
			return err
		}
		ids := make([]int64, n)
		err = c.QueryEach(ctx, `INSERT INTO rs_subscription (hub_id, topic_id, digest, callback, host, client, secret, made)
			VALUES ($1, $2, $3, $4, $5, $6, $7, `+h.now+`) RETURNING id`, n,
			func(i int) []any {
				callback := fmt.Sprintf("https://subscriber-%d.example.org/callback?of=%[1]d", i)
				return []any{h.id, topic.id, digest(callback), []byte(callback), fmt.Appendf(nil, "subscriber-%d.example.org", i),
					fmt.Appendf(nil, "client %d", i), []byte("a secret of ordinary length")}
			},
			func(i int, r rowdb.Row) error { ids[i] = r.Int(0); return nil })
		if err != nil {
			return err
		}
		err = c.ExecEach(ctx, `INSERT INTO rs_progress (id, hub_id, topic_id, expires, changed, taken, failures, failing_since, last_error, retry,
				delivered, given_up, last_given_up)
			VALUES ($1, $2, $3, $4, 0, $5, 0, $6, '', $7, 0, 0, 0)`, n,
			func(i int) []any { return []any{ids[i], h.id, topic.id, expires, topic.newest, never, never} })
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, "UPDATE rs_hub_topic SET subscriptions = subscriptions + $1 WHERE id = $2", n, topic.id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if h.store.db.Dialect() == rowdb.Postgres {
		err := h.store.db.Do(context.Background(), func(c rowdb.Conn) error {
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

func publish(t testing.TB, h hub.Store, uri string, size int) int64 {
	t.Helper()
	number, err := h.Publish(context.Background(), hub.Message{
		Topic:       uri,
		ID:          fmt.Sprint(time.Now().UnixNano()),
		ContentType: "application/xml",
		Body:        make([]byte, size),
		Published:   time.Now(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return number
}

// BenchmarkHubDeliver is what a message costs the store: all of its 2,000
// subscriptions are claimed, and saved as delivered.
func BenchmarkHubDeliver(b *testing.B) {
	const n = 2000
	for _, total := range []int{n, 100_000} {
		b.Run(fmt.Sprintf("of %d", total), func(b *testing.B) {
			benchEngines(b, func(b *testing.B, e engine) {
				h := e.make(b).open(b, nil).mustHubStore(b, "hub").(*hubStore)
				subscribeAll(b, h, benchTopic, n)
				// Those of another topic have all they can have.
				subscribeAll(b, h, benchTopic+"other", total-n)
				var claiming, saving time.Duration
				for b.Loop() {
					newest := publish(b, h, benchTopic, 1000)
					started := time.Now()
					claimed, err := h.Claim(b.Context(), "owner", n)
					if err != nil || len(claimed) != n {
						b.Fatalf("%d were claimed, %v", len(claimed), err)
					}
					claiming += time.Since(started)
					progress := make([]hub.Progress, n)
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

// BenchmarkHubClaim claims 100 of 100,000 subscriptions of one topic, none of whom
// has something to take, or all.
func BenchmarkHubClaim(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		h := e.make(b).open(b, nil).mustHubStore(b, "hub").(*hubStore)
		subscribeAll(b, h, benchTopic, 100_000)
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

func BenchmarkHubPublish(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		h := e.make(b).open(b, nil).mustHubStore(b, "hub")
		for b.Loop() {
			publish(b, h, benchTopic, 10_000)
		}
	})
}

func BenchmarkHubRequest(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		h := e.make(b).open(b, nil).mustHubStore(b, "hub").(*hubStore)
		subscribeAll(b, h, benchTopic, 100_000)
		n := 0
		for b.Loop() {
			n++
			r := hub.Request{Topic: benchTopic, Callback: fmt.Sprintf("https://new.example.org/%d", n%1000), Host: "new.example.org", Client: "new", Made: time.Now()}
			err := h.Request(b.Context(), r, hub.Limits{Host: 2000, HostPending: 2000, Client: 2000, Topic: 200_000, Pending: 2000})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkOutboxAdd(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		o := e.make(b).open(b, nil).mustOutbox(b, "source")
		body := make([]byte, 10_000)
		state := topic.State{}
		for b.Loop() {
			next := topic.State{Number: state.Number + 1, Until: time.Now()}
			if err := o.Add(b.Context(), topic.Notification{Topic: benchTopic, Body: body}, state, next); err != nil {
				b.Fatal(err)
			}
			state = next
		}
	})
}
