package sqlstore

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// counting counts the resources that are read.
type counting struct {
	*Set
	read atomic.Int64
}

func (c *counting) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for res, err := range c.Set.Resources(ctx, r) {
			c.read.Add(1)
			if !yield(res, err) {
				return
			}
		}
	}
}

// TestParts: a list that is rendered in parts, after any changes, is the list that another
// process renders as a whole, byte for byte, with the same header.
func TestParts(t *testing.T) {
	needs.Time(t)
	eachEngine(t, func(t *testing.T, db database) {
		const n = 4000
		set := db.open(t, nil).mustSet(t, "articles", nil)
		if _, err := set.Scan(t.Context(), articles(n)); err != nil {
			t.Fatal(err)
		}
		counted := &counting{Set: set}
		inParts, whole := listOf(t, counted, 0), listOf(t, set, -1)
		paths := []string{"/resourcesync/resourcelist.xml", "/resourcesync/sitemap.xml"}
		for _, path := range paths {
			inParts(path, "gzip")
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		counted.read.Store(0)
		rounds := needs.Size(5, 15)
		for round := range rounds {
			r := article(rnd.IntN(n))
			var err error
			switch round % 5 {
			case 0, 1:
				r.Type = fmt.Sprint("text/x-", round)
				err = set.Put(t.Context(), r)
			case 2:
				r.Key += "~"
				r.URI += "~"
				err = set.Put(t.Context(), r)
			case 3:
				err = set.Delete(t.Context(), r.Key)
			case 4:
				i := rnd.IntN(n)
				var keys []string
				for k := range 10 {
					keys = append(keys, article((i+12*k)%n).Key) // side by side
				}
				err = set.Delete(t.Context(), keys...)
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				for _, encoding := range []string{"gzip", "identity"} {
					got, want := inParts(path, encoding), whole(path, encoding)
					for _, field := range []string{"ETag", "Last-Modified", "Content-Length"} {
						if field == "Last-Modified" && (got.Header().Get(field) == "" || want.Header().Get(field) == "") {
							continue // the change is too recent to be dated by seconds
						}
						if got.Header().Get(field) != want.Header().Get(field) {
							t.Fatalf("round %d, %s, %s: %s is %q, want %q", round, path, encoding, field, got.Header().Get(field), want.Header().Get(field))
						}
					}
					if got.Body.String() != want.Body.String() {
						t.Fatalf("round %d, %s, %s: another document", round, path, encoding)
					}
				}
			}
		}
		if read := int(counted.read.Load()); read > rounds*len(paths)*n/2 {
			t.Errorf("%d resources were read for %d lists of %d", read, rounds*len(paths), n)
		}
	})
}

// listOf returns a function that requests a document of a set as one list. Documents are
// cached unless cache is negative.
func listOf(t *testing.T, p resourcesync.Provider, cache int64) func(path, encoding string) *httptest.ResponseRecorder {
	source, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: p}}, &rshttp.Options{Division: rshttp.Division{PageSize: 50_000}, Limits: rshttp.Limits{CacheBytes: cache}, Sitemaps: rshttp.PlainSitemaps})
	if err != nil {
		t.Fatal(err)
	}
	return func(path, encoding string) *httptest.ResponseRecorder {
		request := httptest.NewRequest("GET", path, nil)
		request.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		source.ServeHTTP(w, request)
		if w.Code != 200 {
			t.Fatal(path, w.Code)
		}
		return w
	}
}

// TestPartsOfOneState: if resources in several parts of a list change together while it is
// rendered, the list shows all of the changes or none.
func TestPartsOfOneState(t *testing.T) {
	needs.Time(t)
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "articles", nil)
		if _, err := set.Scan(t.Context(), articles(4000)); err != nil {
			t.Fatal(err)
		}
		version := 0
		change := func(articles ...int) {
			version++
			var together []resourcesync.Resource
			for _, i := range articles {
				r := article(i)
				r.Type = fmt.Sprint("text/x-", version)
				together = append(together, r)
			}
			if err := set.Put(t.Context(), together...); err != nil {
				t.Fatal(err)
			}
		}
		p := &changing{Set: set}
		list := listOf(t, p, 0)
		marked := regexp.MustCompile(`type="text/x-(\d+)"`)
		for whileReading := range 6 {
			change(500, 1800, 3100)
			list("/resourcesync/resourcelist.xml", "identity")
			change(500)
			p.times = whileReading
			p.change = func() { change(500, 1800, 3100) }
			found := marked.FindAllStringSubmatch(list("/resourcesync/resourcelist.xml", "identity").Body.String(), -1)
			if len(found) != 3 {
				t.Fatalf("marked: %q", found)
			}
			if whileReading > 0 && (found[0][1] != found[1][1] || found[0][1] != found[2][1]) {
				t.Fatalf("%d changes meanwhile: a mixed state, %q", whileReading, found)
			}
		}
	})
}

// changing is a set that changes before resources are read, a number of times.
type changing struct {
	*Set
	times  int
	change func()
}

func (c *changing) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		if c.times > 0 {
			c.times--
			c.change()
		}
		c.Set.Resources(ctx, r)(yield)
	}
}
