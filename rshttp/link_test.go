package rshttp_test

import (
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A slowCoverer counts the lookups in a set.
type slowCoverer struct {
	*memory.Set
	lookups atomic.Int64
}

func (c *slowCoverer) Covers(u *url.URL) bool {
	c.lookups.Add(1)
	return c.Set.Covers(u)
}

// TestLinkLookups: requests for the same URL cost one lookup, whether or not it is the URL of a
// resource. A new resource has its link without delay, also if its URL was requested before.
func TestLinkLookups(t *testing.T) {
	for name, run := range map[string]bool{"Run": true, "without Run": false} {
		t.Run(name, func(t *testing.T) {
			papers := &slowCoverer{Set: papers(t, "a")}
			src := newSource(t, nil, rshttp.Set{Provider: papers})
			if run {
				defer running(t, src)()
			}
			site := src.Wrap(http.NotFoundHandler())
			has := func(path string) bool { return get(t, site, path).Header.Get("Link") != "" }
			for range 10 {
				if !has("/papers/a") {
					t.Fatal("a listed resource has no link")
				}
			}
			if n := papers.lookups.Load(); n != 1 {
				t.Errorf("%d lookups for ten requests for a resource", n)
			}
			known := func() bool {
				before := papers.lookups.Load()
				if has("/papers/b") {
					t.Fatal("a page that is not listed has a link")
				}
				return papers.lookups.Load() == before
			}
			if run {
				until(t, "a request for another page without a lookup", known)
			} else if known(); known() {
				t.Error("nobody watches the set, so another page may be new")
			}
			putOne(t, papers.Set, "b")
			if run {
				until(t, "the link", func() bool { return has("/papers/b") })
			} else if !has("/papers/b") {
				t.Error("a new resource has no link")
			}
		})
	}
}
