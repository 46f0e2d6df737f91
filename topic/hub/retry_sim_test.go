package hub

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// times collects the times of events, since the first one.
type times struct {
	began time.Time
	at    []time.Duration
}

func (t *times) note() {
	if len(t.at) == 0 {
		t.began = time.Now()
	}
	t.at = append(t.at, time.Since(t.began))
}

// TestWH46_V17_RetriesDouble has a callback fail for a day and a half.
func TestWH46_V17_RetriesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries times
		w := newWorld(func(path string, body int, r *http.Request) (int, error) {
			tries.note()
			return 503, nil
		})
		store := pushlog.NewMemory()
		subscribed(t, store, "http://s/", "", 10*24*time.Hour)
		o := deliveryOptions()
		o.Retry = 0
		p := newProcessAt(t, forHours, store, w, o)
		publish(t, p.hub, "1")
		time.Sleep(36 * time.Hour)
		p.stop()
		want := time.Minute
		for i := 1; i < len(tries.at); i++ {
			waited := tries.at[i] - tries.at[i-1]
			if waited < want*8/10 || waited > want*12/10+forHours {
				t.Errorf("retry %d after %v, want %v or so", i, waited, want)
			}
			want = min(2*want, maxRetry)
		}
		if len(tries.at) < 12 {
			t.Errorf("%d attempts in 36 hours: %v", len(tries.at), tries.at)
		}
	})
}

// TestV17_RetryAfter has a callback request a time: longer than ours, shorter, and
// absurdly long.
func TestV17_RetryAfter(t *testing.T) {
	for asked, want := range map[string]time.Duration{"600": 10 * time.Minute, "1": time.Minute, "31536000": maxRetry} {
		synctest.Test(t, func(t *testing.T) {
			var tries times
			store := pushlog.NewMemory()
			subscribed(t, store, "http://s/", "", 10*24*time.Hour)
			o := deliveryOptions()
			o.Retry = 0
			p := newProcessAt(t, forHours, store, roundTripper(func(r *http.Request) (*http.Response, error) {
				tries.note()
				if len(tries.at) > 1 {
					return answered(200, nil), nil
				}
				return answered(429, http.Header{"Retry-After": {asked}}), nil
			}), o)
			publish(t, p.hub, "1")
			time.Sleep(8 * time.Hour)
			p.stop()
			if len(tries.at) != 2 || tries.at[1] < want*8/10 || tries.at[1] > want*12/10+forHours {
				t.Errorf("asked for %s s, tried after %v, want %v or so", asked, tries.at, want)
			}
		})
	}
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(status int, h http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(""))}
}

// TestV15_Timeout: an attempt to a hanging callback is aborted, and counts as a
// failure.
func TestV15_Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		w := newWorld(func(path string, body int, r *http.Request) (int, error) {
			began := time.Now()
			<-r.Context().Done()
			took = time.Since(began)
			return 0, r.Context().Err()
		})
		store := pushlog.NewMemory()
		subscribed(t, store, "http://s/", "", time.Hour)
		o := deliveryOptions()
		o.Retry = 0
		p := newProcess(t, store, w, o)
		publish(t, p.hub, "1")
		time.Sleep(11 * time.Second)
		p.stop()
		if pr := only(t, store).Progress; took != 10*time.Second || pr.Failures != 1 || pr.LastError != "no answer within 10s" {
			t.Errorf("after %v: %+v", took, pr)
		}
	})
}

