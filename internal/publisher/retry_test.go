package publisher

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// TestV18_refused skips a notification that a hub refuses, and continues.
func TestV18_refused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRecorder(func(w http.ResponseWriter, n int) {
			if n%3 == 0 {
				http.Error(w, "not an XML document I like", http.StatusBadRequest)
			}
		})
		set, outbox := memory.New(nil), pushlog.NewMemory()
		p, stop := run(t, outbox, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Second)
		for n := range 7 {
			put(t, set, n)
			time.Sleep(2 * time.Second)
		}
		if posts := h.all(); len(posts) != 7 || time.Since(posts[6].at) > 3*time.Second {
			t.Errorf("%d requests, want one for each notification at once", len(posts))
		}
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := status.Topics[0].Hubs[0]; got.Refused != 2 || got.LastRefused != 6 || got.Taken != 7 || got.Behind != 0 ||
			got.RefusedError != "the hub answered 400 Bad Request: not an XML document I like; a hub that supports only hub.mode=publish needs pings: --ping-hub, or Ping of topic.RemoteHub" {
			t.Errorf("status %+v", got)
		}
	})
}

// TestV17_backoff waits longer after each failure, but no more than an hour, and never
// at the same moments as others.
func TestV17_backoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := func(w http.ResponseWriter, n int) { w.WriteHeader(http.StatusServiceUnavailable) }
		a, b := newRecorder(down), newRecorder(down)
		for _, h := range []*recorder{a, b} {
			set := memory.New(nil)
			_, stop := run(t, pushlog.NewMemory(), []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
			defer stop()
			time.Sleep(time.Second)
			put(t, set, 1)
		}
		time.Sleep(24 * time.Hour)
		same := 0
		for _, h := range []*recorder{a, b} {
			posts := h.all()
			if len(posts) < 30 || len(posts) > 70 {
				t.Errorf("%d attempts in a day", len(posts))
			}
			for i := 1; i < len(posts); i++ {
				d := posts[i].at.Sub(posts[i-1].at)
				most := min(time.Second<<min(i, 20), time.Hour)
				if d < most/2 || d > most {
					t.Errorf("attempt %d came after %v, want %v to %v", i+1, d, most/2, most)
				}
			}
		}
		for i := range min(len(a.all()), len(b.all())) - 1 {
			if a.all()[i+1].at.Sub(a.all()[i].at) == b.all()[i+1].at.Sub(b.all()[i].at) {
				same++
			}
		}
		if same > 2 {
			t.Errorf("%d times both waited for the same time", same)
		}
	})
}

// TestRetryAfter waits as long as a hub requests, in seconds or until a date, within
// bounds.
func TestRetryAfter(t *testing.T) {
	for _, test := range []struct {
		value       string
		least, most time.Duration
	}{
		{"120", 2 * time.Minute, 150 * time.Second},
		{"999999999999999", time.Hour, 75 * time.Minute},
		{"date+300", 5 * time.Minute, 376 * time.Second},
		{"date+9000", time.Hour, 75 * time.Minute},
		{"date-300", time.Second, 2 * time.Second},
		{"0", time.Second, 2 * time.Second},
		{"soon", time.Second, 2 * time.Second},
		{"-5", time.Second, 2 * time.Second},
		{"", time.Second, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newRecorder(func(w http.ResponseWriter, n int) {
				var seconds int
				switch _, err := fmt.Sscanf(test.value, "date%d", &seconds); {
				case err == nil:
					w.Header().Set("Retry-After", time.Now().Add(time.Duration(seconds)*time.Second).UTC().Format(http.TimeFormat))
				case test.value != "":
					w.Header().Set("Retry-After", test.value)
				}
				if n == 1 {
					w.WriteHeader(http.StatusTooManyRequests)
				}
			})
			set := memory.New(nil)
			_, stop := run(t, pushlog.NewMemory(), []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
			defer stop()
			time.Sleep(time.Second)
			put(t, set, 1)
			time.Sleep(2 * time.Hour)
			posts := h.all()
			if len(posts) != 2 {
				t.Fatalf("%q: %d attempts", test.value, len(posts))
			}
			if d := posts[1].at.Sub(posts[0].at); d < test.least || d > test.most {
				t.Errorf("%q: tried again after %v, want %v to %v", test.value, d, test.least, test.most)
			}
		})
	}
}

// TestIndependent: a hub that hangs does not delay others.
func TestIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fine := newRecorder(nil)
		hanging := transport(func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "hangs.example.net" {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return fine.RoundTrip(r)
		})
		set, outbox := memory.New(nil), pushlog.NewMemory()
		p, stop := run(t, outbox, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hangs.example.net/"}, topic.RemoteHub{URI: "https://hub.example.net/"})},
			inBubble(hanging, nil))
		defer stop()
		time.Sleep(time.Second)
		start := time.Now()
		for n := range 20 {
			put(t, set, n)
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		posts := fine.all()
		if len(posts) < 20 || posts[0].at.Sub(start) > pause {
			t.Errorf("the other hub had %d notifications, the first after %v", len(posts), posts[0].at.Sub(start))
		}
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := status.Topics[0].Hubs[0]; got.Failures == 0 || got.LastError != "the hub has not answered within 10s" {
			t.Errorf("status %+v", got)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
