package hub

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

// docs/requirements.md names the tests of each requirement, and docs/security.md states the attacks
// (V). Each test with a log also checks V10, and each response V25.

const (
	// Neither may ever be in a log.
	testSecret = "s3cret-of-the-subscriber"
	testQuery  = "tok3n-in-the-query"
)

// discardLog is for servers that get invalid requests on purpose.
var discardLog = log.New(io.Discard, "", 0)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

// A front is a running hub, with its URL.
type front struct {
	*Hub
	t     *testing.T
	store pushlog.Log
	url   string
	log   *lockedBuffer
}

// claims is a log that knows the subscriptions that a hub has claimed.
type claims struct {
	pushlog.Log
	mu  sync.Mutex
	ids map[int64]bool
}

func (c *claims) held() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ids)
}

func (c *claims) Claim(ctx context.Context, owner string, max int) ([]pushlog.Subscription, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	claimed, err := c.Log.Claim(ctx, owner, max)
	for _, s := range claimed {
		c.ids[s.ID] = true
	}
	return claimed, err
}

func (c *claims) Save(ctx context.Context, owner string, progress []pushlog.Progress) ([]int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost, err := c.Log.Save(ctx, owner, progress)
	for _, p := range progress {
		if p.Release || p.End {
			delete(c.ids, p.ID)
		}
	}
	for _, id := range lost {
		delete(c.ids, id)
	}
	return lost, err
}

// newFront runs a hub that serves testTopic and may call 127.0.0.1.
func newFront(t *testing.T, o Options) *front {
	t.Helper()
	f := idleFront(t, o)
	f.run()
	return f
}

// run runs the hub until the test ends.
func (f *front) run() {
	ctx, stop := context.WithCancel(f.t.Context())
	ended := make(chan error)
	go func() { ended <- f.Run(ctx) }()
	f.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
		for _, s := range []string{testSecret, testQuery, "t0ken"} {
			if strings.Contains(f.log.String(), s) {
				f.t.Errorf("the log gives %q away:\n%s", s, f.log)
			}
		}
	})
}

// idleFront returns a hub that does not run.
func idleFront(t *testing.T, o Options) *front {
	t.Helper()
	log := &lockedBuffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.AllowCallbacks == nil {
		o.AllowCallbacks = loopback
	}
	store := &claims{Log: pushlog.NewMemory(), ids: map[int64]bool{}}
	h, err := New(testHub, logtest.Seal(store), &o)
	if err != nil {
		t.Fatal(err)
	}
	h.Register(testTopic)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &front{Hub: h, t: t, store: store, url: server.URL, log: log}
}

// post sends a form: a plain request to subscribe, with parameters added or replaced.
func (f *front) post(callback string, params ...string) (status int, text string) {
	f.t.Helper()
	form := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {callback}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, f.url, strings.NewReader(form.Encode()))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return f.do(r)
}

// do sends r, and checks the rules for every response.
func (f *front) do(r *http.Request) (status int, text string) {
	f.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	if answer.Header.Get("Content-Type") != "text/plain; charset=utf-8" || answer.Header.Get("X-Content-Type-Options") != "nosniff" {
		f.t.Errorf("status %d is not plain text: %v", answer.StatusCode, answer.Header)
	}
	if answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get("Retry-After") == "" {
		f.t.Error("429 without Retry-After")
	}
	return answer.StatusCode, string(body)
}

// accepted posts, and waits until the hub has finished with the request.
func (f *front) accepted(callback string, params ...string) {
	f.t.Helper()
	done := func() int64 {
		n := f.requestTotals.Load()
		return n.Verified + n.Unverified + n.Denied
	}
	before := done()
	if status, text := f.post(callback, params...); status != http.StatusAccepted {
		f.t.Fatalf("status %d: %s", status, text)
	}
	within(f.t, "a request that is worked on", func() bool { return done() > before })
}

// subscribed adds a subscription to an idle hub, as if it had been verified.
func (f *front) subscribed(callback, secret string) {
	f.t.Helper()
	subscribed(f.t, f.store, callback, secret, time.Hour)
}

func (f *front) subscriptions() []pushlog.Subscription {
	f.t.Helper()
	var all []pushlog.Subscription
	for s, err := range f.store.Subscriptions(f.t.Context()) {
		if err != nil {
			f.t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// requests returns the number of requests in the store of an idle hub.
func (f *front) requests() int {
	f.t.Helper()
	claimed, err := f.store.ClaimRequests(f.t.Context(), "test", 1000)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(claimed)
}

// A subscriber is a server that answers the hub's verifications.
type subscriber struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string // the targets of GET requests, as they came
	answer http.HandlerFunc
}

// newSubscriber starts a subscriber that answers with the challenge.
func newSubscriber(t *testing.T) *subscriber {
	s := &subscriber{answer: echo}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			return
		}
		s.mu.Lock()
		s.asked = append(s.asked, r.RequestURI)
		answer := s.answer
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// echo confirms. The last value of a parameter counts, because a callback may have its
// own.
func echo(w http.ResponseWriter, r *http.Request) {
	if challenges := r.URL.Query()["hub.challenge"]; len(challenges) > 0 {
		io.WriteString(w, challenges[len(challenges)-1])
	}
}

func (s *subscriber) answers(answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// requests returns the targets of the requests so far.
func (s *subscriber) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// challenges returns the different challenges so far. net/http itself repeats a
// request whose connection was closed before it could be read.
func (s *subscriber) challenges(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, target := range s.requests() {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		all[u.Query().Get("hub.challenge")] = true
	}
	return all
}

// last returns the parameters of the newest request.
func (s *subscriber) last(t *testing.T) url.Values {
	t.Helper()
	asked := s.requests()
	if len(asked) == 0 {
		t.Fatal("the subscriber was not asked")
	}
	u, err := url.ParseRequestURI(asked[len(asked)-1])
	if err != nil {
		t.Fatal(err)
	}
	return u.Query()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// example returns the notification of the specification, with its errata corrected.
func example(t *testing.T) pushlog.Notification {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "testdata", "change-notification", "example-1.xml"))
	if err != nil {
		t.Fatal(err)
	}
	return pushlog.Notification{Topic: testTopic, CapabilityList: "https://example.org/capabilitylist.xml", Body: body}
}
