package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

const (
	testHub   = "https://hub.example/websub/"
	testTopic = "https://example.org/change/"
)

// deliveryOptions have short times, and allow loopback addresses.
func deliveryOptions() *Options {
	return &Options{
		AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Retry:          20 * time.Millisecond,
		Logger:         slog.New(slog.DiscardHandler),
	}
}

// deliveryHub returns a hub of testTopic.
func deliveryHub(t testing.TB, store pushlog.Log, o *Options) *Hub {
	t.Helper()
	h, err := New(testHub, logtest.Seal(store), o)
	if err != nil {
		t.Fatal(err)
	}
	h.Register(testTopic)
	return h
}

// start runs the deliveries of h until the test or stop ends.
func start(t testing.TB, h *Hub) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.deliver(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("deliver: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// subscribed adds a subscription, as if it had been verified.
func subscribed(t testing.TB, store pushlog.Log, callback, secret string, lease time.Duration) {
	t.Helper()
	host := callback[strings.Index(callback, "://")+3:]
	if i := strings.IndexAny(host, ":/?"); i >= 0 {
		host = host[:i]
	}
	r := pushlog.Request{Topic: testTopic, Callback: callback, Host: host, Client: "test", Lease: lease, Made: time.Now()}
	if secret != "" {
		r.Secret = []byte(secret)
	}
	applied(t, store, r)
}

// applied applies a request.
func applied(t testing.TB, store pushlog.Log, r pushlog.Request) {
	t.Helper()
	if err := store.Request(t.Context(), r, pushlog.Limits{}); err != nil {
		t.Fatal(err)
	}
	rs, err := store.ClaimRequests(t.Context(), "test", 1)
	if err != nil || len(rs) != 1 {
		t.Fatal(rs, err)
	}
	if err := store.Apply(t.Context(), "test", rs[0], time.Now().Add(r.Lease)); err != nil {
		t.Fatal(err)
	}
}

// publish appends a notification with the given text to the log of h.
func publish(t testing.TB, h *Hub, body string) {
	t.Helper()
	appendTo(t, h.store, pushlog.Notification{Topic: testTopic, CapabilityList: "https://example.org/capabilitylist.xml", Body: []byte(body)})
}

// appendTo appends a notification to a log.
func appendTo(t testing.TB, log pushlog.Log, n pushlog.Notification) {
	t.Helper()
	for {
		before, err := log.State(t.Context(), n.Topic)
		if err != nil {
			t.Fatal(err)
		}
		err = log.Append(t.Context(), n, before, pushlog.State{Number: before.Number + 1, Until: time.Now()})
		if errors.Is(err, pushlog.ErrMoved) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
}

// only returns the only subscription.
func only(t testing.TB, store pushlog.Log) pushlog.Subscription {
	t.Helper()
	var found []pushlog.Subscription
	for sub, err := range store.Subscriptions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, sub)
	}
	if len(found) != 1 {
		t.Fatalf("there are %d subscriptions", len(found))
	}
	return found[0]
}

// within waits until ok.
func within(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(needs.Patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// A delivery is a request to a callback.
type delivery struct {
	method, uri string
	header      http.Header
	body        string
}

// A callback is a subscriber's server.
type callback struct {
	*httptest.Server
	answer func(w http.ResponseWriter, r *http.Request, n int) // to the n-th delivery, from 1; nil: 204

	mu  sync.Mutex
	got []delivery
}

func newCallback(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, n int)) *callback {
	c := &callback{answer: answer}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // it was cut off: nothing was delivered
	}
	c.mu.Lock()
	c.got = append(c.got, delivery{r.Method, r.RequestURI, r.Header, string(body)})
	n := len(c.got)
	c.mu.Unlock()
	if c.answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	c.answer(w, r, n)
}

func (c *callback) deliveries() []delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func (c *callback) bodies() []string {
	var out []string
	for _, d := range c.deliveries() {
		out = append(out, d.body)
	}
	return out
}

// await waits for n deliveries and returns them.
func (c *callback) await(t testing.TB, n int) []delivery {
	t.Helper()
	within(t, fmt.Sprintf("%d deliveries", n), func() bool { return len(c.deliveries()) >= n })
	return c.deliveries()
}

// status answers with a status code.
func status(code int) func(w http.ResponseWriter, r *http.Request, n int) {
	return func(w http.ResponseWriter, r *http.Request, n int) { w.WriteHeader(code) }
}

// once delivers one message to a subscriber with a callback at path, and returns the
// request.
func once(t *testing.T, path, secret string, o *Options) delivery {
	t.Helper()
	store := pushlog.NewMemory()
	h := deliveryHub(t, store, o)
	c := newCallback(t, nil)
	subscribed(t, store, c.URL+path, secret, time.Hour)
	start(t, h)
	publish(t, h, "<urlset/>\n")
	return c.await(t, 1)[0]
}
