package rshttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// TestProviderErrors: a response is complete or an error. It does not reveal the cause,
// which the log has under the same request id.
func TestProviderErrors(t *testing.T) {
	const secret = "password of the database"
	for _, tt := range []struct {
		name   string
		err    error
		after  int
		panics bool
		status int
	}{
		{"at once", errors.New(secret), 0, false, 503},
		{"half-way", errors.New(secret), 5, false, 503},
		{"panic", nil, 0, true, 503},
		{"a file is not there", fmt.Errorf("%s: %w", secret, fs.ErrNotExist), 0, false, 503},
		{"a file may not be read", fmt.Errorf("%s: %w", secret, fs.ErrPermission), 3, false, 503},
		{"not ready", resourcesync.ErrNotReady, 0, false, 503},
		{"time-out", fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), 1, false, 503},
		{"cancelled by somebody else", fmt.Errorf("%s: %w", secret, context.Canceled), 1, false, 503},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			p := tableOf(10)
			p.err, p.errAfter, p.panics = tt.err, tt.after, tt.panics
			src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: p})
			res := get(t, src, "/resourcesync/resourcelist.xml")
			body := text(t, res)
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d", res.StatusCode, tt.status)
			}
			if (res.Header.Get("Retry-After") != "") != (tt.status == 503) {
				t.Errorf("Retry-After %q with %d", res.Header.Get("Retry-After"), tt.status)
			}
			if strings.Contains(body, "<") || strings.Contains(body, "password") || strings.Contains(body, "secret") || strings.Contains(body, "goroutine") {
				t.Errorf("the answer says too much: %q", body)
			}
			id := res.Header.Get("X-Request-Id")
			if id == "" || !strings.Contains(body, id) || !strings.Contains(log.String(), id) {
				t.Errorf("request id %q is not in the answer and the log:\n%s\n%s", id, body, log.String())
			}
			if tt.err != nil && !errors.Is(tt.err, resourcesync.ErrNotReady) && !strings.Contains(log.String(), secret) {
				t.Errorf("the log does not say what happened: %s", log.String())
			}

			p.mu.Lock()
			p.err, p.panics = nil, false
			p.mu.Unlock()
			if res := get(t, src, "/resourcesync/resourcelist.xml"); res.StatusCode != 200 {
				t.Errorf("after the provider has recovered: %s", res.Status)
			}
		})
	}
}

// wrong is a provider that breaks its contract.
type wrong []resourcesync.Resource

func (w wrong) Resources(context.Context, resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, r := range w {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func resource(key string) resourcesync.Resource {
	return resourcesync.Resource{Key: key, URI: "https://example.org/" + key}
}

func TestContractIsEnforced(t *testing.T) {
	for name, p := range map[string]wrong{
		"descending": {resource("b"), resource("a")},
		"twice":      {resource("a"), resource("a")},
	} {
		src := newSource(t, nil, rshttp.Set{Provider: p})
		if res := get(t, src, "/resourcesync/resourcelist.xml"); res.StatusCode != 503 {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	src := newSource(t, nil, rshttp.Set{Provider: wrong{resource("x")}})
	if res := get(t, src, "/resourcesync/resourcelist/YQ~Yg.xml"); res.StatusCode != 503 {
		t.Errorf("a key outside the range: %s", res.Status)
	}
}

// TestLeftOut: a resource that a document cannot express is left out and breaks
// nothing.
func TestLeftOut(t *testing.T) {
	long := "https://example.org/" + strings.Repeat("x", 2048)
	p := wrong{
		resource("a"),
		{Key: "b", URI: "/relative"},
		{Key: "c", URI: "not a URI"},
		{Key: "d", URI: long},
		{Key: "e", URI: "https://example.org/\xff"},
		resource("f"),
	}
	var log bytes.Buffer
	src := newSource(t, &rshttp.Options{Sitemaps: rshttp.PlainSitemaps, Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: p})
	for i, path := range []string{"/resourcesync/resourcelist.xml", "/resourcesync/sitemap.xml"} {
		body := text(t, get(t, src, path))
		if n := strings.Count(body, "<loc>"); n != 2 {
			t.Errorf("%s has %d entries", path, n)
		}
		if n := src.Counters().LeftOut; n != uint64(4*(i+1)) {
			t.Errorf("after %s, %d entries are counted as left out", path, n)
		}
	}
	if !strings.Contains(log.String(), "count=4") || !strings.Contains(log.String(), "/relative") {
		t.Errorf("the log does not say so: %s", log.String())
	}
}

// TestD14_NotReady: before a set is ready, its lists are refused instead of empty.
// Documents that depend on the configuration alone are served at once.
func TestD14_NotReady(t *testing.T) {
	set := memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	src := newSource(t, nil, rshttp.Set{Provider: set})
	paths := []string{"/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"}
	static := map[string]string{}
	for _, path := range []string{"/.well-known/resourcesync", "/resourcesync/capabilitylist.xml"} {
		res := get(t, src, path)
		if static[path] = text(t, res); res.StatusCode != 200 {
			t.Errorf("%s before the first scan: %s", path, res.Status)
		}
	}
	for _, path := range paths {
		if res := get(t, src, path); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s before the first scan: %s", path, res.Status)
		}
	}
	if _, err := set.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) {}); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if res := get(t, src, path); res.StatusCode != 200 {
			t.Errorf("%s after the first scan: %s", path, res.Status)
		}
	}
	for path, before := range static {
		if after := text(t, get(t, src, path)); after != before {
			t.Errorf("%s after the first scan:\n%s\nand before:\n%s", path, after, before)
		}
	}
}

