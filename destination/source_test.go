package destination_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
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
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A source is a Source of this module with a set in memory, over HTTP.
type source struct {
	*httptest.Server
	set *memory.Set

	mu       sync.Mutex
	bodies   map[string][]byte // by path, without the slash
	versions map[string][]byte // all that there have been, by their digests
	requests map[string]int    // by path

	// intercept answers a request instead of the Source, if it returns true.
	intercept func(w http.ResponseWriter, r *http.Request) bool
}

func newSource(t testing.TB, o *rshttp.Options) *source {
	t.Helper()
	return newSourceOf(t, o, func(s *source) rshttp.Set { return rshttp.Set{Provider: s.set, Prefix: "/"} })
}

// newDumpSource returns a Source with dumps.
func newDumpSource(t testing.TB, o *rshttp.Options) *source {
	t.Helper()
	return newSourceOf(t, o, func(s *source) rshttp.Set {
		return rshttp.Set{Provider: s.set, Prefix: "/", Opener: s, ChangeOpener: s}
	})
}

func newSourceOf(t testing.TB, o *rshttp.Options, set func(*source) rshttp.Set) *source {
	t.Helper()
	s := &source{set: memory.New(nil), bodies: map[string][]byte{}, versions: map[string][]byte{}, requests: map[string]int{}}
	s.Server = httptest.NewUnstartedServer(nil)
	base := "http://" + s.Listener.Addr().String()
	rs, err := rshttp.New(base+"/resourcesync/", []rshttp.Set{set(s)}, o)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := rs.Wrap(http.HandlerFunc(s.content))
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests[r.URL.Path]++
		intercept := s.intercept
		s.mu.Unlock()
		if intercept == nil || !intercept(w, r) {
			wrapped.ServeHTTP(w, r)
		}
	})
	s.Start()
	t.Cleanup(s.Close)
	if o != nil && (o.Hub != nil || o.WebSocket != nil) {
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		done := make(chan error, 1)
		go func() { done <- rs.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

// Open implements [resourcesync.Opener].
func (s *source) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, ok := s.versions[r.Hashes[0].Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

// OpenChange implements [resourcesync.ChangeOpener].
func (s *source) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	return s.Open(ctx, c.Resource)
}

// content serves the resources.
func (s *source) content(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	body, ok := s.bodies[strings.TrimPrefix(r.URL.Path, "/")]
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	sum := sha256.Sum256(body)
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sum[:8]))
	w.Header().Set("Content-Type", "text/plain")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// put creates or updates a resource.
func (s *source) put(t testing.TB, name, body string) {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	s.mu.Lock()
	s.bodies[name] = []byte(body)
	s.versions[hex.EncodeToString(sum[:])] = []byte(body)
	s.mu.Unlock()
	s.list(t, name, body)
}

// list lists a resource, regardless of its content.
func (s *source) list(t testing.TB, name, body string) {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	err := s.set.Put(t.Context(), resourcesync.Resource{
		Key: name, URI: s.URL + "/" + name, Length: resourcesync.Bytes(int64(len(body))), LastModified: time.Now().Truncate(time.Second),
		Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *source) remove(name string) {
	s.mu.Lock()
	delete(s.bodies, name)
	s.mu.Unlock()
	s.set.Delete(context.Background(), name)
}

// on sets intercept.
func (s *source) on(f func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intercept = f
}

// requested returns the number of requests for paths with a prefix since the last call.
func (s *source) requested(prefix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for path, count := range s.requests {
		if strings.HasPrefix(path, prefix) {
			n += count
			delete(s.requests, path)
		}
	}
	return n
}

// files returns the files of a copy, without its state.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the copy changes
		}
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".resourcesync" {
				return filepath.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// awaitSame waits until a copy equals the Source.
func (s *source) awaitSame(t testing.TB, dir string) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if s.equal(files(t, dir)) {
			return
		}
	}
	s.same(t, dir)
	t.FailNow()
}

func (s *source) equal(copied map[string]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.EqualFunc(copied, s.bodies, func(a string, b []byte) bool { return a == string(b) })
}

// same checks that a copy equals the Source, except for names with these prefixes.
func (s *source) same(t testing.TB, dir string, except ...string) {
	t.Helper()
	got := files(t, dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.bodies)) {
		if slices.ContainsFunc(except, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			delete(got, name)
			continue
		}
		if text, ok := got[name]; !ok || text != string(s.bodies[name]) {
			t.Errorf("%s: copy %.100q (%t), Source %.100q", name, text, ok, s.bodies[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s: is in the copy, and not in the Source", name)
	}
}

// A mirror is a Destination with a folder.
type mirror struct {
	*destination.Destination
	folder *destination.Folder
	dir    string
}

func openMirror(t testing.TB, url, dir string, o *destination.Options) *mirror {
	t.Helper()
	folder, err := destination.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &destination.Options{}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	d, err := destination.New(url, folder, o)
	if err != nil {
		t.Fatal(err)
	}
	m := &mirror{d, folder, dir}
	t.Cleanup(m.close)
	return m
}

func (m *mirror) close() {
	m.Close()
	m.folder.Close()
}

// sync calls Sync, which must succeed.
func (m *mirror) sync(t testing.TB) *destination.Report {
	t.Helper()
	report, err := m.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// serve serves a handler as another site.
func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}
