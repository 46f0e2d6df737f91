package sidecar_test

import (
	"net/url"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
)

type coversOnly string

func (c coversOnly) Covers(u *url.URL) bool { return u.String() == string(c) }

// TestCacheCovers: URLs that differ only in escaped slashes or in the query have
// answers of their own.
func TestCacheCovers(t *testing.T) {
	cached := sidecar.CacheCovers(coversOnly("https://example.org/a%2Fb?c"))
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
