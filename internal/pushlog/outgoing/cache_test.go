package outgoing

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

const cachedURI = "https://example.org/change/"

// A gappy store has the messages of a topic whose numbers are not in gaps, and counts
// its calls.
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
	s.messages = append(s.messages, pushlog.Notification{Topic: cachedURI, Number: number, Body: []byte(strings.Repeat("x", size))})
}

// held recounts the bytes of s in memory and in use, and reports whether each message
// is there once.
func (s *Cache) held(used map[*Message]bool) (bytes, inUse int, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := int64(0)
	once = true
	for _, t := range s.topics {
		for _, m := range t.messages {
			bytes += m.size()
			once = once && m.Number > last && (m.users > 0) == used[m] && (m.users == 0) == (m.idle != nil)
			last = m.Number
		}
	}
	for m := range used {
		inUse += m.size()
	}
	return bytes, inUse, once
}

// TestCache has readers walk through a topic from all kinds of positions, some slowly,
// while messages are added and old ones are dropped, in a cache that is too small for
// all of them. Each reader sees every existing message, in order, and the counted
// memory is correct and bounded.
func TestCache(t *testing.T) {
	for seed := range uint64(needs.Size(15, 50)) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		store := &gappy{}
		limit := 300_000 + rnd.IntN(500_000)
		s := NewCache(store, limit, nil)
		number := int64(0)
		add := func() {
			number += 1 + int64(rnd.IntN(3))*int64(rnd.IntN(2))
			store.add(number, 1+rnd.IntN(60_000))
			s.Wake()
		}
		for range rnd.IntN(200) {
			add()
		}
		taken := make([]int64, 20)
		for i := range taken {
			taken[i] = int64(rnd.IntN(int(number) + 1))
		}
		inUse, full := map[*Message]bool{}, 0
		for range 3000 {
			if rnd.IntN(20) == 0 {
				add()
			}
			if rnd.IntN(200) == 0 && len(store.messages) > 5 { // cleared
				store.messages = store.messages[rnd.IntN(5):]
			}
			i := rnd.IntN(len(taken))
			m, err := s.Next(t.Context(), cachedURI, taken[i], i%2 == 0)
			if errors.Is(err, ErrFull) {
				full++
				for m := range inUse {
					s.Put(m)
					delete(inUse, m)
				}
				continue
			}
			want, _ := store.Read(t.Context(), cachedURI, taken[i], 1, 0)
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
				s.Put(m)
			} else {
				inUse[m] = true
			}
			if bytes, used, once := s.held(inUse); bytes != s.bytes || used != s.inUse || !once {
				t.Fatalf("seed %d: %d bytes in memory, %d in use, each once: %v; counted %d, %d", seed, bytes, used, once, s.bytes, s.inUse)
			}
			if got := s.bytes; got > limit+2*(readBytes+60_000+readMessages*512) {
				t.Fatalf("seed %d: %d bytes in memory, limit %d", seed, got, limit)
			}
		}
		if full == 0 {
			t.Errorf("seed %d: never full", seed)
		}
	}
}

// TestCacheShares: many simultaneous readers at the same position cause one read.
func TestCacheShares(t *testing.T) { synctest.Test(t, testCacheShares) }

func testCacheShares(t *testing.T) {
	store := &gappy{slow: true}
	for i := range 10 {
		store.add(int64(i+1), 100)
	}
	s := NewCache(store, 1<<20, nil)
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() {
			for taken := range int64(10) {
				m, err := s.Next(t.Context(), cachedURI, taken, false)
				if err != nil || m.Number != taken+1 {
					t.Error(m, err)
					return
				}
				s.Put(m)
			}
			if m, err := s.Next(t.Context(), cachedURI, 10, false); m != nil || err != nil {
				t.Error(m, err)
			}
		})
	}
	group.Wait()
	if n := store.asked.Load(); n != 2 {
		t.Errorf("the store was asked %d times, want once for the messages and once for what comes then", n)
	}
	if !s.UpToDate(cachedURI, 10) || s.UpToDate(cachedURI, 9) {
		t.Error("10 is the newest")
	}
	s.Wake()
	if s.UpToDate(cachedURI, 10) {
		t.Error("there may be an 11th")
	}
}

// TestCacheDropsTheUnused needs room that messages in use would not free.
func TestCacheDropsTheUnused(t *testing.T) {
	store := &gappy{}
	for i := range 3 {
		store.add(int64(i+1), readBytes)
	}
	s := NewCache(store, 2*readBytes+2000, nil)
	first, err := s.Next(t.Context(), cachedURI, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	for taken := int64(1); taken < 3; taken++ {
		m, err := s.Next(t.Context(), cachedURI, taken, false)
		if err != nil {
			t.Fatal(err)
		}
		s.Put(m)
	}
	if again := s.topics[cachedURI].next(0); again != first || s.topics[cachedURI].next(1) != nil {
		t.Error("the message in use was dropped, the other was not")
	}
}

// TestMemoryIsBounded has subscribers far behind, each at a message of its own, and
// all of them hang: subscribers that are up to date still receive theirs.
func TestMemoryIsBounded(t *testing.T) {
	const mega = 1 << 20
	store := &gappy{}
	for i := range 100 {
		store.add(int64(i+1), mega)
	}
	s := NewCache(store, 32*mega, nil)
	behind := 0
	for taken := range int64(90) {
		if _, err := s.Next(t.Context(), cachedURI, taken, true); err == nil {
			behind++
		}
	}
	for taken := int64(90); taken < 100; taken++ {
		m, err := s.Next(t.Context(), cachedURI, taken, false)
		if err != nil {
			t.Fatalf("message %d: %v", taken+1, err)
		}
		s.Put(m)
	}
	if got := s.bytes; got > 34*mega || behind < 16 || behind > 18 {
		t.Errorf("%d MiB in memory, %d of those behind served", got/mega, behind)
	}
}
