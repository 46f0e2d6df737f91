package publisher

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A keeping outbox drops nothing.
type keeping struct{ pushlog.Log }

func (keeping) Clear(context.Context, map[string][]string, time.Time, time.Time) ([]pushlog.Dropped, error) {
	return nil, nil
}

// wantInOrder wants every notification of the outbox to have been taken, in order;
// some of them more than once.
func wantInOrder(t *testing.T, outbox keeping, bodies [][]byte) {
	t.Helper()
	kept, err := outbox.Read(t.Context(), changeTopic, 0, 1_000_000, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for _, b := range bodies {
		switch {
		case i < len(kept) && bytes.Equal(b, kept[i].Body):
			i++
		case i > 0 && bytes.Equal(b, kept[i-1].Body): // again
		default:
			t.Fatalf("after %d notifications came another than the next", i)
		}
	}
	if i != len(kept) {
		t.Errorf("%d of %d notifications were taken", i, len(kept))
	}
}

// TestV20_V23_failures sends notifications through all kinds of failed requests: the
// exact bytes of the first attempt, in order, and complete.
func TestV20_V23_failures(t *testing.T) {
	t.Parallel()
	const few = 4
	for name, answer := range map[string]func(w http.ResponseWriter, n int){
		"500": func(w http.ResponseWriter, n int) {
			if n%2 == 1 {
				w.WriteHeader(http.StatusInternalServerError)
			}
		},
		"cut": func(w http.ResponseWriter, n int) {
			if n%2 == 1 {
				panic(http.ErrAbortHandler)
			}
		},
		"cut in the answer": func(w http.ResponseWriter, n int) {
			if n%2 == 1 {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					panic(err)
				}
				_, _ = conn.Write([]byte("HTTP/1.1 20")) // that it comes does not matter
				conn.Close()
				w.(*status).code = 0
			}
		},
		"slow": func(w http.ResponseWriter, n int) {
			if n%2 == 1 {
				time.Sleep(300 * time.Millisecond)
				w.WriteHeader(http.StatusInternalServerError) // for the record: nobody reads it
			}
		},
		"429": func(w http.ResponseWriter, n int) {
			if n%2 == 1 {
				if n == 1 {
					w.Header().Set("Retry-After", "1") // TestRetryAfter has more, in a bubble
				}
				w.WriteHeader(http.StatusTooManyRequests)
			}
		},
		"V5 redirect": func(w http.ResponseWriter, n int) {
			if n%2 == 1 {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		},
		"V14 endless answer": func(w http.ResponseWriter, n int) {
			w.WriteHeader(http.StatusOK)
			for i := 0; i < 10_000; i++ {
				if _, err := w.Write(make([]byte, 10_000)); err != nil {
					return
				}
			}
			t.Error("all of an endless answer was read")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, hub := hub(t, answer)
			set, outbox := memory.New(nil), keeping{pushlog.NewMemory()}
			timeout := 30 * time.Second
			if name == "slow" {
				timeout = 100 * time.Millisecond
			}
			run(t, outbox, []Channel{changeChannel(set, hub)}, &topic.Options{Flush: time.Millisecond, Timeout: timeout, Retry: 50 * time.Millisecond})
			begun(t, outbox, changeTopic)
			for n := range few {
				put(t, set, n)
				time.Sleep(100 * time.Millisecond)
			}
			for range 3000 {
				q, err := outbox.HubCursor(t.Context(), changeTopic, hub.URI)
				if err != nil {
					t.Fatal(err)
				}
				if q.Taken == few {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			wantInOrder(t, outbox, h.bodies())
		})
	}
}

// TestHubDown delivers to a hub that was down at first, and to the other hub at once.
func TestHubDown(t *testing.T) {
	t.Parallel()
	address := needs.Address(t)
	down := topic.RemoteHub{URI: "http://" + address + "/?token=sesame"}
	up, hub := hub(t, nil)
	set, outbox := memory.New(nil), keeping{pushlog.NewMemory()}
	var log bytes.Buffer
	p, stop := run(t, outbox, []Channel{changeChannel(set, down, hub)},
		&topic.Options{Flush: time.Millisecond, Retry: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	begun(t, outbox, changeTopic)
	for n := range 5 {
		put(t, set, n)
		up.wait(t, n+1)
	}
	var bad, good topic.HubStatus
	for deadline := time.Now().Add(needs.Patience); bad.Failures == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bad, good = status.Topics[0].Hubs[0], status.Topics[0].Hubs[1]
	}
	if bad.Behind != 5 || bad.Failures == 0 || bad.LastError == "" || bad.FailingSince.IsZero() || bad.NextAttempt.IsZero() {
		t.Errorf("status of the hub that is down: %+v", bad)
	}
	if good.Failures != 0 || good.LastError != "" {
		t.Errorf("status of the other hub: %+v", good)
	}
	if err := p.Health(t.Context()); err != nil {
		t.Errorf("health: %v", err)
	}
	h := newRecorder(nil)
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	server.Start()
	defer server.Close()
	h.wait(t, 5)
	stop()
	wantInOrder(t, outbox, h.bodies())
	for _, text := range []string{log.String(), fmt.Sprintf("%+v", bad)} {
		if strings.Contains(text, "sesame") {
			t.Errorf("a query was let out: %s", text)
		}
	}
	if n := strings.Count(log.String(), "has not accepted"); n != 1 {
		t.Errorf("%d lines about one failure:\n%s", n, log.String())
	}
}

// TestPing notifies a hub that fetches topics of the latest notification.
func TestPing(t *testing.T) {
	t.Parallel()
	h, hub := hub(t, func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	hub.Ping = true
	const escaped = "https%3A%2F%2Fmuseum.example.org%2Fresourcesync%2Finstruments%2Fchange%2F"
	set, outbox := memory.New(nil), pushlog.NewMemory()
	p, _ := run(t, outbox, []Channel{changeChannel(set, hub)}, &topic.Options{Flush: time.Millisecond, FlushChanges: 1, Retry: 50 * time.Millisecond})
	begun(t, outbox, changeTopic)
	var ns []int
	for n := range 20 {
		ns = append(ns, n)
	}
	put(t, set, ns...)
	for _, post := range h.wait(t, 2) {
		if post.header.Get("Content-Type") != "application/x-www-form-urlencoded" || post.header.Get("Link") != "" ||
			string(post.body) != "hub.mode=publish&hub.topic="+escaped+"&hub.url="+escaped {
			t.Errorf("%v %s", post.header, post.body)
		}
	}
	for range 1000 {
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := status.Topics[0]; got.Newest == 20 && got.Hubs[0].Behind == 0 && got.Hubs[0].Lost == 0 {
			if n := len(h.all()); n > 5 {
				t.Errorf("%d pings", n)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the hub stays behind")
}

// TestRetention counts notifications that a hub did not accept in time, and continues.
func TestRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(30 * 24 * time.Hour)
		h := newRecorder(func(w http.ResponseWriter, n int) {
			if time.Now().Before(end) {
				w.WriteHeader(http.StatusBadGateway)
			}
		})
		set, outbox := memory.New(nil), pushlog.NewMemory()
		p, stop := run(t, outbox, []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Second)
		for n := range 30 {
			put(t, set, n)
			time.Sleep(24 * time.Hour)
		}
		time.Sleep(24 * time.Hour)
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := status.Topics[0].Hubs[0]
		if taken := int64(len(h.bodies())); got.Lost < 15 || got.Lost > 17 || got.Lost+taken != 30 || got.Behind != 0 {
			t.Errorf("%d taken, status %+v", taken, got)
		}
		if c := p.Counters(); c.Lost != uint64(got.Lost) {
			t.Errorf("counters %+v", c)
		}
	})
}

// TestRepairedHub: a process that starts to publish does not wait as long as the
// previous one would have.
func TestRepairedHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		h := newRecorder(func(w http.ResponseWriter, n int) {
			if down.Load() {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		outbox, set := pushlog.NewMemory(), memory.New(nil)
		channels := []Channel{changeChannel(set, topic.RemoteHub{URI: "https://hub.example.net/"})}
		_, stop := run(t, outbox, channels, inBubble(h, nil))
		time.Sleep(time.Second)
		put(t, set, 1)
		time.Sleep(6 * time.Hour) // it is tried every hour by now
		stop()
		down.Store(false)
		_, stop = run(t, outbox, channels, inBubble(h, nil))
		defer stop()
		time.Sleep(time.Second)
		if len(h.bodies()) != 1 {
			t.Error("the hub has not been tried at once")
		}
	})
}
