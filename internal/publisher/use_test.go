package publisher

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// hosts are hubs by their hosts.
type hosts map[string]*recorder

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	return h[r.URL.Host].RoundTrip(r)
}

// TestHubLeftOutForAWhile: a process that does not know one of the hubs leads for a
// while, as during a reload. After a short time, that hub misses nothing; after a
// longer one, it starts again.
func TestHubLeftOutForAWhile(t *testing.T) {
	for name, tt := range map[string]struct {
		away time.Duration
		want int // notifications that the hub has in the end
	}{
		"an hour":   {time.Hour, 3},
		"two days":  {48 * time.Hour, 2},
		"two weeks": {15 * 24 * time.Hour, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stays, leaves := newRecorder(nil), newRecorder(nil)
				set, outbox := memory.New(nil), pushlog.NewMemory()
				lead := func(d time.Duration, n int, hubs ...topic.RemoteHub) {
					o := inBubble(stays, nil)
					o.Client = &http.Client{Transport: hosts{"stays.example.net": stays, "leaves.example.net": leaves}}
					_, stop := run(t, outbox, []Channel{changeChannel(set, hubs...)}, o)
					defer stop()
					time.Sleep(time.Second)
					put(t, set, n)
					time.Sleep(d)
				}
				one, other := topic.RemoteHub{URI: "https://stays.example.net/"}, topic.RemoteHub{URI: "https://leaves.example.net/"}
				lead(time.Hour, 1, one, other)
				lead(tt.away, 2, one)
				lead(time.Hour, 3, one, other)
				if bodies := stays.bodies(); len(bodies) != 3 {
					t.Errorf("the hub that stays has %d of 3 notifications", len(bodies))
				}
				if bodies := leaves.bodies(); len(bodies) != tt.want {
					t.Errorf("the other hub has %d notifications, and should have %d", len(bodies), tt.want)
				}
				kept, err := outbox.Read(t.Context(), changeTopic, 0, 100, 1<<30)
				if err != nil || len(kept) != 1 {
					t.Errorf("%d notifications are kept, %v", len(kept), err)
				}
			})
		})
	}
}

// TestTopicLeftOut: a topic without a channel is forgotten after Retain, but not
// before. A channel that returns sooner continues where it was.
func TestTopicLeftOut(t *testing.T) {
	for name, tt := range map[string]struct {
		away   time.Duration
		number int64
	}{
		"ten days": {10 * 24 * time.Hour, 3}, // what has changed meanwhile is one
		"a month":  {30 * 24 * time.Hour, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRecorder(nil)
				set, another, outbox := memory.New(nil), memory.New(nil), pushlog.NewMemory()
				hub := topic.RemoteHub{URI: "https://hub.example.net/"}
				lead := func(d time.Duration, n int, c Channel) {
					_, stop := run(t, outbox, []Channel{c}, inBubble(h, nil))
					defer stop()
					time.Sleep(time.Second)
					put(t, set, n)
					time.Sleep(d)
				}
				other := changeChannel(another, hub)
				other.Topic += "other/"
				lead(time.Hour, 1, changeChannel(set, hub))
				lead(tt.away, 2, other)
				lead(time.Hour, 3, changeChannel(set, hub))
				state, err := outbox.State(t.Context(), changeTopic)
				if err != nil || state.Number != tt.number {
					t.Errorf("the newest notification has the number %d, and should have %d; %v", state.Number, tt.number, err)
				}
			})
		})
	}
}
