package replica_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/replica"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A source is a Source in memory.
type source struct {
	*httptest.Server
	set *memory.Set

	mu     sync.Mutex
	bodies map[string]string
}

func newSource(t testing.TB) *source {
	t.Helper()
	s := &source{set: memory.New(nil), bodies: make(map[string]string)}
	s.Server = httptest.NewUnstartedServer(nil)
	src, err := rshttp.New("http://"+s.Listener.Addr().String()+"/resourcesync/", []rshttp.Set{{Provider: s.set, Prefix: "/"}}, nil)
	must(t, err)
	s.Config.Handler = src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		body, ok := s.bodies[r.URL.EscapedPath()]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, body)
	}))
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *source) put(t testing.TB, path, body string, links ...resourcesync.Link) {
	t.Helper()
	s.mu.Lock()
	s.bodies[path] = body
	s.mu.Unlock()
	sum := sha256.Sum256([]byte(body))
	must(t, s.set.Put(t.Context(), resourcesync.Resource{
		Key: path, URI: s.URL + path, Length: resourcesync.Bytes(int64(len(body))), Type: "text/plain", Links: links,
		LastModified: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}},
	}))
}

func (s *source) remove(path string) {
	s.mu.Lock()
	delete(s.bodies, path)
	s.mu.Unlock()
	s.set.Delete(context.Background(), path)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const base = "https://aggregator.example.org/copies/"

// A mirror is a replica of one Source.
type mirror struct {
	*replica.Aggregator
	*destination.Destination
	set *sqlstore.Set

	stop func()
}

// open opens the replica in a folder. wrap, if not nil, returns the set that it uses.
func open(t testing.TB, s *source, dir string, wrap func(*sqlstore.Set) replica.Set) *mirror {
	t.Helper()
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(dir, "set.db"), nil)
	must(t, err)
	c := &mirror{}
	c.set, err = store.Set(t.Context(), "copies", nil)
	must(t, err)
	var set replica.Set = c.set
	if wrap != nil {
		set = wrap(c.set)
	}
	c.Aggregator, err = replica.NewAggregator(t.Context(), base, set, &replica.AggregatorOptions{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	folder, err := destination.OpenFolder(filepath.Join(dir, "files"))
	must(t, err)
	sink, err := c.Sink("a", folder)
	must(t, err)
	c.Destination, err = destination.New(s.URL, sink, &destination.Options{State: filepath.Join(dir, "state"), Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		c.Close()
		folder.Close()
		store.Close()
	})
	t.Cleanup(c.stop)
	return c
}

// same checks that the set and the copies equal the Source.
func (c *mirror) same(t testing.TB, s *source) {
	t.Helper()
	listed := 0
	for r, err := range c.set.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		listed++
		original := strings.TrimPrefix(r.Links[0].Href, s.URL)
		body, ok := s.bodies[original]
		if !ok || len(r.Links) != 1 || r.Links[0].Rel != "via" || !r.Links[0].Modified.Equal(r.LastModified) {
			t.Errorf("%s is listed, %+v", r.URI, r.Links)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, r.URI, nil))
		if w.Code != 200 || w.Body.String() != body || w.Header().Get("Content-Type") != "text/plain" || w.Header().Get("ETag") == "" {
			t.Errorf("%s: %d %q %v, want %q", r.URI, w.Code, w.Body, w.Header(), body)
		}
		content, err := c.Open(t.Context(), r)
		must(t, err)
		text, err := io.ReadAll(content)
		content.Close()
		if err != nil || string(text) != body {
			t.Errorf("%s opens as %q, %v", r.URI, text, err)
		}
	}
	if listed != len(s.bodies) {
		t.Errorf("%d are listed, the Source has %d", listed, len(s.bodies))
	}
}

// changes returns the journal as text.
func (c *mirror) changes(t testing.TB) string {
	t.Helper()
	since, err := c.set.Since(t.Context())
	must(t, err)
	var b strings.Builder
	for change, err := range c.set.Changes(t.Context(), resourcesync.Interval{From: since}) {
		must(t, err)
		fmt.Fprintln(&b, change.Type, strings.TrimPrefix(change.Resource.URI, base))
	}
	return b.String()
}

// TestAggregator follows a Source, with names of all kinds.
func TestAggregator(t *testing.T) {
	s := newSource(t)
	for _, path := range []string{"/a", "/b/c%20d", "/e%2Ff", "/100%25", "/" + strings.Repeat("%C3%A9", 90), "/j/", "/A"} {
		s.put(t, path, "content of "+path)
	}
	c := open(t, s, t.TempDir(), nil)
	_, err := c.Sync(t.Context())
	must(t, err)
	c.same(t, s)
	before := c.changes(t)
	s.put(t, "/a", "changed")
	s.remove("/A")
	_, err = c.Sync(t.Context())
	must(t, err)
	c.same(t, s)
	if news := strings.TrimPrefix(c.changes(t), before); strings.Count(news, "\n") != 2 || !strings.Contains(news, "updated a/") || !strings.Contains(news, "deleted a/") {
		t.Errorf("changes:\n%s", news)
	}
}

