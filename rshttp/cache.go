package rshttp

import (
	"container/list"
	"sync"

	gocache "github.com/patrickmn/go-cache"
)

// cache keeps documents or packages by path, those that were asked for last, as
// many as fit into a number of bytes.
type cache[T kept] struct {
	budget int64
	docs   *gocache.Cache

	mu     sync.Mutex
	bytes  int64
	recent *list.List // of T, the one asked for last in front
	places map[string]*list.Element
}

// kept is what a cache keeps.
type kept interface {
	comparable
	path() string
	cost() int64 // the memory it takes, in bytes
}

func newCache[T kept](budget int64) *cache[T] {
	return &cache[T]{
		budget: budget,
		docs:   gocache.New(gocache.NoExpiration, 0),
		recent: list.New(),
		places: make(map[string]*list.Element),
	}
}

// get returns what is kept for path, or nil.
func (c *cache[T]) get(path string) T {
	v, ok := c.docs.Get(path)
	if !ok {
		var none T
		return none
	}
	c.mu.Lock()
	if e := c.places[path]; e != nil {
		c.recent.MoveToFront(e)
	}
	c.mu.Unlock()
	return v.(T)
}

// put keeps d in place of what was kept for its path, unless it would take more
// than half of the budget for itself alone.
func (c *cache[T]) put(d T) {
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
		c.remove(c.recent.Back().Value.(T).path())
	}
}

// drop forgets d, if it is what is kept for its path.
func (c *cache[T]) drop(d T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.places[d.path()]; e != nil && e.Value.(T) == d {
		c.remove(d.path())
	}
}

// remove is called with mu held.
func (c *cache[T]) remove(path string) {
	e := c.places[path]
	if e == nil {
		return
	}
	c.bytes -= c.recent.Remove(e).(T).cost()
	delete(c.places, path)
	c.docs.Delete(path)
}

// size returns the bytes held.
func (c *cache[T]) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
