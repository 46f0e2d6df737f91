package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

// A transport answers in place of callbacks, without a network.
type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func confirms(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(r.URL.Query().Get("hub.challenge")))}, nil
}

func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// request stores a request to subscribe.
func request(t *testing.T, store pushlog.Log, callback string) {
	t.Helper()
	err := store.Request(t.Context(), pushlog.Request{Topic: testTopic, Callback: callback, Host: "example.net", Lease: time.Hour, Made: time.Now()}, pushlog.Limits{})
	if err != nil {
		t.Fatal(err)
	}
}

// bubble runs a hub on store until the returned function is called. answer answers in
// place of callbacks.
func bubble(t *testing.T, store pushlog.Log, answer transport) (stop func()) {
	t.Helper()
	h, err := New(testHub, logtest.Seal(store), &Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h.Register(testTopic)
	h.transport = answer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func count(t *testing.T, store pushlog.Log) (n int) {
	t.Helper()
	for _, err := range store.Subscriptions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// An accepted request is verified even if the process that began to verify it has died.
func TestRequestsSurviveCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		request(t, store, "http://example.net/")
		if claimed, err := store.ClaimRequests(t.Context(), "dead", 10); err != nil || len(claimed) != 1 {
			t.Fatal(claimed, err)
		}
		stop := bubble(t, store, confirms)
		defer stop()
		time.Sleep(pushlog.VerifyTime - time.Second)
		if n := count(t, store); n != 0 {
			t.Errorf("%d subscriptions while another owner may be at work", n)
		}
		time.Sleep(3 * time.Second)
		if n := count(t, store); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// Run ends within the grace period of callbacks, and the next process repeats the
// requests that they have not answered.
func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		request(t, store, "http://example.net/")
		stop := bubble(t, store, hangs)
		time.Sleep(time.Second)
		before := time.Now()
		stop()
		if took := time.Since(before); took > 2*grace {
			t.Errorf("it took %v", took)
		}
		stop = bubble(t, store, confirms)
		defer stop()
		time.Sleep(pushlog.VerifyTime + time.Second)
		if n := count(t, store); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// More requests for a hanging host than can be held do not keep requests for other
// hosts from being verified.
func TestHangingFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		for i := range requestsHeld - 1 {
			request(t, store, fmt.Sprintf("http://example.net/%d", i))
		}
		r := pushlog.Request{Topic: testTopic, Callback: "http://quick.example/", Host: "quick.example", Lease: time.Hour, Made: time.Now()}
		if err := store.Request(t.Context(), r, pushlog.Limits{}); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		inFlight, most := 0, 0
		stop := bubble(t, store, func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "quick.example" {
				return confirms(r)
			}
			mu.Lock()
			inFlight++
			most = max(most, inFlight)
			mu.Unlock()
			defer func() {
				mu.Lock()
				inFlight--
				mu.Unlock()
			}()
			return hangs(r)
		})
		defer stop()
		time.Sleep(time.Second)
		if n := count(t, store); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
		time.Sleep(5 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if most != verifyingPerHost {
			t.Errorf("%d requests to one host at a time", most)
		}
	})
}

// A client that names many hanging hosts does not keep the requests of others from
// being verified.
func TestHangingClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		ask := func(client, host string) {
			r := pushlog.Request{Topic: testTopic, Callback: "http://" + host + "/", Host: host, Client: client, Lease: time.Hour, Made: time.Now()}
			if err := store.Request(t.Context(), r, pushlog.Limits{}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range DefaultLimits.ClientPending {
			ask("192.0.2.1", fmt.Sprintf("host%d.example.net", i))
		}
		stop := bubble(t, store, func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "quick.example" {
				return confirms(r)
			}
			return hangs(r)
		})
		defer stop()
		time.Sleep(time.Second)
		ask("192.0.2.2", "quick.example")
		time.Sleep(time.Second)
		if n := count(t, store); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// A store that fails for a while only delays requests.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{Log: pushlog.NewMemory()}
		request(t, store, "http://example.net/")
		store.fail(true)
		stop := bubble(t, store, confirms)
		defer stop()
		time.Sleep(time.Minute)
		store.fail(false)
		time.Sleep(pushlog.VerifyTime + 3*time.Second)
		if n := count(t, store); n != 1 {
			t.Errorf("%d subscriptions", n)
		}
	})
}

// failing is a Store that fails on demand.
type failing struct {
	pushlog.Log
	mu    sync.Mutex
	fails bool
}

var errDown = errors.New("the database is down")

func (s *failing) fail(fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = fails
}

func (s *failing) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errDown
	}
	return nil
}

func (s *failing) Request(ctx context.Context, r pushlog.Request, l pushlog.Limits) error {
	return errors.Join(s.err(), s.Log.Request(ctx, r, l))
}

func (s *failing) ClaimRequests(ctx context.Context, owner string, max int) ([]pushlog.Request, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.Log.ClaimRequests(ctx, owner, max)
}

func (s *failing) Apply(ctx context.Context, owner string, r pushlog.Request, expires time.Time) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Log.Apply(ctx, owner, r, expires)
}

func (s *failing) Watch(ctx context.Context, wake func()) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.Log.Watch(ctx, wake)
}

// A notification that is appended while the subscriber confirms is delivered: the subscriber relies
// on its subscription from then on.
func TestAppendedDuringConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := pushlog.NewMemory()
		var delivered []string
		stop := bubble(t, store, func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				appendTo(t, store, pushlog.Notification{Topic: testTopic, CapabilityList: "https://example.org/capabilitylist.xml", Body: []byte("during")})
				time.Sleep(time.Second)
				return confirms(r)
			}
			body, err := io.ReadAll(r.Body)
			delivered = append(delivered, string(body))
			return &http.Response{StatusCode: 200, Body: http.NoBody}, err
		})
		appendTo(t, store, pushlog.Notification{Topic: testTopic, CapabilityList: "https://example.org/capabilitylist.xml", Body: []byte("before")})
		request(t, store, "http://example.net/")
		time.Sleep(time.Minute)
		stop()
		if len(delivered) != 1 || delivered[0] != "during" {
			t.Errorf("delivered %q", delivered)
		}
	})
}
