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

// inBubble returns o with a client that sends to h without a network.
func inBubble(h http.RoundTripper, o *topic.Options) *topic.Options {
	var out topic.Options
	if o != nil {
		out = *o
	}
	out.Client = &http.Client{Transport: h}
	return &out
}

// TestFlush publishes the first change after a quiet time at once, and later ones
// together.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		set, outbox := memory.New(nil), pushlog.NewMemory()
		_, stop := run(t, outbox, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Hour + 300*time.Millisecond)
		for range 3 {
			before := len(h.all())
			start := time.Now()
			for n := range 25 { // for 2.5 seconds
				put(t, set, n)
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(10 * time.Second)
			posts := h.all()[before:]
			var at []time.Duration
			var counts []int
			for _, p := range posts {
				_, entries := decode(t, p.body)
				at, counts = append(at, p.at.Sub(start)), append(counts, len(entries))
			}
			if len(posts) != 4 || at[0] != 0 || counts[0] != 1 {
				t.Fatalf("notifications after %v of %v changes: want one at once and three more", at, counts)
			}
			for i := 1; i < len(at); i++ {
				if gap := at[i] - at[i-1]; gap < time.Second || gap > time.Second+2*pause {
					t.Errorf("notification %d came %v after the one before", i, gap)
				}
			}
			time.Sleep(time.Minute)
		}
	})
}

// TestFlushChanges does not wait once there are enough changes.
func TestFlushChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		set, outbox := memory.New(nil), pushlog.NewMemory()
		_, stop := run(t, outbox, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})},
			inBubble(h, &topic.Options{Flush: time.Hour, FlushChanges: 10}))
		defer stop()
		time.Sleep(time.Minute)
		put(t, set, 0)
		time.Sleep(time.Second)
		for n := range 9 { // the tenth makes enough of them
			put(t, set, 100+n)
			time.Sleep(time.Second)
		}
		if n := len(h.all()); n != 1 {
			t.Fatalf("%d notifications before there are enough changes, want 1", n)
		}
		put(t, set, 200, 201, 202)
		time.Sleep(time.Second)
		posts := h.all()
		if len(posts) != 2 {
			t.Fatalf("%d notifications, want 2", len(posts))
		}
		if _, entries := decode(t, posts[1].body); len(entries) != 10 {
			t.Errorf("%d changes, want 10", len(entries))
		}
		time.Sleep(time.Hour)
		if _, entries := decode(t, h.all()[2].body); len(entries) != 2 {
			t.Errorf("%d changes at last, want 2", len(entries))
		}
	})
}

// TestLooks finds changes of sets without a Watcher.
func TestLooks(t *testing.T) {
	for name, without := range map[string]func(*Channel){
		"Watcher": func(c *Channel) { c.Stater = nil },
		"Stater":  func(c *Channel) { c.Watcher = nil },
		"neither": func(c *Channel) { c.Watcher, c.Stater = nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRecorder(nil)
				set, outbox := memory.New(nil), pushlog.NewMemory()
				c := changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})
				without(&c)
				_, stop := run(t, outbox, []Channel{c}, inBubble(h, nil))
				defer stop()
				time.Sleep(time.Hour + 300*time.Millisecond)
				start := time.Now()
				put(t, set, 1)
				time.Sleep(2 * time.Second)
				posts := h.all()
				if len(posts) != 1 {
					t.Fatalf("%d notifications, want 1", len(posts))
				}
				most := pollInterval
				if name == "Watcher" {
					most = 0
				}
				if took := posts[0].at.Sub(start); took > most {
					t.Errorf("told after %v, want %v at most", took, most)
				}
			})
		})
	}
}

// TestSettle waits as long as changes may arrive out of order, and records up to which
// time it knows them.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(nil)
		j, outbox := &stated{journal: &journal{since: time.Now()}, newest: time.Now()}, pushlog.NewMemory()
		c := changeChannel(j, topic.RemoteHub{URI: "https://hub.example.net/"})
		c.Settle = 30 * time.Second
		_, stop := run(t, outbox, []Channel{c}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Hour)
		start := time.Now()
		j.add(start.Add(-time.Second), 2)
		j.mu.Lock()
		j.newest = start
		j.mu.Unlock()
		time.Sleep(20 * time.Second)
		j.add(start.Add(-3*time.Second), 1) // late
		if n := len(h.all()); n != 0 {
			t.Errorf("%d notifications of changes that have not settled", n)
		}
		time.Sleep(time.Minute)
		var entries []string
		for _, p := range h.all() {
			head, es := decode(t, p.body)
			if took := p.at.Sub(start); took > c.Settle {
				t.Errorf("told after %v", took)
			}
			if !head.Metadata.Until.Equal(head.Metadata.Until.Truncate(time.Microsecond)) || p.at.Sub(head.Metadata.Until) < c.Settle {
				t.Errorf("until %v at %v", head.Metadata.Until, p.at)
			}
			for _, e := range es {
				entries = append(entries, e.Loc)
			}
		}
		if len(entries) != 2 || entries[0] != resource(1).URI || entries[1] != resource(2).URI {
			t.Errorf("told %v", entries)
		}
		before := len(h.all())
		time.Sleep(time.Hour)
		if n := len(h.all()); n != before {
			t.Errorf("%d notifications of nothing", n-before)
		}
	})
}
