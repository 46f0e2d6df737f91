package replica

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A library is a Source in memory. Single resources or all documents can fail.
type library struct {
	*httptest.Server
	set *memory.Set

	mu      sync.Mutex
	bodies  map[string]string
	failing map[string]bool // paths, or "" for everything
	reads   []string        // of resources
}

func newLibrary(t testing.TB) *library {
	t.Helper()
	l := &library{set: memory.New(nil), bodies: make(map[string]string), failing: make(map[string]bool)}
	l.Server = httptest.NewUnstartedServer(nil)
	// The Change List is hidden, so that it does not state deletions.
	src, err := rshttp.New("http://"+l.Listener.Addr().String()+"/resourcesync/", []rshttp.Set{{Prefix: "/", Provider: struct {
		resourcesync.Provider
		resourcesync.Stater
	}{l.set, l.set}}}, nil)
	must(t, err)
	documents := src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		body, ok := l.bodies[r.URL.Path]
		if ok {
			l.reads = append(l.reads, r.URL.Path)
		}
		l.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, body)
	}))
	l.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		fails := l.failing[""] || l.failing[r.URL.Path]
		l.mu.Unlock()
		if fails {
			http.Error(w, "out of order", http.StatusForbidden)
			return
		}
		documents.ServeHTTP(w, r)
	})
	l.Start()
	t.Cleanup(l.Close)
	return l
}

func (l *library) put(t testing.TB, path, body string) {
	t.Helper()
	l.mu.Lock()
	l.bodies[path] = body
	l.mu.Unlock()
	sum := sha256.Sum256([]byte(body))
	must(t, l.set.Put(t.Context(), resourcesync.Resource{
		Key: path, URI: l.URL + path, Length: resourcesync.Bytes(int64(len(body))), Type: "text/x-library",
		LastModified: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}},
	}))
}

func (l *library) remove(t testing.TB, paths ...string) {
	t.Helper()
	l.mu.Lock()
	for _, path := range paths {
		delete(l.bodies, path)
	}
	l.mu.Unlock()
	must(t, l.set.Delete(t.Context(), paths...))
}

func (l *library) fail(path string, fails bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failing[path] = fails
}

// requests returns the paths of the resources that have been requested.
func (l *library) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.reads)
}

// A published is the set of an Origin.
type published struct {
	*Origin
	*scan.Set
	stop func()
}

const copies = "https://aggregator.example.org/copies/"

// publish publishes a library below a URL, with all data in a folder, and runs the set.
func publish(t testing.TB, l *library, base, at string, o *scan.Options) *published {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(at, "set.db"), nil)
	must(t, err)
	p := &published{}
	p.Origin, err = New(l.URL, base, filepath.Join(at, "copy"), &Options{Every: 50 * time.Millisecond, Destination: destination.Options{Logger: quiet}})
	must(t, err)
	o.Every, o.Logger = 100*time.Millisecond, quiet
	p.Set, err = scan.Into(t.Context(), store, "library", p.Origin, o)
	must(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := store.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	running.Go(func() {
		if err := p.Set.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		must(t, p.Close())
		must(t, store.Close())
	})
	t.Cleanup(p.stop)
	return p
}

// state describes the resources of the set: the paths of the originals in order, with the
// contents.
func (p *published) state(t testing.TB, l *library) string {
	t.Helper()
	if !p.Ready() {
		return "not ready"
	}
	var b strings.Builder
	for r, err := range p.Set.Resources(t.Context(), resourcesync.Range{}) {
		must(t, err)
		original := strings.TrimPrefix(r.Links[0].Href, l.URL)
		if len(r.Links) != 1 || r.Links[0].Rel != resourcesync.RelVia || r.URI != p.aggregator.base+strings.TrimPrefix(original, "/") || r.Type != "text/x-library" {
			t.Errorf("listed: %+v", r)
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, r.URI, nil))
		fmt.Fprintf(&b, "%s=%s ", original, w.Body)
	}
	return strings.TrimSpace(b.String())
}

func (p *published) await(t testing.TB, l *library, want string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = p.state(t, l); got == want {
			return
		}
	}
	t.Fatalf("the set has %q, want %q; health: %v", got, want, p.Health(t.Context()))
}

func (p *published) Health(ctx context.Context) error { return p.Set.Health(ctx) }

func awaitHealth(t testing.TB, p *published, want string) {
	t.Helper()
	got := ""
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if got = fmt.Sprint(p.Health(t.Context())); strings.Contains(got, want) {
			return
		}
	}
	t.Fatalf("health: %s, want %s", got, want)
}

// TestOrigin publishes a Source and its changes, also after a restart.
func TestOrigin(t *testing.T) {
	l := newLibrary(t)
	for _, name := range []string{"a", "b", "c"} {
		l.put(t, "/"+name, name)
	}
	at := t.TempDir()
	p := publish(t, l, copies, at, &scan.Options{})
	p.await(t, l, "/a=a /b=b /c=c")
	l.put(t, "/b", "changed")
	l.put(t, "/d", "d")
	l.remove(t, "/a")
	p.await(t, l, "/b=changed /c=c /d=d")
	l.fail("", true)
	awaitHealth(t, p, "the Source "+l.URL+": ")
	p.await(t, l, "/b=changed /c=c /d=d")
	p.stop()

	// If a Source is down, its known resources are still published.
	p = publish(t, l, copies, at, &scan.Options{})
	p.await(t, l, "/b=changed /c=c /d=d")
	awaitHealth(t, p, "the Source "+l.URL+": ")
	l.put(t, "/e", "e")
	l.fail("", false)
	p.await(t, l, "/b=changed /c=c /d=d /e=e")
	awaitHealth(t, p, "<nil>")
	p.stop()

	// With another base, all copies get new URIs, and nothing is copied again.
	reads := l.requests()
	p = publish(t, l, "https://elsewhere.example.org/", at, &scan.Options{})
	p.await(t, l, "/b=changed /c=c /d=d /e=e")
	p.stop()

	// With a new set, only the types are lost.
	for _, name := range []string{"set.db", "set.db-wal", "set.db-shm"} {
		os.Remove(filepath.Join(at, name))
	}
	p = publish(t, l, copies, at, &scan.Options{})
	must(t, p.AwaitReady(t.Context()))
	stat, err := p.Stat(t.Context(), resourcesync.Range{})
	if err != nil || stat.Count != 4 {
		t.Errorf("a new set has %+v, %v", stat, err)
	}
	if again := l.requests()[len(reads):]; len(again) > 0 {
		t.Errorf("copied again: %v, after %v", again, reads)
	}
}

