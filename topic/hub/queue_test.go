package hub

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// TestQueueIsFair: a host with many claims and many hosts with one take turns.
func TestQueueIsFair(t *testing.T) {
	q := newQueue(10, 2)
	for i := range 100 {
		q.add(&claim{sub: pushlog.Subscription{ID: int64(i), Host: "large"}})
	}
	for i := range 5 {
		q.add(&claim{sub: pushlog.Subscription{ID: int64(100 + i), Host: fmt.Sprint("small", i)}})
	}
	var order []string
	now := time.Now()
	for range 7 {
		c := q.take(now)
		order = append(order, c.sub.Host)
	}
	if got := strings.Join(order, " "); got != "large small0 small1 small2 small3 small4 large" {
		t.Error(got)
	}
	if c := q.take(now); c != nil {
		t.Errorf("a third of %s", c.sub.Host)
	}
}

// TestQueueLanes: if all claims but one are doubtful, that one does not wait for them.
func TestQueueLanes(t *testing.T) {
	q := newQueue(10, 8)
	for i := range 100 {
		q.add(&claim{sub: pushlog.Subscription{Host: fmt.Sprint(i), Progress: pushlog.Progress{Cursor: pushlog.Cursor{Failures: 1}}}})
		q.add(&claim{sub: pushlog.Subscription{Host: "mixed", Progress: pushlog.Progress{Cursor: pushlog.Cursor{Failures: 1}}}})
	}
	var taken []*claim
	now := time.Now()
	for c := q.take(now); c != nil; c = q.take(now) {
		taken = append(taken, c)
	}
	if len(taken) != 5 {
		t.Fatalf("%d workers of 10 have doubtful claims", len(taken))
	}
	for range 10 {
		q.add(&claim{sub: pushlog.Subscription{Host: "mixed"}})
	}
	if c := q.take(now); c == nil || c.sub.Progress.Failures > 0 {
		t.Errorf("%+v instead of the claim that is not doubtful", c)
	}
	q = newQueue(100, 8)
	for range 100 {
		q.add(&claim{sub: pushlog.Subscription{Host: "one", Progress: pushlog.Progress{Cursor: pushlog.Cursor{Failures: 1}}}})
	}
	for range 4 {
		if q.take(now) == nil {
			t.Fatal("doubtful claims get less than half the places of their host")
		}
	}
	if q.take(now) != nil {
		t.Error("doubtful claims get more than half the places of their host")
	}
}

// TestSlowHost: a slow host is doubtful for a while.
func TestSlowHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(10, 8)
		c := &claim{sub: pushlog.Subscription{Host: "slow"}}
		for took, want := range map[time.Duration]lane{maxHostWait: prompt, maxHostWait + 1: doubtful} {
			q.add(c)
			q.take(time.Now())
			q.done(c, time.Now(), took)
			if got := q.lane(c); got != want {
				t.Errorf("after %v: lane %v", took, got)
			}
			time.Sleep(slowTime + 1)
			if q.lane(c) != prompt {
				t.Errorf("after %v, and %v: still doubtful", took, slowTime)
			}
		}
	})
}