// TestV15_OneHostHangs has more subscribers at one host that hangs than claims are held
// in memory. The others get their message at once, and the host never has more than its
// places.
func TestV15_OneHostHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var underWay gauge
		var late time.Duration
		var published time.Time
		store := pushlog.NewMemory()
		net := roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "hangs" {
				defer underWay.enter()()
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			mu.Lock()
			defer mu.Unlock()
			late = max(late, time.Since(published))
			return answered(200, nil), nil
		})
		o := deliveryOptions()
		o.Workers, o.PerHost, o.Retry = 32, 4, 0
		p := newProcess(t, store, net, o)
		for i := range 3000 {
			subscribed(t, store, fmt.Sprintf("http://hangs/%d", i), "", time.Hour)
		}
		const well = 100
		for i := range well {
			subscribed(t, store, fmt.Sprintf("http://s%d/", i), "", time.Hour)
		}
		for m := range 3 {
			mu.Lock()
			published = time.Now()
			mu.Unlock()
			publish(t, p.hub, fmt.Sprint(m+1))
			time.Sleep(30 * time.Second)
		}
		p.stop()
		if late > 3*time.Second {
			t.Errorf("others waited for %v", late)
		}
		if n := underWay.highest(); n != 4 {
			t.Errorf("the host had %d places", n)
		}
		if s, err := p.hub.Status(t.Context()); err != nil || s.Deliveries.Delivered != 3*well {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// TestChangedUnderWay renews a subscription with another secret, and ends another,
// while messages are being sent to them.
func TestChangedUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got, ended []string
		store := pushlog.NewMemory()
		net := roundTripper(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			select {
			case <-time.After(3 * time.Second):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			if r.URL.Host == "ends" {
				ended = append(ended, string(body))
				return answered(200, nil), nil
			}
			for _, secret := range []string{"old", "new"} {
				if r.Header.Get("X-Hub-Signature") == sign("sha256", []byte(secret), body) {
					got = append(got, secret+" "+string(body))
				}
			}
			return answered(200, nil), nil
		})
		subscribed(t, store, "http://s/", "old", time.Hour)
		subscribed(t, store, "http://ends/", "", time.Hour)
		p := newProcess(t, store, net, deliveryOptions())
		for m := range 3 {
			publish(t, p.hub, fmt.Sprint(m+1))
		}
		time.Sleep(4 * time.Second)
		subscribed(t, store, "http://s/", "new", time.Hour)
		applied(t, store, pushlog.Request{Topic: testTopic, Callback: "http://ends/", Host: "ends", End: true, Made: time.Now()})
		time.Sleep(time.Minute)
		p.stop()
		if want := []string{"old 1", "new 2", "new 3"}; !slices.Equal(got, want) {
			t.Errorf("delivered %q, want %q", got, want)
		}
		if !slices.Equal(ended, []string{"1"}) {
			t.Errorf("delivered to subscriptions that had ended: %q", ended)
		}
	})
}

// TestChangedUnderWayAndDeaf is the same with a connection that cannot be aborted: no
// other message is sent before the attempt has completed, and a delivered message is
// not repeated.
func TestChangedUnderWayAndDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		var underway int
		store := pushlog.NewMemory()
		net := roundTripper(func(r *http.Request) (*http.Response, error) {
			body, _ := io.ReadAll(r.Body)
			if underway++; underway > 1 {
				t.Error("two at a time")
			}
			time.Sleep(3 * time.Second)
			underway--
			for _, secret := range []string{"old", "new"} {
				if r.Header.Get("X-Hub-Signature") == sign("sha256", []byte(secret), body) {
					got = append(got, secret+" "+string(body))
				}
			}
			return answered(200, nil), nil
		})
		subscribed(t, store, "http://s/", "old", time.Hour)
		p := newProcess(t, store, net, deliveryOptions())
		for m := range 3 {
			publish(t, p.hub, fmt.Sprint(m+1))
		}
		time.Sleep(4 * time.Second)
		subscribed(t, store, "http://s/", "new", time.Hour)
		time.Sleep(time.Minute)
		p.stop()
		if want := []string{"old 1", "old 2", "new 3"}; !slices.Equal(got, want) {
			t.Errorf("delivered %q, want %q", got, want)
		}
		if pr := only(t, store).Progress; pr.Taken != 3 || pr.Delivered != 3 {
			t.Errorf("%+v", pr)
		}
	})
}

