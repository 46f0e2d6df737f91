package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// many are the subscriptions of the benchmarks here, all of one topic.
const many = 100_000

// BenchmarkHubStatus is what operators wait for: all subscriptions, and the status
// of a hub whose subscriptions are anywhere in 1,000 messages.
func BenchmarkHubStatus(b *testing.B) {
	const messages = 1000
	benchEngines(b, func(b *testing.B, e engine) {
		store := e.make(b).open(b, nil).mustHubStore(b, "hub").(*hubStore)
		subscribeAll(b, store, benchTopic, many)
		for range messages {
			publish(b, store, benchTopic, 10_000)
		}
		spread(b, store, messages)
		h, err := hub.New("https://example.org/websub/", store, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("Subscriptions", func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range h.Subscriptions(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != many {
					b.Fatalf("%d subscriptions", n)
				}
			}
		})
		b.Run("Status", func(b *testing.B) {
			for b.Loop() {
				s, err := h.Status(b.Context())
				if err != nil || s.Subscriptions != many || s.Waiting != many-many/messages {
					b.Fatalf("%+v, %v", s, err)
				}
			}
		})
	})
}

// spread has the subscriptions of a store taken 1 to n messages.
func spread(b *testing.B, h *hubStore, n int) {
	err := h.store.db.Write(b.Context(), func(c rowdb.Conn) error {
		_, err := c.Exec(b.Context(), "UPDATE rs_progress SET taken = 1 + id % $1 WHERE hub_id = $2", n, h.id)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHubClear clears away the messages of a minute, 60 of them, that all, or
// that not even half of the subscriptions have taken.
func BenchmarkHubClear(b *testing.B) {
	const messages = 60
	benchEngines(b, func(b *testing.B, e engine) {
		h := e.make(b).open(b, nil).mustHubStore(b, "hub").(*hubStore)
		subscribeAll(b, h, benchTopic, many)
		for _, behind := range []bool{false, true} {
			b.Run(fmt.Sprintf("behind=%v", behind), func(b *testing.B) {
				var clearing time.Duration
				for b.Loop() {
					var newest int64
					for i := range messages + 1 {
						newest = publishOld(b, h, i)
					}
					if behind {
						newest -= messages
					}
					err := h.store.db.Write(b.Context(), func(c rowdb.Conn) error {
						_, err := c.Exec(b.Context(), "UPDATE rs_progress SET taken = CAST($1 AS bigint) - CASE WHEN id % 5 < 3 AND $2 = 1 THEN 1 ELSE 0 END WHERE hub_id = $3", newest, number(behind), h.id)
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
					started := time.Now()
					dropped, err := h.Clear(context.Background(), started)
					clearing += time.Since(started)
					if err != nil || (len(dropped) > 0) != behind {
						b.Fatalf("%+v, %v", dropped, err)
					}
				}
				b.ReportMetric(clearing.Seconds()*1000/float64(b.N), "ms/clear")
			})
		}
	})
}

// publishOld publishes a message that may be cleared away.
func publishOld(b *testing.B, h hub.Store, i int) int64 {
	number, err := h.Publish(b.Context(), hub.Message{
		Topic:       benchTopic,
		ID:          fmt.Sprint(time.Now().UnixNano(), i),
		ContentType: "application/xml",
		Body:        make([]byte, 1000),
		Published:   time.Now().Add(-2 * time.Hour),
	})
	if err != nil {
		b.Fatal(err)
	}
	return number
}
