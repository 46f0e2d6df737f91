package hub

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// answering returns a world in which a subscriber answers a message with a status; 0 is a
// connection that fails.
func answering(answer func(message int, since time.Duration) int) *world {
	began := time.Now()
	var w *world
	w = newWorld(func(path string, message int, _ *http.Request) (int, error) {
		status := answer(message, time.Since(began))
		switch {
		case status == 0:
			return 0, errors.New("connection refused")
		case status == 200:
			w.take(path, message)
		}
		return status, nil
	})
	return w
}

// TestV18_SetAside has a subscriber refuse messages. Each case states the messages that
// it has accepted after some time, and the last message that was given up.
func TestV18_SetAside(t *testing.T) {
	refuse := func(status int, refused ...int) func(int, time.Duration) int {
		return func(message int, _ time.Duration) int {
			if slices.Contains(refused, message) {
				return status
			}
			return 200
		}
	}
	everySecond := func(status int) func(int, time.Duration) int {
		attempts := 0
		return func(message int, _ time.Duration) int {
			if message != 2 {
				return 200
			}
			attempts++
			return []int{400, status}[attempts%2]
		}
	}
	until := func(end time.Duration, status int) func(int, time.Duration) int {
		return func(_ int, since time.Duration) int {
			if since < end {
				return status
			}
			return 200
		}
	}
	for name, c := range map[string]struct {
		answer  func(message int, since time.Duration) int
		after   time.Duration
		want    []int
		givenUp []int64
	}{
		"400, before the hour":         {refuse(400, 2), 59 * time.Minute, []int{1}, nil},
		"400, after the hour":          {refuse(400, 2), 61 * time.Minute, []int{1, 3, 4}, []int64{2}},
		"404, 422, 499":                {func(m int, _ time.Duration) int { return []int{200, 404, 422, 499}[m-1] }, 2 * time.Hour, []int{1}, nil},
		"each message that is refused": {refuse(413, 1, 3), 3 * time.Hour, []int{2, 4}, []int64{1, 3}},
		"the newest":                   {refuse(400, 4), 5 * time.Hour, []int{1, 2, 3}, nil},
		"two in a row":                 {refuse(400, 2, 3), 5 * time.Hour, []int{1}, nil},
		"two in a row, after GiveUp":   {refuse(400, 2, 3), 8 * time.Hour, []int{1, 4}, []int64{2, 3}},
		"all":                          {refuse(400, 1, 2, 3, 4), 5 * time.Hour, nil, nil},
		"everything for a time":        {until(3*time.Hour, 404), 4*time.Hour + time.Minute, []int{1, 2, 3, 4}, nil},
		"unavailable":                  {refuse(503, 2), 5 * time.Hour, []int{1}, nil},
		"a connection that fails":      {refuse(0, 2), 5 * time.Hour, []int{1}, nil},
		"redirected":                   {refuse(302, 2), 5 * time.Hour, []int{1}, nil},
		"unavailable, then refused": {func(m int, since time.Duration) int {
			switch {
			case m != 2:
				return 200
			case since < 2*time.Hour:
				return 503
			}
			return 400
		}, 2*time.Hour + 50*time.Minute, []int{1}, nil},
		"unavailable every second time": {everySecond(503), 5 * time.Hour, []int{1}, nil},
		"401":                           {refuse(401, 2), 5 * time.Hour, []int{1}, nil},
		"403":                           {refuse(403, 2), 5 * time.Hour, []int{1}, nil},
		"408":                           {refuse(408, 2), 5 * time.Hour, []int{1}, nil},
		"425":                           {refuse(425, 2), 5 * time.Hour, []int{1}, nil},
		"429":                           {refuse(429, 2), 5 * time.Hour, []int{1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := answering(c.answer)
				store := pushlog.NewMemory()
				subscribed(t, store, "http://s/", "", 10*24*time.Hour)
				o := deliveryOptions()
				o.Retry, o.GiveUp = 0, 6*time.Hour
				p := newProcessAt(t, forHours, store, w, o)
				for m := range 4 {
					publish(t, p.hub, fmt.Sprint(m+1))
				}
				time.Sleep(c.after)
				p.stop()
				if got := w.of("s"); !slices.Equal(got, c.want) {
					t.Errorf("the subscriber has accepted %v, want %v", got, c.want)
				}
				pr := only(t, store).Progress
				if n := int64(len(c.givenUp)); pr.GivenUp != n || n > 0 && pr.LastGivenUp != c.givenUp[n-1] || pr.Delivered != int64(len(c.want)) {
					t.Errorf("%+v; %d were given up", pr, c.givenUp)
				}
			})
		})
	}
}

