package rshttp

import (
	"container/list"
	"sync"

	gocache "github.com/patrickmn/go-cache"
)

// cache is an LRU cache of documents by path, limited in bytes. go-cache is the map; it has
// neither sizes nor recency, so the cache keeps those itself.
type cache struct {
	budget int64
	docs   *gocache.Cache // of *list.Element

	mu     sync.Mutex
	bytes  int64
	recent *list.List // of *document, the one requested last in front
}

func newCache(budget int64) *cache {
	return &cache{budget: budget, docs: gocache.New(gocache.NoExpiration, 0), recent: list.New()}
}

// get returns the cached document for path, or nil.
func (c *cache) get(path string) *document {
	e, ok := c.docs.Get(path)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.MoveToFront(e.(*list.Element)) // unless it has been removed
	return e.(*list.Element).Value.(*document)
}

// put caches d for its path, unless d takes more than half of the limit.
func (c *cache) put(d *document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.docs.Get(d.path()); ok {
		c.remove(e.(*list.Element))
	}
	if d.cost() > c.budget/2 {
		return
	}
	c.bytes += d.cost()
	c.docs.SetDefault(d.path(), c.recent.PushFront(d))
	for c.bytes > c.budget {
		c.remove(c.recent.Back())
	}
}

// remove is called with mu held.
func (c *cache) remove(e *list.Element) {
	d := c.recent.Remove(e).(*document)
	c.bytes -= d.cost()
	c.docs.Delete(d.path())
}

// size returns the bytes of all documents.
func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
