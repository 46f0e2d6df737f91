package destination_test

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A virtual is a Source without a network, for tests in virtual time. Answer can write an answer
// instead of the script; it reports whether it has.
type virtual struct {
	script
	answer func(w http.ResponseWriter, path string) bool

	mu       sync.Mutex
	requests []string // paths
}

// RoundTrip implements [http.RoundTripper].
func (v *virtual) RoundTrip(r *http.Request) (*http.Response, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.requests = append(v.requests, r.URL.Path)
	w := httptest.NewRecorder()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	if v.answer == nil || !v.answer(w, r.URL.Path) {
		v.script.ServeHTTP(w, r)
	}
	res := w.Result()
	res.Request = r
	return res, nil
}

// requested returns the paths requested since the last call, sorted.
func (v *virtual) requested() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer func() { v.requests = nil }()
	return slices.Sorted(slices.Values(v.requests))
}

// open opens a copy of the Source, as a new process does.
func (v *virtual) open(t *testing.T, dir string, o destination.Options) *mirror {
	t.Helper()
	folder, err := destination.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	d, err := destination.OpenWith("http://example.org/", folder, &o, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &mirror{d, folder, dir}
}

// busy answers 503 or 429 with a Retry-After for some paths.
func busy(status int, after string, paths ...string) func(http.ResponseWriter, string) bool {
	return func(w http.ResponseWriter, path string) bool {
		if !slices.Contains(paths, path) {
			return false
		}
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
		return true
	}
}

// threeResources is a Source with a list of three resources.
var threeResources = func() map[string]string {
	pages := withoutChanges(listOf("a", "b", "c"))
	maps.Copy(pages, map[string]string{"/a": "1", "/b": "2", "/c": "3"})
	return pages
}()

// newVirtual returns a Source whose documents are of the past.
func newVirtual(pages map[string]string) *virtual {
	time.Sleep(time.Until(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	v := &virtual{script: script{pages: map[string]string{"/robots.txt": ""}}}
	v.script.set(pages)
	return v
}

// TestDelayedResource has a resource whose server asks for a later request. The rest is copied, and
// a run retries it if the delay is at most ten minutes.
func TestDelayedResource(t *testing.T) {
	for name, test := range map[string]struct {
		after   string
		lasts   time.Duration // how long the server is busy
		elapsed time.Duration // of the run
		failed  int64
	}{
		"seconds":             {"20", 20 * time.Second, 20 * time.Second, 0},
		"minutes":             {"420", 420 * time.Second, 420 * time.Second, 0},
		"longer than it says": {"120", 200 * time.Second, 240 * time.Second, 0},
		"half an hour":        {"1800", 30 * time.Minute, 5 * time.Minute, 1},
		"a day":               {"86400", 24 * time.Hour, 5 * time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVirtual(threeResources)
				dir := t.TempDir()
				begun := time.Now()
				isBusy := busy(503, test.after, "/a")
				v.answer = func(w http.ResponseWriter, path string) bool {
					return time.Since(begun) < test.lasts && isBusy(w, path)
				}
				m := v.open(t, dir, destination.Options{Concurrency: 1})
				r := m.sync(t)
				if elapsed := time.Since(begun); elapsed != test.elapsed && (test.failed == 0 || elapsed != 0) { // 0 if it was requested last
					t.Errorf("the run took %v, want %v", elapsed, test.elapsed)
				}
				if r.Created != 3-test.failed || r.Failed != test.failed || int64(len(r.Failures)) < test.failed {
					t.Errorf("got %+v", r)
				}
				m.close()
				if test.failed == 0 {
					return
				}

				// Another process does not request it, and names it.
				v.requested()
				m = v.open(t, dir, destination.Options{})
				next := begun.Add(test.lasts).UTC()
				if r = m.sync(t); r.Failed != 1 || len(r.Failures) != 1 || !r.Failures[0].Next.Equal(next) || r.Failures[0].URI != "http://example.org/a" {
					t.Errorf("the next run reports %+v, want %v", r, next)
				}
				if got := v.requested(); slices.Contains(got, "/a") {
					t.Errorf("the next run requested %v", got)
				}
				time.Sleep(test.lasts)
				if r = m.sync(t); r.Created != 1 || r.Failed != 0 {
					t.Errorf("when the time has come: %+v", r)
				}
				m.close()
			})
		})
	}
}

// TestPatience has resources that request one pause after another: a run waits for ten minutes
// in all, and names them.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(threeResources)
		v.answer = busy(503, "130", "/a", "/b", "/c")
		m := v.open(t, t.TempDir(), destination.Options{Concurrency: 1})
		defer m.close()
		begun := time.Now()
		r := m.sync(t)
		if elapsed := time.Since(begun); elapsed > 10*time.Minute || elapsed < 6*time.Minute {
			t.Errorf("the run took %v", elapsed)
		}
		if r.Failed != 3 || len(r.Failures) != 3 {
			t.Errorf("got %+v", r)
		}
	})
}

// TestPausedHost has a list that answers 429. No process requests the host before the time has
// come.
func TestPausedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(threeResources)
		v.answer = busy(429, "7200", "/rl.xml")
		dir := t.TempDir()
		m := v.open(t, dir, destination.Options{})
		until := time.Now().Add(2 * time.Hour)
		r, err := m.Sync(t.Context())
		if !errors.Is(err, fetch.ErrPaused) || !strings.Contains(err.Error(), "2 Jan 2026, 05:04:05 UTC") {
			t.Errorf("got %v", err)
		}
		if len(r.Pauses) != 1 || r.Pauses[0].Host != "http://example.org:80" || r.Pauses[0].Until.Sub(until).Abs() > time.Second {
			t.Errorf("the pauses are %+v", r.Pauses)
		}
		m.close()
		v.requested()
		v.answer = nil
		m = v.open(t, dir, destination.Options{})
		defer func() { m.close() }()
		if r, err := m.Sync(t.Context()); !errors.Is(err, fetch.ErrPaused) || len(r.Pauses) != 1 {
			t.Errorf("another process: %+v, %v", r, err)
		}
		if got := v.requested(); len(got) > 0 {
			t.Errorf("another process requested %v", got)
		}
		time.Sleep(2 * time.Hour)
		if r := m.sync(t); r.Created != 3 || len(r.Pauses) > 0 {
			t.Errorf("after the pause: %+v", r)
		}
		m.close()
		m = v.open(t, dir, destination.Options{})
		if r := m.sync(t); len(r.Pauses) > 0 {
			t.Errorf("the next process: %+v", r)
		}
	})
}
