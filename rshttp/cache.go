package rshttp

import (
	"container/list"
	"sync"

	gocache "github.com/patrickmn/go-cache"
)

// cache is an LRU cache of documents by path, bounded in bytes.
type cache struct {
	budget int64
	docs   *gocache.Cache

	mu     sync.Mutex
	bytes  int64
	recent *list.List // of *document, the one asked for last in front
	places map[string]*list.Element
}

func newCache(budget int64) *cache {
	return &cache{
		budget: budget,
		docs:   gocache.New(gocache.NoExpiration, 0),
		recent: list.New(),
		places: make(map[string]*list.Element),
	}
}

// get returns what is kept for path, or nil.
func (c *cache) get(path string) *document {
	v, ok := c.docs.Get(path)
	if !ok {
		return nil
	}
	c.mu.Lock()
	if e := c.places[path]; e != nil {
		c.recent.MoveToFront(e)
	}
	c.mu.Unlock()
	return v.(*document)
}

// put keeps d in place of what was kept for its path, unless it would take more
// than half of the budget for itself alone.
func (c *cache) put(d *document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path := d.path()
	c.remove(path)
	if d.cost() > c.budget/2 {
		return
	}
	c.bytes += d.cost()
	c.places[path] = c.recent.PushFront(d)
	c.docs.SetDefault(path, d)
	for c.bytes > c.budget {
		c.remove(c.recent.Back().Value.(*document).path())
	}
}

// remove is called with mu held.
func (c *cache) remove(path string) {
	e := c.places[path]
	if e == nil {
		return
	}
	c.bytes -= c.recent.Remove(e).(*document).cost()
	delete(c.places, path)
	c.docs.Delete(path)
}

// size returns the bytes held.
func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
