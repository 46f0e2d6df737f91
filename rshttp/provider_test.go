package rshttp_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

const base = "https://example.org/resourcesync/"

var newYear = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// table is a provider with only the mandatory method. Its fields may be changed between
// requests, with the lock held.
type table struct {
	mu        sync.Mutex
	resources map[string]resourcesync.Resource
	err       error         // yielded after errAfter resources
	errAfter  int           //
	panics    bool          //
	hold      chan struct{} // if not nil, listing waits until it is closed
	listed    int           // how often Resources was ranged over
}

func tableOf(n int) *table {
	t := &table{resources: map[string]resourcesync.Resource{}}
	for i := range n {
		t.put(fmt.Sprintf("%06d", i), newYear.Add(time.Duration(i)*time.Second))
	}
	return t
}

func (t *table) put(key string, modified time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resources[key] = resourcesync.Resource{
		Key:          key,
		URI:          "https://example.org/papers/" + key,
		LastModified: modified,
		Length:       resourcesync.Bytes(int64(len(key))),
		Type:         "text/plain",
	}
}

func (t *table) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		t.mu.Lock()
		t.listed++
		keys := slices.Sorted(maps.Keys(t.resources))
		rows := maps.Clone(t.resources)
		fail, failAfter, panics, hold := t.err, t.errAfter, t.panics, t.hold
		t.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-ctx.Done():
				yield(resourcesync.Resource{}, ctx.Err())
				return
			}
		}
		if panics {
			panic("the provider's secret panic")
		}
		n := 0
		for _, k := range keys {
			if !r.Contains(k) {
				continue
			}
			if fail != nil && n == failAfter {
				break
			}
			if n++; !yield(rows[k], nil) {
				return
			}
		}
		if fail != nil {
			yield(resourcesync.Resource{}, fail)
		}
	}
}

// quiet returns a logger for tests that provoke errors.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newSource(t testing.TB, opts *rshttp.Options, sets ...rshttp.Set) *rshttp.Source {
	t.Helper()
	if opts == nil {
		opts = &rshttp.Options{}
	}
	if opts.Logger == nil {
		opts.Logger = quiet()
	}
	src, err := rshttp.New(base, sets, opts)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// get asks a handler for a path; header holds names and values in turn.
func get(t testing.TB, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	return do(t, h, http.MethodGet, path, header...)
}

func do(t testing.TB, h http.Handler, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, "http://internal.host"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t testing.TB, res *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