// TestAtOnce publishes messages in quick succession: none waits until the progress of
// the previous one is saved.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var published, latest time.Time
		w := newWorld(func(path string, body int, r *http.Request) (int, error) {
			latest = time.Now()
			return 200, nil
		})
		store := pushlog.NewMemory()
		subscribed(t, store, "http://s/", "", time.Hour)
		p := newProcess(t, store, w, deliveryOptions())
		time.Sleep(10 * time.Second)
		for m := range 100 {
			published = time.Now()
			publish(t, p.hub, fmt.Sprint(m+1))
			time.Sleep(37 * time.Millisecond)
			synctest.Wait()
			if !latest.Equal(published) {
				t.Fatalf("message %d came %v late", m+1, latest.Sub(published))
			}
		}
		p.stop()
	})
}

// TestStop ends a hub while one callback answers slowly and another hangs. The hub
// waits for the first, aborts the second without counting a failure, and releases all
// claims.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		net := roundTripper(func(r *http.Request) (*http.Response, error) {
			wait := time.Second
			if r.URL.Host == "hangs" {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return answered(200, nil), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		subscribed(t, store, "http://slow/", "", time.Hour)
		subscribed(t, store, "http://hangs/", "", time.Hour)
		p := newProcess(t, store, net, deliveryOptions())
		start := time.Now()
		publish(t, p.hub, "1")
		publish(t, p.hub, "2")
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		p.stop()
		if took := time.Since(began); took > stopTime {
			t.Errorf("it took %v", took)
		}
		for sub := range store.Subscriptions(t.Context()) {
			want := pushlog.Progress{ID: sub.ID}
			if sub.Host == "slow" {
				want.Taken, want.Delivered = 1, 1
				want.LastDelivered = sub.Progress.LastDelivered
				if at := want.LastDelivered; !at.After(start) || at.After(began.Add(stopTime)) {
					t.Errorf("delivered last at %v", at)
				}
			}
			if sub.Progress != want {
				t.Errorf("%s: %+v", sub.Host, sub.Progress)
			}
		}
		if subs, err := store.Claim(context.Background(), "another", 10); err != nil || len(subs) != 2 {
			t.Errorf("another can claim %d, %v", len(subs), err)
		}
	})
}

// TestStoreFailsForAMinute: while the store fails, a process that cannot be sure of its
// claims sends nothing; then deliveries continue.
func TestStoreFailsForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent times
		var w *world
		w = newWorld(func(path string, body int, r *http.Request) (int, error) {
			sent.note()
			w.take(path, body)
			time.Sleep(100 * time.Millisecond)
			return 200, nil
		})
		store := &faulty{Log: pushlog.NewMemory()}
		subscribed(t, store, "http://s/", "", time.Hour)
		p := newProcess(t, store, w, deliveryOptions())
		const messages = 200
		for m := range messages {
			publish(t, p.hub, fmt.Sprint(m+1))
		}
		time.Sleep(2 * time.Second)
		store.fails.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, at := range sent.at {
			if at > 2*time.Second+pushlog.ClaimTime-claimMargin {
				t.Errorf("sent after %v", at)
			}
		}
		store.fails.Store(false)
		time.Sleep(time.Minute)
		p.stop()
		if err := w.complete("s", messages); err != nil {
			t.Error(err)
		}
	})
}

type faulty struct {
	pushlog.Log
	fails atomic.Bool
}

func (s *faulty) Save(ctx context.Context, owner string, progress []pushlog.Progress) ([]int64, error) {
	if s.fails.Load() {
		return nil, errDead
	}
	return s.Log.Save(ctx, owner, progress)
}

func (s *faulty) Claim(ctx context.Context, owner string, max int) ([]pushlog.Subscription, error) {
	if s.fails.Load() {
		return nil, errDead
	}
	return s.Log.Claim(ctx, owner, max)
}
