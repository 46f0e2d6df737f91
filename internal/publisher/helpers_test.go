package publisher

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

const (
	changeTopic    = "https://museum.example.org/resourcesync/instruments/change/"
	frameworkTopic = "https://museum.example.org/resourcesync/instruments/framework/"
	capabilityList = "https://museum.example.org/resourcesync/instruments/capabilitylist.xml"
	description    = "https://museum.example.org/.well-known/resourcesync"
)

// A post is a request that a hub has received.
type post struct {
	at     time.Time
	method string
	header http.Header
	body   []byte
	code   int // status of the response; 0 if there is none
}

// A recorder is a hub that records its requests. answer, which may be nil, returns the
// response; n counts the requests from 1.
type recorder struct {
	answer func(w http.ResponseWriter, n int)

	mu    sync.Mutex
	posts []post
	news  chan struct{}
}

func newRecorder(answer func(w http.ResponseWriter, n int)) *recorder {
	return &recorder{answer: answer, news: make(chan struct{}, 1)}
}

func (h *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.posts = append(h.posts, post{at: time.Now(), method: r.Method, header: r.Header.Clone(), body: body})
	n := len(h.posts)
	h.mu.Unlock()
	respond := func(code int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.posts[n-1].code = code
	}
	rec := &status{ResponseWriter: w, code: 200, respond: respond}
	if h.answer != nil {
		h.answer(rec, n)
	}
	respond(rec.code)
	background.Signal(h.news)
}

// RoundTrip makes h a transport, for tests in a bubble.
func (h *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// A status knows the status of a response before the client does.
type status struct {
	http.ResponseWriter
	code    int
	respond func(code int)
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.respond(code)
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (h *recorder) all() []post {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.posts)
}

// bodies returns the bodies that were answered 2xx, in the order of the requests.
func (h *recorder) bodies() (bodies [][]byte) {
	for _, p := range h.all() {
		if p.code/100 == 2 {
			bodies = append(bodies, p.body)
		}
	}
	return bodies
}

// wait waits for n requests.
func (h *recorder) wait(t *testing.T, n int) []post {
	t.Helper()
	deadline := time.After(needs.Patience)
	for {
		if posts := h.all(); len(posts) >= n {
			return posts
		}
		select {
		case <-h.news:
		case <-deadline:
			t.Fatalf("the hub has had %d requests, want %d", len(h.all()), n)
		}
	}
}

// run runs a Publisher of channels until the test or stop ends it.
func run(t *testing.T, outbox pushlog.Log, channels []Channel, opts *topic.Options) (p *Publisher, stop func()) {
	t.Helper()
	if opts == nil {
		opts = &topic.Options{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelError + 1}))
	}
	p, err := New(outbox, channels, nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(stop)
	return p, stop
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}

// begun waits until the topic has been begun.
func begun(t *testing.T, o pushlog.Log, topic string) pushlog.State {
	t.Helper()
	for range 6000 {
		s, err := o.State(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Equal(pushlog.State{}) {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("topic %s has not begun", topic)
	return pushlog.State{}
}

// changeChannel is the change channel of the journal c.
func changeChannel(c resourcesync.Changer, hubs ...topic.RemoteHub) Channel {
	ch := Channel{Topic: changeTopic, CapabilityList: capabilityList, Hubs: hubs, Changer: c}
	ch.Watcher, _ = c.(resourcesync.Watcher)
	ch.Stater, _ = c.(resourcesync.Stater)
	return ch
}

func resource(n int) resourcesync.Resource {
	return resourcesync.Resource{Key: fmt.Sprintf("%08d", n), URI: fmt.Sprintf("https://museum.example.org/objects/%d", n)}
}

// put puts resources into a set.
func put(t *testing.T, set *memory.Set, ns ...int) {
	t.Helper()
	var rs []resourcesync.Resource
	for _, n := range ns {
		r := resource(n)
		r.LastModified = time.Now().UTC()
		rs = append(rs, r)
	}
	if err := set.Put(t.Context(), rs...); err != nil {
		t.Fatal(err)
	}
}

// decode reads a notification strictly.
func decode(t *testing.T, body []byte) (rsxml.Head, []rsxml.Entry) {
	t.Helper()
	h, entries, err := rsxml.Decode(bytes.NewReader(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return h, entries
}

// A journal is a Changer of changes given by hand, without a version.
type journal struct {
	mu      sync.Mutex
	since   time.Time
	changes []resourcesync.Change // in order
}

func (j *journal) add(at time.Time, n int) { j.addAll(changed(at, n)) }

// addAll adds changes at once, each in its place.
func (j *journal) addAll(changes ...resourcesync.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range changes {
		i, _ := slices.BinarySearchFunc(j.changes, c, func(a, b resourcesync.Change) int { return a.Datetime.Compare(b.Datetime.Add(1)) })
		j.changes = slices.Insert(j.changes, i, c)
	}
}

func changed(at time.Time, n int) resourcesync.Change {
	return resourcesync.Change{Type: resourcesync.Updated, Datetime: at, Resource: resource(n)}
}

// drop removes the changes before t.
func (j *journal) drop(t time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.since = t
	j.changes = slices.DeleteFunc(j.changes, func(c resourcesync.Change) bool { return c.Datetime.Before(t) })
}

func (j *journal) Since(context.Context) (time.Time, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.since, nil
}

func (j *journal) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		j.mu.Lock()
		i, _ := slices.BinarySearchFunc(j.changes, iv.From, func(c resourcesync.Change, t time.Time) int { return c.Datetime.Compare(t) })
		changes := slices.Clone(j.changes[i:])
		j.mu.Unlock()
		for _, c := range changes {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}