// TestWH48_V18_GivenUp has one of three messages fail. It is given up after three days,
// the status reports that, and the subscription and the other messages continue.
func TestWH48_V18_GivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := answering(func(message int, _ time.Duration) int {
			if message == 2 {
				return 403
			}
			return 200
		})
		store := pushlog.NewMemory()
		subscribed(t, store, "http://s/", "", 10*24*time.Hour)
		o := deliveryOptions()
		o.Retry = 0
		const giveUp = 72 * time.Hour // by default
		const before = giveUp * 5 / 6
		p := newProcessAt(t, forHours, store, w, o)
		for m := range 3 {
			publish(t, p.hub, fmt.Sprint(m+1))
		}
		time.Sleep(before)
		sub := only(t, store)
		if got := w.of("s"); !slices.Equal(got, []int{1}) || sub.Progress.GivenUp != 0 || sub.Progress.LastError != "answered 403 Forbidden" || sub.Progress.FailingSince.IsZero() {
			t.Fatalf("after %v: %v, %+v", before, got, sub.Progress)
		}
		if s, err := p.hub.Status(t.Context()); err != nil || s.Failing != 1 || s.Waiting != 1 || time.Since(s.OldestWaiting) < before {
			t.Errorf("after %v: %+v, %v", before, s, err)
		}
		time.Sleep(giveUp - before + 8*time.Hour) // the longest pause between attempts
		publish(t, p.hub, "4")
		time.Sleep(2 * forHours)
		sub = only(t, store)
		if got := w.of("s"); !slices.Equal(got, []int{1, 3, 4}) {
			t.Errorf("delivered %v", got)
		}
		if pr := sub.Progress; pr.GivenUp != 1 || pr.LastGivenUp != 2 || pr.Delivered != 3 || pr.Taken != 4 || pr.Failures != 0 {
			t.Errorf("%+v", pr)
		}
		s, err := p.hub.Status(t.Context())
		if err != nil || s.Deliveries.GivenUp != 1 || s.Subscriptions != 1 || s.Failing != 0 || s.Waiting != 0 || !s.OldestWaiting.IsZero() || s.Deliveries.Delivered != 3 {
			t.Errorf("%+v, %v", s, err)
		}
		p.stop()
	})
}

// A message that is published while the newest one is refused is sent within an hour.
func TestWH48_PublishedWhileRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := answering(func(message int, _ time.Duration) int { return []int{400, 200}[message-1] })
		store := pushlog.NewMemory()
		subscribed(t, store, "http://s/", "", 10*24*time.Hour)
		o := deliveryOptions()
		o.Retry = 0
		p := newProcessAt(t, forHours, store, w, o)
		publish(t, p.hub, "1")
		time.Sleep(20*time.Hour + 30*time.Minute)
		publish(t, p.hub, "2")
		time.Sleep(time.Hour + time.Minute)
		p.stop()
		if got := w.of("s"); !slices.Equal(got, []int{2}) {
			t.Errorf("the subscriber has accepted %v", got)
		}
	})
}

// TestWH47_WH48_KeptForItsLease has every delivery fail until shortly before the lease ends. The
// subscription is kept until then, each message is sent although all previous ones have failed,
// and the last is accepted. After the lease nothing is sent.
func TestWH47_WH48_KeptForItsLease(t *testing.T) {
	const (
		lease    = 24 * time.Hour
		messages = 6
		every    = lease / messages
	)
	for _, status := range []int{0, 404, 302, 503} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				attempts := make(map[int]int)
				attemptsOf := func(message int) int {
					mu.Lock()
					defer mu.Unlock()
					return attempts[message]
				}
				w := answering(func(message int, since time.Duration) int {
					mu.Lock()
					attempts[message]++
					mu.Unlock()
					if since < lease-every+time.Hour {
						return status
					}
					return 200
				})
				store := pushlog.NewMemory()
				began := time.Now()
				subscribed(t, store, "http://s/", "", lease)
				o := deliveryOptions()
				o.Retry, o.GiveUp = 0, every/2
				p := newProcessAt(t, forHours, store, w, o)
				for m := range messages {
					publish(t, p.hub, fmt.Sprint(m+1))
					time.Sleep(every - time.Minute)
					if sub := only(t, store); !sub.Expires.Equal(began.Add(lease)) {
						t.Errorf("the subscription expires at %v", sub.Expires)
					}
					if attemptsOf(m+1) == 0 {
						t.Errorf("message %d was not sent", m+1)
					}
					time.Sleep(time.Minute)
				}
				publish(t, p.hub, fmt.Sprint(messages+1))
				time.Sleep(time.Hour)
				p.stop()
				if got := w.of("s"); !slices.Equal(got, []int{messages}) || attemptsOf(messages+1) > 0 {
					t.Errorf("accepted %v, and the last message was sent %d times", got, attemptsOf(messages+1))
				}
			})
		})
	}
}
