package hub

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// RS18: 202, and a lease within the bounds that Change Notification recommends,
// whatever the request. The subscriber gets the lease that is stored.
func TestRS18_Subscribe(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	for asked, want := range map[string]string{
		"": "864000", "0": "300", "1": "300", "300": "300", "301": "301", "2678400": "2678400", "2678401": "2678400", "99999999999999999999": "2678400",
	} {
		callback := s.URL + "/" + asked
		before := time.Now()
		f.accepted(callback, "hub.lease_seconds", asked) // 202
		if got := s.last(t).Get("hub.lease_seconds"); got != want {
			t.Errorf("lease_seconds %q: granted %s, want %s", asked, got, want)
		}
		lease, err := time.ParseDuration(want + "s")
		if err != nil {
			t.Fatal(err)
		}
		subs := f.subscriptions()
		i := slices.IndexFunc(subs, func(sub pushlog.Subscription) bool { return sub.Callback == callback })
		if i < 0 {
			t.Fatalf("lease_seconds %q: no subscription", asked)
		}
		// A store may round to milliseconds.
		if e := subs[i].Expires; e.Before(before.Add(lease-time.Second)) || e.After(time.Now().Add(lease+time.Second)) {
			t.Errorf("lease_seconds %q: expires at %v, want %v after %v", asked, e, lease, before)
		}
	}
}

// WH24: the subscriber is asked as soon as a request is stored, without waiting for the
// next poll of the store.
func TestWH24_AtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		stop := bubble(t, store, confirms)
		defer stop()
		time.Sleep(pollInterval / 2)
		before := time.Now()
		request(t, store, "http://example.net/")
		synctest.Wait()
		if n := count(t, store); n != 1 {
			t.Errorf("%d subscriptions after %v", n, time.Since(before))
		}
	})
}

// V8: a client that confirms all requests cannot exceed its share either.
func TestV8_Flood(t *testing.T) {
	unlimited := Limits{Host: -1, HostPending: -1, Client: -1, ClientPending: -1, Topic: -1, Pending: -1}
	for name, set := range map[string]func(*Limits){
		"host":   func(l *Limits) { l.Host = 3 },
		"client": func(l *Limits) { l.Client = 3 },
		"topic":  func(l *Limits) { l.Topic = 3 },
	} {
		t.Run("V8 "+name, func(t *testing.T) {
			limits := unlimited
			set(&limits)
			f, s := newFront(t, Options{Limits: limits}), newSubscriber(t)
			for i := range 3 {
				f.accepted(fmt.Sprintf("%s/%d", s.URL, i))
			}
			if n := len(f.subscriptions()); n != 3 {
				t.Fatalf("%d subscriptions", n)
			}
			if status, text := f.post(s.URL + "/3"); status != http.StatusTooManyRequests {
				t.Errorf("one more: %d %s", status, text)
			}
			f.accepted(s.URL + "/1") // a renewal is nothing more
			f.accepted(s.URL+"/0", "hub.mode", "unsubscribe")
			f.accepted(s.URL + "/3")
			if status, err := f.Status(t.Context()); err != nil || status.Subscriptions != 3 || status.Requests.Limited != 1 {
				t.Errorf("%+v, %v", status, err)
			}
		})
	}
}

// V22: a subscriber rotates its secret by subscribing again. The old one signs until
// the new one is verified. The new one signs as soon as no delivery to the subscriber is
// under way.
func TestV22_RotatedSecret(t *testing.T) {
	t.Parallel()
	before, after := []byte(testSecret+"-old"), []byte(testSecret+"-new")
	f := newFront(t, Options{Timeout: pushlog.VerifyTime / 2})
	asked, release := make(chan struct{}), make(chan struct{})
	c := newCallback(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if r.Method != http.MethodGet {
			return
		}
		if n > 1 { // the second verification, after the first message
			close(asked)
			<-release
		}
		echo(w, r)
	})
	deliver := func(body string, secret []byte) {
		t.Helper()
		within(t, "a subscription that nobody works on", func() bool {
			return f.store.(*claims).held() == 0
		})
		publish(t, f.Hub, body)
		var got delivery
		within(t, "message "+body, func() bool {
			all := c.deliveries()
			got = all[len(all)-1]
			return got.method == http.MethodPost && got.body == body
		})
		want := sign("sha256", secret, []byte(body))
		if signature := got.header["X-Hub-Signature"]; !slices.Equal(signature, []string{want}) {
			t.Errorf("message %s is signed %q, want %s, by %s", body, signature, want, secret)
		}
	}
	f.accepted(c.URL, "hub.secret", string(before))
	deliver("one", before)
	if status, text := f.post(c.URL, "hub.secret", string(after)); status != http.StatusAccepted {
		t.Fatal(status, text)
	}
	<-asked
	deliver("two", before)
	close(release)
	within(t, "the second verification", func() bool { return f.requestTotals.Load().Verified == 2 })
	deliver("three", after)
}
