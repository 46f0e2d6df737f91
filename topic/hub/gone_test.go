package hub

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// A callback answers 410 after the subscriber has renewed and confirmed its
// subscription. The answer concerns the old subscription, and the new one gets the
// message.
func TestWH4_WH44_RenewedBeforeGone(t *testing.T) {
	f := newFront(t, Options{})
	delivered := make(chan string, 10)
	var once sync.Once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			echo(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // given up: the hub may send it again already
		}
		gone := false
		once.Do(func() {
			gone = true
			before := f.requestTotals.Load().Verified
			form := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {"http://" + r.Host + "/"}, "hub.secret": {testSecret}}
			answer, err := http.PostForm(f.url, form)
			if err != nil || answer.StatusCode != http.StatusAccepted {
				t.Error(answer, err)
				return
			}
			answer.Body.Close()
			for f.requestTotals.Load().Verified == before && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
		})
		if gone {
			w.WriteHeader(http.StatusGone)
			return
		}
		delivered <- r.Header.Get("X-Hub-Signature") + string(body)
	}))
	defer s.Close()
	f.accepted(s.URL + "/")
	id := f.subscriptions()[0].ID
	publish(t, f.Hub, "message")
	want := sign("sha256", []byte(testSecret), []byte("message")) + "message"
	select {
	case got := <-delivered:
		if got != want {
			t.Errorf("delivered %q, want %q", got, want)
		}
	case <-time.After(needs.Patience):
		t.Error("nothing was delivered to the renewed subscription")
	}
	if subs := f.subscriptions(); len(subs) != 1 || subs[0].ID != id {
		t.Errorf("the renewed subscription has ended: %+v", subs)
	}
}

// The same with a renewal at any moment during the delivery, and a callback that does
// not notice that the request is cancelled.
func TestWH44_RenewedUnderWay(t *testing.T) {
	for _, takes := range []time.Duration{0, 10 * time.Millisecond, saveEvery, renewEvery, 2*renewEvery + 10*time.Millisecond, 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			store := pushlog.NewMemory()
			var got []string
			net := roundTripper(func(r *http.Request) (*http.Response, error) {
				body, _ := io.ReadAll(r.Body)
				if r.Header.Get("X-Hub-Signature") == sign("sha256", []byte("new"), body) {
					got = append(got, string(body))
					return answered(http.StatusOK, nil), nil
				}
				subscribed(t, store, "http://s/", "new", time.Hour)
				time.Sleep(takes)
				return answered(http.StatusGone, nil), nil
			})
			subscribed(t, store, "http://s/", "old", time.Hour)
			p := newProcess(t, store, net, deliveryOptions())
			publish(t, p.hub, "one")
			time.Sleep(10 * time.Second)
			publish(t, p.hub, "two")
			time.Sleep(10 * time.Second)
			p.stop()
			if !slices.Equal(got, []string{"one", "two"}) || count(t, store) != 1 {
				t.Errorf("after %v: delivered %q to %d subscriptions", takes, got, count(t, store))
			}
			if s, err := p.hub.Status(t.Context()); err != nil || s.Deliveries.Ended != 0 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

// A subscription whose callback is gone (410) gets no more messages, even while the
// store cannot end it.
func TestWH44_GoneWhileTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &faulty{Log: pushlog.NewMemory()}
		var sent atomic.Int64
		net := roundTripper(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			store.fails.Store(true)
			return answered(http.StatusGone, nil), nil
		})
		subscribed(t, store, "http://s/", "", time.Hour)
		p := newProcess(t, store, net, deliveryOptions())
		publish(t, p.hub, "one")
		publish(t, p.hub, "two")
		time.Sleep(2 * time.Second)
		if n := count(t, store); n != 1 || sent.Load() != 1 {
			t.Errorf("%d subscriptions, %d sent", n, sent.Load())
		}
		store.fails.Store(false)
		time.Sleep(time.Second)
		p.stop()
		if n := count(t, store); n != 0 || sent.Load() != 1 {
			t.Errorf("%d subscriptions, %d sent", n, sent.Load())
		}
		if s, err := p.hub.Status(t.Context()); err != nil || s.Deliveries.Ended != 1 || s.Deliveries.Refused != 1 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