// TestOriginIncomplete has a Source that cannot be copied completely at first.
func TestOriginIncomplete(t *testing.T) {
	l := newLibrary(t)
	for _, name := range []string{"a", "b", "c"} {
		l.put(t, "/"+name, name)
	}
	l.fail("/b", true)
	p := publish(t, l, copies, t.TempDir(), &scan.Options{})
	awaitHealth(t, p, "1 of its resources could not be copied, such as "+l.URL+"/b: ")
	if p.Ready() {
		t.Error("an incomplete copy is shown")
	}
	l.fail("/b", false)
	p.await(t, l, "/a=a /b=b /c=c")
	awaitHealth(t, p, "<nil>")

	// Later, failures are named, and the rest continues.
	l.fail("/d", true)
	l.put(t, "/d", "d")
	l.put(t, "/e", "e")
	p.await(t, l, "/a=a /b=b /c=c /e=e")
	awaitHealth(t, p, l.URL+"/d: ")
}

// TestOriginPatience has a resource that can never be copied.
func TestOriginPatience(t *testing.T) {
	l := newLibrary(t)
	l.put(t, "/a", "a")
	l.put(t, "/b", "b")
	l.fail("/b", true)
	store := new(memory.Store)
	g, err := New(l.URL, copies, t.TempDir(), &Options{Destination: destination.Options{Logger: slog.New(slog.DiscardHandler)}})
	must(t, err)
	defer g.Close()
	set, err := scan.Into(t.Context(), store, "library", g, &scan.Options{Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	if _, err := set.Update(t.Context()); err == nil || set.Ready() {
		t.Errorf("the first scan: %v", err)
	}
	g.patience = 0
	if r, err := set.Update(t.Context()); err != nil || !set.Ready() || r.Unchanged != 1 {
		t.Errorf("after an hour: %+v, %v", r, err)
	}
	awaitHealth(t, &published{Origin: g, Set: set}, l.URL+"/b: ")
}

// TestOriginHeld has a Source that loses most of its resources: they stay in the lists and in the copy
// until an operator confirms.
func TestOriginHeld(t *testing.T) {
	l := newLibrary(t)
	for i := range 8 {
		l.put(t, fmt.Sprintf("/%d", i), fmt.Sprint(i))
	}
	at := t.TempDir()
	p := publish(t, l, copies, at, &scan.Options{})
	all := "/0=0 /1=1 /2=2 /3=3 /4=4 /5=5 /6=6 /7=7"
	p.await(t, l, all)
	l.remove(t, "/0", "/1", "/2", "/3", "/4", "/5")
	awaitHealth(t, p, scan.ErrHeld.Error())
	p.await(t, l, all)
	p.stop()
	p = publish(t, l, copies, at, &scan.Options{})
	awaitHealth(t, p, scan.ErrHeld.Error())
	p.await(t, l, all)
	l.put(t, "/0", "0")
	kept := func(want int64) bool {
		k, err := p.Kept(t.Context())
		must(t, err)
		return k.Held == want
	}
	for deadline := time.Now().Add(needs.Patience); !kept(5) && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
	}
	if n, err := p.ConfirmDeletions(t.Context()); n != 5 || err != nil {
		t.Errorf("ConfirmDeletions: %d, %v", n, err)
	}
	p.await(t, l, "/0=0 /6=6 /7=7")
	awaitHealth(t, p, "<nil>")
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(at, "copy", "1")); err != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the copy of a deleted resource is still there")
		}
	}
}

// TestOriginRefused has arguments that are refused, and methods that are called too early.
func TestOriginRefused(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ source, base string }{{"library", copies}, {"ftp://example.org/", copies}, {"https://example.org/", "copies"}} {
		if _, err := New(test.source, test.base, filepath.Join(dir, "copy"), nil); err == nil {
			t.Errorf("%+v is accepted", test)
		}
	}
	write := filepath.Join(dir, "other", "file")
	must(t, os.MkdirAll(filepath.Dir(write), 0o700))
	must(t, os.WriteFile(write, nil, 0o600))
	if _, err := New("https://example.org/", copies, filepath.Dir(write), nil); err == nil {
		t.Error("a folder with other files is accepted")
	}
	g, err := New("https://example.org/", copies, filepath.Join(dir, "copy"), nil)
	must(t, err)
	defer g.Close()
	if _, err := g.Fill(t.Context()); err == nil {
		t.Error("Fill without a set")
	}
	w := httptest.NewRecorder()
	if g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, copies+"a", nil)); w.Code != http.StatusInternalServerError {
		t.Errorf("a copy without a set: %d", w.Code)
	}
}
