package rshttp_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// hubServer is a hub that accepts and records all requests.
type hubServer struct {
	t   *testing.T
	uri string

	mu     sync.Mutex
	posts  []post
	answer int // the status; 200 if zero
}

type post struct {
	method  string
	header  http.Header
	self    string // the topic
	body    string
	head    rsxml.Head
	entries []rsxml.Entry
}

func newHubServer(t *testing.T) *hubServer {
	h := &hubServer{t: t}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	h.uri = srv.URL + "/websub/"
	return h
}

func (h *hubServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p := post{method: r.Method, header: r.Header, body: string(body)}
	if p.head, p.entries, err = rsxml.Decode(bytes.NewReader(body)); err != nil {
		h.t.Errorf("the hub is sent %v\n%s", err, body)
	}
	p.self = links(h.t, r.Header)["self"][0]
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answer != 0 {
		w.WriteHeader(h.answer)
		return
	}
	h.posts = append(h.posts, p)
}

func (h *hubServer) answers(status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = status
}

// on returns the requests about the topics that end with suffix.
func (h *hubServer) on(suffix string) (posts []post) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.posts {
		if strings.HasSuffix(p.self, suffix) {
			posts = append(posts, p)
		}
	}
	return posts
}

// told returns the entries of the notifications on the topics that end with suffix, as
// the change and the path of each.
func (h *hubServer) told(suffix string) (told []string) {
	for _, p := range h.on(suffix) {
		for _, e := range p.entries {
			told = append(told, string(e.Metadata.Change)+" "+strings.TrimPrefix(e.Loc, "https://example.org/"))
		}
	}
	return told
}

// until waits until done reports true.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// links returns the targets of Link headers by relation type.
func links(t *testing.T, h http.Header) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, l := range linkheader.Parse(h["Link"]...) {
		for rel := range strings.FieldsSeq(l.Rel) {
			out[rel] = append(out[rel], l.Target)
		}
	}
	return out
}

// pushed returns a Source that pushes fast, and runs until the test ends or stop is
// called.
func pushed(t *testing.T, o rshttp.Options, sets ...rshttp.Set) (src *rshttp.Source, stop func()) {
	t.Helper()
	if o.Push.Flush == 0 {
		o.Push = topic.Options{Flush: 20 * time.Millisecond, Framework: 20 * time.Millisecond}
	}
	src = newSource(t, &o, sets...)
	return src, running(t, src)
}

// running runs src until the test ends or stop is called.
func running(t *testing.T, src *rshttp.Source) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- src.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// begun waits until the channels of a set whose topics begin with prefix have sent
// their first notifications.
func begun(t *testing.T, h *hubServer, prefix string) {
	t.Helper()
	until(t, "the first notifications of "+prefix, func() bool {
		return len(h.on(prefix+"framework/")) >= 3
	})
}

// A memoryStore is a Store in memory that several Sources can use in turn.
type memoryStore struct {
	log pushlog.Log
}

func storeOf(log pushlog.Log) rshttp.Store { return &memoryStore{log} }

func (s *memoryStore) Log(context.Context, string) (topiclog.Log, error) {
	return logtest.Seal(s.log), nil
}
func (s *memoryStore) Health(context.Context) error  { return nil }
func (s *memoryStore) Run(ctx context.Context) error { <-ctx.Done(); return nil }
