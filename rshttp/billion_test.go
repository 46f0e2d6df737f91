package rshttp_test

import (
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A billionth is a computed set and its Source, whose lists have pages of 50,000. Documents are
// not cached, so that each page is rendered.
type billionth struct {
	*computed
	src   *rshttp.Source
	pages []string
	took  map[string][]time.Duration
	bytes int // of the index
}

func newBillionth(tb testing.TB, n int) *billionth {
	c := &billionth{computed: &computed{n: n}, took: map[string][]time.Duration{}}
	c.src = newSource(tb, &rshttp.Options{
		Division: rshttp.Division{PageSize: rsxml.MaxEntries, Settle: -1},
		Limits:   rshttp.Limits{CacheBytes: -1},
	}, rshttp.Set{Provider: c.computed})
	return c
}

// get returns a document. Its time counts under a name.
func (c *billionth) get(tb testing.TB, name, path string) []byte {
	tb.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	began := time.Now()
	c.src.ServeHTTP(w, r)
	c.took[name] = append(c.took[name], time.Since(began))
	if w.Code != http.StatusOK {
		tb.Fatalf("%s: %d", path, w.Code)
	}
	return w.Body.Bytes()
}

func (c *billionth) index(tb testing.TB, name string) {
	tb.Helper()
	text := c.get(tb, name, "/resourcesync/resourcelist.xml")
	c.bytes = len(text)
	head, entries, err := rsxml.Decode(strings.NewReader(string(text)))
	if err != nil || !head.Index {
		tb.Fatalf("%+v, %v", head, err)
	}
	c.pages = c.pages[:0]
	for _, e := range entries {
		c.pages = append(c.pages, strings.TrimPrefix(e.Loc, "https://example.org"))
	}
}

// heap returns the bytes that are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestBillion: what the Source reads of a set does not depend on the number of its resources: a
// page is its own resources, a Change List only changes, and the index no resource at all.
func TestBillion(t *testing.T) {
	for _, n := range []int{1_000_000, 1_000_000_000} {
		c := newBillionth(t, n)
		reads := func(what string, f func()) {
			t.Helper()
			before := c.read.Load()
			f()
			want := int64(0)
			if what == "page" {
				want = rsxml.MaxEntries
			}
			if got := c.read.Load() - before; got != want {
				t.Errorf("%s of %d resources: %d have been read, want %d", what, n, got, want)
			}
		}
		reads("index", func() { c.index(t, "index") })
		if want := n / rsxml.MaxEntries; len(c.pages) != want {
			t.Fatalf("%d pages of %d resources, want %d", len(c.pages), n, want)
		}
		reads("page", func() { c.get(t, "page", c.pages[len(c.pages)-1]) })
		c.edit(n / 2)
		reads("Change List", func() {
			if text := string(c.get(t, "", "/resourcesync/changelist.xml")); !strings.Contains(text, computedKey(n/2)) {
				t.Errorf("no change in %.1000s", text)
			}
		})
	}
}

// TestIndexLimit: an index has 50,000 pages at most. A set that needs more has none, and the log
// says why: a document is never cut off.
func TestIndexLimit(t *testing.T) {
	needs.Time(t)
	const most = rsxml.MaxEntries * rsxml.MaxEntries
	c := newBillionth(t, most)
	if c.index(t, ""); len(c.pages) != rsxml.MaxEntries {
		t.Errorf("%d pages of %d resources", len(c.pages), most)
	}
	log := new(strings.Builder)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: rsxml.MaxEntries}, Logger: slog.New(slog.NewTextHandler(log, nil))}, rshttp.Set{Provider: &computed{n: most + 1}})
	res := get(t, src, "/resourcesync/resourcelist.xml")
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 5 || strings.Contains(string(body), "<") {
		t.Errorf("%d pages: %s, %.200s, %v", rsxml.MaxEntries+1, res.Status, body, err)
	}
	if want := "divide the set into several"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q: %s", want, log)
	}
}

// BenchmarkBillion compares a set of a billion resources with one of a million, in turn: a page
// that is not cached, the Change List after a change, and the index after it, whose size and
// memory are those of its pages.
//
//	go test -run '^$' -bench Billion -benchtime 21x ./rshttp
func BenchmarkBillion(b *testing.B) {
	before := heap()
	small := newBillionth(b, 1_000_000)
	small.index(b, "first index")
	large := newBillionth(b, 1_000_000_000)
	first := heap()
	large.index(b, "first index")
	b.Logf("before: %d bytes of heap; with the index of a million: %d more; with that of a billion: %d more", before, first-before, heap()-first)
	round := 0
	for b.Loop() {
		round++
		for _, c := range []*billionth{small, large} {
			number := round * 7919 % c.n
			c.edit(number)
			if text := string(c.get(b, "change to Change List", "/resourcesync/changelist.xml")); !strings.Contains(text, computedKey(number)) {
				b.Fatal("no change")
			}
			c.get(b, "page", c.pages[round*7%len(c.pages)])
			c.get(b, "last page", c.pages[len(c.pages)-1])
			c.index(b, "index after a change")
		}
	}
	for _, name := range []string{"page", "last page", "change to Change List", "first index", "index after a change"} {
		m := func(c *billionth) time.Duration {
			slices.SortFunc(c.took[name], cmp.Compare)
			return c.took[name][len(c.took[name])/2]
		}
		b.Logf("%-22s %10v of a million, %10v of a billion, ratio %.2f", name, m(small), m(large), float64(m(large))/float64(m(small)))
	}
	b.Logf("index: %d pages in %d bytes, %d pages in %d bytes", len(small.pages), small.bytes, len(large.pages), large.bytes)
	b.ReportMetric(0, "ns/op")
	runtime.KeepAlive(small)
	runtime.KeepAlive(large)
}