// TestChain has a Source that is a replica itself: only the link to the original is kept. The times
// of changes come from the replica.
func TestChain(t *testing.T) {
	s := newSource(t)
	began := time.Now()
	s.put(t, "/a", "text", resourcesync.Link{Rel: "via", Href: "https://original.example.org/a"}, resourcesync.Link{Rel: "canonical", Href: "https://example.org/"})
	c := open(t, s, t.TempDir(), nil)
	_, err := c.Sync(t.Context())
	must(t, err)
	for r, err := range c.set.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		if len(r.Links) != 1 || r.Links[0].Href != "https://original.example.org/a" {
			t.Errorf("%+v", r.Links)
		}
	}
	since, err := c.set.Since(t.Context())
	must(t, err)
	if since.Before(began) {
		t.Errorf("the journal begins at %v", since)
	}
	for change, err := range c.set.Changes(t.Context(), resourcesync.Interval{From: since}) {
		must(t, err)
		if change.Datetime.Before(began) || !change.Resource.LastModified.Before(began) {
			t.Errorf("changed at %v, last modified at %v", change.Datetime, change.Resource.LastModified)
		}
	}
}

// failing is a set whose changes fail, before or after they are made.
type failing struct {
	*sqlstore.Set
	before, after bool
}

var errFailing = errors.New("the set fails")

func (f *failing) change(change func() error) error {
	if f.before {
		return errFailing
	}
	if err := change(); err != nil {
		return err
	}
	if f.after {
		return errFailing
	}
	return nil
}

func (f *failing) Put(ctx context.Context, r ...resourcesync.Resource) error {
	return f.change(func() error { return f.Set.Put(ctx, r...) })
}

func (f *failing) Delete(ctx context.Context, keys ...string) error {
	return f.change(func() error { return f.Set.Delete(ctx, keys...) })
}

// TestCrash stops between the copy and the set, and between the set and the state. The
// next process reconciles them, and the journal has each change once.
func TestCrash(t *testing.T) {
	for name, fault := range map[string]failing{"before the set": {before: true}, "after the set": {after: true}} {
		t.Run(name, func(t *testing.T) {
			s := newSource(t)
			s.put(t, "/a", "a")
			s.put(t, "/b", "b")
			dir := t.TempDir()
			crash := func() {
				c := open(t, s, dir, func(set *sqlstore.Set) replica.Set {
					f := fault
					f.Set = set
					return &f
				})
				if _, err := c.Sync(t.Context()); !errors.Is(err, errFailing) {
					t.Fatalf("Sync: %v", err)
				}
				c.stop()
			}
			crash()
			c := open(t, s, dir, nil)
			_, err := c.Sync(t.Context())
			must(t, err)
			c.same(t, s)
			c.stop()
			s.put(t, "/a", "changed")
			s.remove("/b")
			crash()
			c = open(t, s, dir, nil)
			_, err = c.Sync(t.Context())
			must(t, err)
			c.same(t, s)
			if got := c.changes(t); strings.Count(got, "\n") != 4 || strings.Count(got, "updated a/a\n") != 1 || strings.Count(got, "deleted a/b\n") != 1 {
				t.Errorf("changes:\n%s", got)
			}
		})
	}
}

// TestRefused has names, URLs and requests that are refused.
func TestRefused(t *testing.T) {
	for _, uri := range []string{"", "https://example.org", "https://example.org/a", "ftp://example.org/", "https://example.org/?a=b"} {
		if _, err := replica.NewAggregator(t.Context(), uri, nil, nil); err == nil {
			t.Errorf("an Aggregator at %q", uri)
		}
	}
	s := newSource(t)
	s.put(t, "/a", "text")
	c := open(t, s, t.TempDir(), nil)
	for _, name := range []string{"", ".", "..", "a/b", "a b", "a"} {
		if _, err := c.Sink(name, nil); err == nil {
			t.Errorf("a Sink with the name %q", name)
		}
	}
	if _, err := replica.NewAggregator(t.Context(), "https://other.example.org/", c.set, nil); err == nil || !strings.Contains(err.Error(), base) {
		t.Errorf("another base: %v", err)
	}
	_, err := c.Sync(t.Context())
	must(t, err)
	for uri, want := range map[string]int{
		base + "a/a": 200, base: 404, base + "a": 404, base + "a/": 404, base + "b/a": 404, base + "a/b": 404,
		base + "a/../../set.db": 404, base + "a/.resourcesync/state.db": 404, "https://aggregator.example.org/": 404,
	} {
		w := httptest.NewRecorder()
		if c.ServeHTTP(w, httptest.NewRequest(http.MethodGet, uri, nil)); w.Code != want {
			t.Errorf("%s: %d, want %d", uri, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	if c.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, base+"a/a", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("DELETE: %d", w.Code)
	}
}
