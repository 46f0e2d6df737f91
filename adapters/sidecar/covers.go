package sidecar

import (
	"net/url"
	"time"

	"github.com/patrickmn/go-cache"

	"github.com/resourcesync-go/resourcesync"
)

const (
	coversFor = 10 * time.Second
	maxCovers = 50_000
	maxCover  = 500 // maximum length of a cached URL
)

// CacheCovers returns a Coverer that caches the results of c for ten seconds, for at
// most 50,000 URLs, so that most requests of a busy website query no database.
func CacheCovers(c resourcesync.Coverer) resourcesync.Coverer {
	return &cachedCovers{c, cache.New(coversFor, coversFor), true}
}

// CacheCovered is like [CacheCovers], but does not cache that a URL is not covered. With
// [ProxyOptions.HTMLLink], a page then has its link as soon as it is listed: a Destination
// that requests it at once finds the listed hash.
func CacheCovered(c resourcesync.Coverer) resourcesync.Coverer {
	return &cachedCovers{c, cache.New(coversFor, coversFor), false}
}

type cachedCovers struct {
	resourcesync.Coverer
	known  *cache.Cache
	misses bool // whether to cache that a URL is not covered
}

// Covers implements [resourcesync.Coverer].
func (c *cachedCovers) Covers(u *url.URL) bool {
	key := u.EscapedPath() // a%2Fb is not a/b
	if u.RawQuery != "" {
		key += "?" + u.RawQuery
	}
	if covered, ok := c.known.Get(key); ok {
		return covered.(bool)
	}
	covered := c.Coverer.Covers(u)
	if len(key) > maxCover || !covered && !c.misses {
		return covered
	}
	if c.known.ItemCount() >= maxCovers {
		c.known.Flush() // a client is requesting many URLs that do not exist
	}
	c.known.SetDefault(key, covered)
	return covered
}
