package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A world simulates subscribers without a network: it records the messages that they
// receive, and decides how they answer. It is for tests in virtual time.
type world struct {
	answer func(path string, body int, r *http.Request) (status int, err error)

	mu  sync.Mutex
	got map[string][]int // messages by the path of the callback, which is its host as well
}

func newWorld(answer func(path string, body int, r *http.Request) (int, error)) *world {
	return &world{answer: answer, got: map[string][]int{}}
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	var n int
	if _, err := fmt.Fscan(r.Body, &n); err != nil {
		return nil, err
	}
	status, err := w.answer(r.URL.Host, n, r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(http.NoBody)}, nil
}

func (w *world) take(path string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.got[path] = append(w.got[path], n)
}

func (w *world) of(path string) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int(nil), w.got[path]...)
}

// complete reports whether a subscriber has received messages 1 to n in order, with
// nothing but in-order repeats between them.
func (w *world) complete(path string, n int) error {
	last := 0
	got := w.of(path)
	for i, m := range got {
		if m > last+1 || m < 1 {
			return fmt.Errorf("%s: %d after %d, at %d in %v", path, m, last, i, got)
		}
		last = m
	}
	if last != n {
		return fmt.Errorf("%s: it ends with %d, not %d: %v", path, last, n, got)
	}
	return nil
}

// A process is a hub that can be killed. After that, it reaches neither its store nor
// its subscribers.
type process struct {
	pushlog.Log
	hub  *Hub
	net  http.RoundTripper
	dead atomic.Bool
	stop func()
}

var errDead = errors.New("the process is dead")

func newProcess(t testing.TB, store pushlog.Log, net http.RoundTripper, o *Options) *process {
	return newProcessAt(t, saveEvery, store, net, o)
}

// forHours is the saveEvery of processes that are simulated for hours, in which little else
// happens. It is longer than usual, but claims do not end in the meantime.
const forHours = pushlog.ClaimTime - claimMargin

func newProcessAt(t testing.TB, every time.Duration, store pushlog.Log, net http.RoundTripper, o *Options) *process {
	p := &process{Log: store, net: net}
	p.hub = deliveryHub(t, p, o)
	p.hub.transport = p
	p.hub.saveEvery = every
	p.stop = start(t, p.hub)
	return p
}

// kill ends p at once.
func (p *process) kill() {
	p.dead.Store(true)
	p.stop()
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	return p.net.RoundTrip(r)
}

func (p *process) Claim(ctx context.Context, owner string, max int) ([]pushlog.Subscription, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	return p.Log.Claim(ctx, owner, max)
}

func (p *process) Save(ctx context.Context, owner string, progress []pushlog.Progress) ([]int64, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	return p.Log.Save(ctx, owner, progress)
}

// TestOrder checks that messages are delivered in order and completely, although
// responses fail, connections fail before and after a message has arrived, and several
// processes are killed now and then (V18, V20).
func TestOrder(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { testOrder(t, seed) })
	}
}

func testOrder(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 5))
	var mu sync.Mutex
	chance := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return rnd.IntN(n)
	}
	var w *world
	w = newWorld(func(path string, body int, r *http.Request) (int, error) {
		time.Sleep(time.Duration(chance(50)) * time.Millisecond)
		switch chance(10) {
		case 0:
			return 500, nil
		case 1:
			return 0, errors.New("connection reset before it came through")
		case 2:
			if chance(5) == 0 {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}
		}
		if err := r.Context().Err(); err != nil {
			return 0, err
		}
		w.take(path, body)
		if chance(10) == 0 {
			return 0, errors.New("connection reset after it came through")
		}
		return 204, nil
	})
	o := deliveryOptions()
	o.Workers, o.PerHost, o.Retry = 1+chance(20), 1+chance(4), time.Second
	store := pushlog.NewMemory()
	subscribers, messages := 1+chance(60), 1+chance(60)
	for i := range subscribers {
		subscribed(t, store, fmt.Sprintf("http://s%d/", i), "", 10000*time.Hour)
	}
	processes := make([]*process, 1+chance(3))
	for i := range processes {
		processes[i] = newProcess(t, store, w, o)
	}
	for m := range messages {
		publish(t, processes[0].hub, fmt.Sprint(m+1, " "))
		time.Sleep(time.Duration(chance(300)) * time.Millisecond)
		if chance(20) == 0 {
			i := chance(len(processes))
			processes[i].kill()
			processes[i] = newProcess(t, store, w, o)
		}
	}
	for end := time.Now().Add(24 * time.Hour); time.Now().Before(end) && !allTaken(t, store, messages); {
		time.Sleep(10 * time.Second)
	}
	for _, p := range processes {
		p.stop()
	}
	for i := range subscribers {
		if err := w.complete(fmt.Sprintf("s%d", i), messages); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	for sub := range store.Subscriptions(t.Context()) {
		if sub.Progress.Taken != int64(messages) || sub.Progress.Delivered != int64(messages) || sub.Progress.GivenUp != 0 {
			t.Errorf("seed %d: %+v", seed, sub.Progress)
		}
	}
}