// TestBusy: beyond the limit on renderings, requests are answered 503. Requests for a
// document that is being rendered wait for it together.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, other := tableOf(3), tableOf(3)
		slow.hold = make(chan struct{})
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 1, Wait: 5 * time.Second}},
			rshttp.Set{Name: "slow", Provider: slow}, rshttp.Set{Name: "other", Provider: other})

		const waiting = 5
		statuses := make(chan int, waiting)
		var first sync.WaitGroup
		ask := func() {
			first.Go(func() { statuses <- get(t, src, "/resourcesync/slow/resourcelist/~.xml").StatusCode })
			synctest.Wait()
		}
		ask()
		started := time.Now()
		if res := get(t, src, "/resourcesync/other/resourcelist/~.xml"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
			t.Errorf("with no rendering free: %s", res.Status)
		}
		if waited := time.Since(started); waited != 5*time.Second {
			t.Errorf("it waited %v", waited)
		}
		if res := get(t, src, "/resourcesync/other/capabilitylist.xml"); res.StatusCode != 200 {
			t.Errorf("a document that needs no provider: %s", res.Status)
		}
		for range waiting - 1 {
			ask() // they come while it is rendered, and share the next rendering
		}
		close(slow.hold)
		first.Wait()
		close(statuses)
		for status := range statuses {
			if status != 200 {
				t.Errorf("a request that waited for the slow document: %d", status)
			}
		}
		if slow.listed != 2 {
			t.Errorf("%d requests for one document made %d renderings, want 2", waiting, slow.listed)
		}
		if src.Counters().Refused != 1 {
			t.Errorf("%d requests counted as refused", src.Counters().Refused)
		}
	})
}

// TestHungProvider: a provider that hangs fails a request, not the server.
func TestHungProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tableOf(3)
		p.hold = make(chan struct{})
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{RenderTimeout: 7 * time.Second}}, rshttp.Set{Provider: p})
		started := time.Now()
		if res := get(t, src, "/resourcesync/resourcelist/~.xml"); res.StatusCode != 503 {
			t.Error(res.Status)
		}
		if waited := time.Since(started); waited != 7*time.Second {
			t.Errorf("it took %v", waited)
		}
	})
}

// TestClientGone: a request whose client disconnects ends at once, and its document is
// still rendered for the next client.
func TestClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tableOf(3)
		p.hold = make(chan struct{})
		src := newSource(t, nil, rshttp.Set{Provider: p})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w := httptest.NewRecorder()
			src.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/resourcesync/resourcelist/~.xml", nil).WithContext(ctx))
			if w.Body.Len() != 0 {
				t.Errorf("answered a client that had disconnected: %s", w.Body)
			}
		}()
		synctest.Wait()
		cancel()
		<-done
		close(p.hold)
		synctest.Wait()
	})
}

func TestNewRefuses(t *testing.T) {
	ok := []rshttp.Set{{Provider: tableOf(1)}}
	for _, tt := range []struct {
		name string
		base string
		sets []rshttp.Set
		opts *rshttp.Options
		want string
	}{
		{"relative base", "/resourcesync/", ok, nil, "must be absolute"},
		{"other scheme", "ftp://example.org/", ok, nil, "must be absolute"},
		{"query", "https://example.org/?a", ok, nil, "must not have a query"},
		{"broken base", "https://exa mple.org/", ok, nil, "base URL"},
		{"no sets", base, nil, nil, "at least one set"},
		{"no provider", base, []rshttp.Set{{Name: "a"}}, nil, "no Provider"},
		{"no name", base, []rshttp.Set{{Name: "a", Provider: tableOf(1)}, {Provider: tableOf(1)}}, nil, "no Name"},
		{"bad name", base, []rshttp.Set{{Name: "a/b", Provider: tableOf(1)}}, nil, "letters, digits"},
		{"dots", base, []rshttp.Set{{Name: "..", Provider: tableOf(1)}}, nil, "letters, digits"},
		{"same name", base, []rshttp.Set{{Name: "a", Provider: tableOf(1)}, {Name: "a", Provider: tableOf(1)}}, nil, "two sets"},
		{"missing capability", base, []rshttp.Set{{Provider: tableOf(1), Require: []resourcesync.Capability{resourcesync.ChangeList}}}, nil, `the set cannot offer "changelist": it has no Changer`},
		{"missing ChangeOpener", base, []rshttp.Set{{Name: "a", Provider: memory.New(nil), Require: []resourcesync.Capability{resourcesync.ChangeDump}}}, nil, `set "a" cannot offer "changedump": it has no ChangeOpener`},
		{"missing Opener", base, []rshttp.Set{{Provider: tableOf(1), Require: []resourcesync.Capability{resourcesync.ResourceDump}}}, nil, "it has no Opener"},
		{"missing hub", base, []rshttp.Set{{Provider: tableOf(1), Require: []resourcesync.Capability{resourcesync.FrameworkNotification}}}, nil, "it has no hub"},
		{"missing archive", base, []rshttp.Set{{Provider: tableOf(1), Require: []resourcesync.Capability{resourcesync.ChangeListArchive}}}, nil, "it has no ChangeArchiver"},
		{"page size", base, ok, &rshttp.Options{Division: rshttp.Division{PageSize: 50_001}}, "PageSize"},
		{"negative page size", base, ok, &rshttp.Options{Division: rshttp.Division{PageSize: -1}}, "PageSize"},
		{"described by", base, ok, &rshttp.Options{DescribedBy: "about.html"}, "DescribedBy"},
		{"prefix", base, []rshttp.Set{{Provider: tableOf(1), Prefix: "papers"}}, nil, "Prefix"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := rshttp.New(tt.base, tt.sets, tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
