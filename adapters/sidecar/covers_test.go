package sidecar_test

import (
	"net/url"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
)

type coversOnly string

func (c coversOnly) Covers(u *url.URL) bool { return u.String() == string(c) }

// TestCacheCovers: URLs that differ only in escaped slashes or in the query have
// answers of their own.
func TestCacheCovers(t *testing.T) {
	covers := coversOnly("https://example.org/a%2Fb?c")
	testCovers(t, sidecar.CacheCovers(covers))
	testCovers(t, sidecar.CacheCovered(covers))
}

func testCovers(t *testing.T, cached resourcesync.Coverer) {
	t.Helper()
	for range 2 { // the second time from the cache
		for raw, want := range map[string]bool{
			"https://example.org/a%2Fb?c":   true,
			"https://example.org/a/b?c":     false,
			"https://example.org/a%2Fb":     false,
			"https://example.org/a%2Fb%3Fc": false,
		} {
			u, err := url.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			if got := cached.Covers(u); got != want {
				t.Errorf("%s: %v, want %v", raw, got, want)
			}
		}
	}
}

// TestCacheCovered: a URL is covered at once, even if it was requested before.
func TestCacheCovered(t *testing.T) {
	covers := coversOnly("")
	cached := sidecar.CacheCovered(&covers)
	u, err := url.Parse("https://example.org/a")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		if want {
			covers = "https://example.org/a"
		}
		if got := cached.Covers(u); got != want {
			t.Errorf("covered %v, want %v", got, want)
		}
	}
	covers = ""
	if !cached.Covers(u) {
		t.Error("not cached")
	}
}
