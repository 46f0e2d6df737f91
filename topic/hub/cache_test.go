package hub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A gappy store has the messages of a topic whose numbers are not in gaps, and
// counts how often it is asked.
type gappy struct {
	pushlog.Log
	mu       sync.Mutex
	messages []pushlog.Notification
	asked    atomic.Int64
	slow     bool
}

func (s *gappy) Read(ctx context.Context, topic string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
	s.asked.Add(1)
	if s.slow {
		time.Sleep(time.Millisecond)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []pushlog.Notification
	for _, m := range s.messages {
		if m.Number <= after {
			continue
		}
		if maxBytes -= len(m.Body); len(found) == max || maxBytes < 0 && len(found) > 0 {
			break
		}
		found = append(found, m)
	}
	return found, nil
}

func (s *gappy) add(number int64, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, pushlog.Notification{Topic: testTopic, Number: number, Body: []byte(strings.Repeat("x", size))})
}

// held is what s has in memory and what of it is in use, counted anew, and whether
// each message is there once.
func (s *messageCache) held(used map[*message]bool) (bytes, inUse int, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := int64(0)
	once = true
	for _, t := range s.topics {
		for _, sp := range t.spans {
			for _, m := range sp.messages {
				bytes += m.size()
				once = once && m.Number > last
				last = m.Number
			}
		}
	}
	for m := range used {
		inUse += m.size()
		if m.span == nil {
			bytes += m.size()
		}
	}
	return bytes, inUse, once
}

// TestShelf has readers go through a topic from all sorts of places, some slowly,
// while messages are added and old ones are dropped, on a shelf that is too small
// for all of them. Each sees every message that was there, in order, and what is
// in memory is what is counted and stays bounded.
func TestShelf(t *testing.T) {
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		store := &gappy{}
		limit := 300_000 + rnd.IntN(500_000)
		s := newMessageCache(store, testHub, limit)
		number := int64(0)
		add := func() {
			number += 1 + int64(rnd.IntN(3))*int64(rnd.IntN(2))
			store.add(number, 1+rnd.IntN(60_000))
			s.woken()
		}
		for range rnd.IntN(200) {
			add()
		}
		taken := make([]int64, 20)
		for i := range taken {
			taken[i] = int64(rnd.IntN(int(number) + 1))
		}
		inUse, full := map[*message]bool{}, 0
		for range 3000 {
			if rnd.IntN(20) == 0 {
				add()
			}
			if rnd.IntN(200) == 0 && len(store.messages) > 5 { // cleared
				store.messages = store.messages[rnd.IntN(5):]
			}
			i := rnd.IntN(len(taken))
			m, err := s.next(t.Context(), testTopic, taken[i], i%2 == 0)
			if errors.Is(err, errFull) {
				full++
				for m := range inUse {
					s.put(m)
					delete(inUse, m)
				}
				continue
			}
			want, _ := store.Read(t.Context(), testTopic, taken[i], 1, 0)
			switch {
			case err != nil:
				t.Fatal(err)
			case m == nil && len(want) > 0:
				t.Fatalf("seed %d: nothing after %d, want %d", seed, taken[i], want[0].Number)
			case m == nil:
				taken[i] = int64(rnd.IntN(int(number) + 1))
				continue
			case m.Number <= taken[i] || len(want) == 0 || m.Number > want[0].Number:
				t.Fatalf("seed %d: %d after %d, want %v", seed, m.Number, taken[i], want)
			}
			taken[i] = m.Number
			if inUse[m] || rnd.IntN(4) > 0 {
				s.put(m)
			} else {
				inUse[m] = true
			}
			if bytes, used, once := s.held(inUse); bytes != s.bytes+s.strays || used != s.inUse || !once {
				t.Fatalf("seed %d: %d bytes in memory, %d in use, each once: %v; counted %d+%d, %d", seed, bytes, used, once, s.bytes, s.strays, s.inUse)
			}
			if got := s.bytes + s.strays; got > limit+2*(spanBytes+60_000+spanMessages*512) {
				t.Fatalf("seed %d: %d bytes in memory, limit %d", seed, got, limit)
			}
		}
		if full == 0 {
			t.Errorf("seed %d: never full", seed)
		}
	}
}

// TestShelfShares has many at the same place ask at the same time: one reads.
func TestShelfShares(t *testing.T) { synctest.Test(t, testShelfShares) }

func testShelfShares(t *testing.T) {
	store := &gappy{slow: true}
	for i := range 10 {
		store.add(int64(i+1), 100)
	}
	s := newMessageCache(store, testHub, 1<<20)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			for taken := range int64(10) {
				m, err := s.next(t.Context(), testTopic, taken, false)
				if err != nil || m.Number != taken+1 {
					t.Error(m, err)
					return
				}
				s.put(m)
			}
			if m, err := s.next(t.Context(), testTopic, 10, false); m != nil || err != nil {
				t.Error(m, err)
			}
		})
	}
	group.Wait()
	if n := store.asked.Load(); n != 2 {
		t.Errorf("the store was asked %d times, want once for the messages and once for what comes then", n)
	}
	if !s.upToDate(testTopic, 10) || s.upToDate(testTopic, 9) {
		t.Error("10 is the newest")
	}
	s.woken()
	if s.upToDate(testTopic, 10) {
		t.Error("there may be an 11th")
	}
}

// TestShelfDropsTheUnused needs room: what is in use would not give any.
func TestShelfDropsTheUnused(t *testing.T) {
	store := &gappy{}
	for i := range 3 {
		store.add(int64(i+1), spanBytes)
	}
	s := newMessageCache(store, testHub, 2*spanBytes+2000)
	first, err := s.next(t.Context(), testTopic, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	for taken := int64(1); taken < 3; taken++ {
		m, err := s.next(t.Context(), testTopic, taken, false)
		if err != nil {
			t.Fatal(err)
		}
		s.put(m)
	}
	if first.span == nil || s.strays != 0 {
		t.Error("the message in use was dropped, the other was not")
	}
}

// TestMemoryIsBounded has subscribers far behind, each at a message of its own, and
// all of them hang: those who are up to date have theirs all the same.
func TestMemoryIsBounded(t *testing.T) {
	const mega = 1 << 20
	store := &gappy{}
	for i := range 100 {
		store.add(int64(i+1), mega)
	}
	s := newMessageCache(store, testHub, 32*mega)
	behind := 0
	for taken := range int64(90) {
		if _, err := s.next(t.Context(), testTopic, taken, true); err == nil {
			behind++
		}
	}
	for taken := int64(90); taken < 100; taken++ {
		m, err := s.next(t.Context(), testTopic, taken, false)
		if err != nil {
			t.Fatalf("message %d: %v", taken+1, err)
		}
		s.put(m)
	}
	if got := s.bytes + s.strays; got > 34*mega || behind < 16 || behind > 18 {
		t.Errorf("%d MiB in memory, %d of those behind served", got/mega, behind)
	}
}

// TestQueueIsFair has one host with many claims and many with one: they take turns.
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

// TestQueueLanes has all claims doubtful but one, which is not behind them.
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
			t.Fatal("doubtful claims have less than half the places of their host")
		}
	}
	if q.take(now) != nil {
		t.Error("doubtful claims have more than half the places of their host")
	}
}

// TestSlowHost has a host be slow, and doubtful for that for a while.
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