func allTaken(t *testing.T, store pushlog.Log, n int) bool {
	for sub, err := range store.Subscriptions(t.Context()) {
		if err != nil || sub.Progress.Taken < int64(n) {
			return false
		}
	}
	return true
}

// TestV20_TakeOver kills a process that has claims. Another process takes over all of
// them within five seconds, and subscribers whose progress was not saved get repeats,
// not gaps.
func TestV20_TakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w *world
		w = newWorld(func(path string, body int, r *http.Request) (int, error) {
			time.Sleep(100 * time.Millisecond)
			w.take(path, body)
			return 200, nil
		})
		store := pushlog.NewMemory()
		const subscribers, messages = 100, 100
		for i := range subscribers {
			subscribed(t, store, fmt.Sprintf("http://s%d/", i), "", time.Hour)
		}
		o := deliveryOptions()
		first := newProcess(t, store, w, o)
		for m := range messages {
			publish(t, first.hub, fmt.Sprint(m+1))
		}
		time.Sleep(1010 * time.Millisecond) // in the midst of it
		second := newProcess(t, store, w, o)
		time.Sleep(990 * time.Millisecond)
		if n := len(w.of("s0")); n < 15 || n > 25 {
			t.Fatalf("%d messages delivered in 2 s", n)
		}
		first.kill()
		killed, before := time.Now(), len(w.of("s0"))
		for len(w.of("s0")) == before {
			time.Sleep(10 * time.Millisecond)
		}
		if took := time.Since(killed); took >= 5*time.Second {
			t.Errorf("the other took over after %v", took)
		}
		time.Sleep(time.Minute)
		second.stop()
		for i := range subscribers {
			if err := w.complete(fmt.Sprintf("s%d", i), messages); err != nil {
				t.Error(err)
			}
			if n := len(w.of(fmt.Sprintf("s%d", i))); n > messages+5 {
				t.Errorf("s%d: %d repeats", i, n-messages)
			}
		}
	})
}

// TestStoreStalls: if the store takes so long to renew claims that they end, running
// attempts are aborted before another process can claim the subscriptions.
func TestStoreStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var underway atomic.Int64
		var latest time.Time
		w := newWorld(func(path string, body int, r *http.Request) (int, error) {
			underway.Add(1)
			defer underway.Add(-1)
			<-r.Context().Done()
			latest = time.Now()
			return 0, r.Context().Err()
		})
		store := &stalling{Log: pushlog.NewMemory()}
		subscribed(t, store, "http://s/", "", time.Hour)
		p := newProcess(t, store, w, deliveryOptions())
		publish(t, p.hub, "1")
		time.Sleep(3 * time.Second)
		if underway.Load() != 1 {
			t.Fatal("it is not under way while the claim is renewed")
		}
		store.stall.Store(true)
		stalled := time.Now()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if underway.Load() != 0 || latest.Sub(stalled) > pushlog.ClaimTime {
			t.Errorf("it was still under way %v after the claim was last renewed", latest.Sub(stalled))
		}
		p.stop()
		if sub := only(t, store); sub.Progress.Failures != 0 {
			t.Errorf("the callback is blamed: %+v", sub.Progress)
		}
	})
}

type stalling struct {
	pushlog.Log
	stall atomic.Bool
}

func (s *stalling) Save(ctx context.Context, owner string, progress []pushlog.Progress) ([]int64, error) {
	if s.stall.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Log.Save(ctx, owner, progress)
}
