// Package covercache remembers which URLs a set covers, so that a request of the host costs no
// query of a database for its Link header.
package covercache

import (
	"hash/maphash"
	"net/url"
	"sync"
	"time"
)

const (
	// maxAge is how long an answer is used.
	maxAge = 10 * time.Second

	// maxURLs is the number of URLs whose answers are kept, in about 2 MiB.
	maxURLs = 50_000
)

// A Cache has the recent answers of a Coverer. It is safe for concurrent use.
// That a URL is covered is remembered for ten seconds: a Link header in responses some
// seconds after the resource has left the set does no harm. That a URL is not covered is
// remembered only while Wake is called after each change, until the next call: a
// Destination that requests a new resource at once finds the link, and the content of a
// page that has the link in its head is the listed one.
type Cache struct {
	covers func(*url.URL) bool
	seed   maphash.Seed
	begun  time.Time

	mu      sync.Mutex
	watched bool
	wakes   uint64
	known   map[uint64]answer // by the hash of the URL, which clients cannot predict
}

type answer struct {
	covered bool
	wakes   uint64        // the number of calls of Wake before
	until   time.Duration // after begun
}

// New returns a Cache of the answers of covers.
func New(covers func(*url.URL) bool) *Cache {
	return &Cache{covers: covers, seed: maphash.MakeSeed(), begun: time.Now()}
}

// Covers returns the answer for u.
func (c *Cache) Covers(u *url.URL) bool {
	key := c.hash(u)
	now := time.Since(c.begun)
	c.mu.Lock()
	known, ok := c.known[key]
	watched, wakes := c.watched, c.wakes
	c.mu.Unlock()
	if ok && now < known.until && (known.covered || watched && known.wakes == wakes) {
		return known.covered
	}
	covered := c.covers(u)
	if !covered && !watched {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxURLs {
		c.known = make(map[uint64]answer) // a client may be requesting URLs that do not exist
	}
	c.known[key] = answer{covered, wakes, now + maxAge}
	return covered
}

// hash distinguishes the URLs that a Coverer may distinguish: a%2Fb is not a/b.
func (c *Cache) hash(u *url.URL) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, part := range [...]string{u.Scheme, u.Host, u.Opaque, u.Path, u.RawPath, u.RawQuery} {
		h.WriteString(part)
		h.WriteByte(0xff) // not in UTF-8; an ambiguous path has escapes in RawPath
	}
	return h.Sum64()
}

// Watch states whether Wake is called after each change from now on. c may be nil.
func (c *Cache) Watch(watched bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = watched
	c.wakes++ // what was remembered before may have changed
}

// Wake forgets which URLs are not covered. c may be nil.
func (c *Cache) Wake() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wakes++
}
