package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// many is the number of subscriptions of these benchmarks, all to one topic.
const many = 100_000

// BenchmarkHubStatus measures the time that operators wait: for all subscriptions, and
// for the status of a hub whose subscriptions are spread over 1,000 messages.
func BenchmarkHubStatus(b *testing.B) {
	const messages = 1000
	benchEngines(b, func(b *testing.B, e engine) {
		db := e.make(b).open(b, nil)
		store := db.mustLog(b, "hub")
		subscribeAll(b, db, "hub", benchTopic, many)
		var newest int64
		for range messages {
			newest = publish(b, store, benchTopic, 10_000)
		}
		spread(b, db, newest, messages)
		h, err := hub.New("https://example.org/websub/", logtest.Seal(store), nil)
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

// spread sets the subscriptions of a log to positions 0 to n-1 before its newest
// notification.
func spread(b *testing.B, store *Store, newest int64, n int) {
	err := store.db.Write(b.Context(), func(c rowdb.Conn) error {
		_, err := c.Exec(b.Context(), "UPDATE rs_progress SET taken = CAST($1 AS bigint) - id % $2", newest, n)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLogClear clears the 60 notifications of a minute, which all subscriptions
// have accepted, or less than half of them.
func BenchmarkLogClear(b *testing.B) {
	const messages = 60
	benchEngines(b, func(b *testing.B, e engine) {
		store := e.make(b).open(b, nil)
		l := store.mustLog(b, "hub")
		subscribeAll(b, store, "hub", benchTopic, many)
		for _, behind := range []bool{false, true} {
			b.Run(fmt.Sprintf("behind=%v", behind), func(b *testing.B) {
				var clearing time.Duration
				for b.Loop() {
					var newest int64
					for range messages + 1 {
						newest = publish(b, l, benchTopic, 1000)
					}
					if behind {
						newest -= messages
					}
					err := store.db.Write(b.Context(), func(c rowdb.Conn) error {
						_, err := c.Exec(b.Context(), "UPDATE rs_progress SET taken = CAST($1 AS bigint) - CASE WHEN id % 5 < 3 AND $2 = 1 THEN 1 ELSE 0 END", newest, number(behind))
						return err
					})
					if err != nil {
						b.Fatal(err)
					}
					started := time.Now()
					dropped, err := l.Clear(context.Background(), map[string][]string{benchTopic: nil}, started, time.Time{})
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
