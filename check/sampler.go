package check

import (
	"container/heap"
	"hash/maphash"
)

// maxTracked is the maximum number of resources of a set whose entries are compared. In a larger
// set, a random sample is compared, so that memory is bounded.
const maxTracked = 1 << 17

// A tracker collects the entries of resources by URI. It tracks all resources up to max, and
// beyond that a sample, which it halves whenever it exceeds max. The hash of the URI alone
// decides whether a resource is tracked, so the tracker sees all of its entries or none.
type tracker struct {
	max   int
	below uint64 // hashes that are kept; 0 if all are
	known map[uint64]*resource
}

func newTracker(max int) *tracker {
	return &tracker{max: max, known: make(map[uint64]*resource)}
}

// of returns the resource with a URI, which the caller can modify, or nil if it is not tracked.
func (t *tracker) of(uri string) *resource {
	h := hashOf(uri)
	if t.below > 0 && h >= t.below {
		return nil
	}
	if r := t.known[h]; r != nil {
		return r
	}
	r := new(resource)
	t.known[h] = r
	for len(t.known) > t.max {
		if t.below /= 2; t.below == 0 {
			t.below = 1 << 63
		}
		for h := range t.known {
			if h >= t.below {
				delete(t.known, h)
			}
		}
	}
	return r
}

// get returns the resource with a URI, or nil if it has no entries or is not tracked.
func (t *tracker) get(uri string) *resource { return t.known[hashOf(uri)] }

// A sample is a random choice of at most max items of any number. Items with the same name are
// one.
type sample[T any] struct {
	seed  maphash.Seed
	max   int
	items picks[T]
}

func newSample[T any](max int) *sample[T] {
	return &sample[T]{seed: maphash.MakeSeed(), max: max}
}

// wants reports whether add would keep an item with a name.
func (s *sample[T]) wants(name string) bool {
	return s.max > 0 && (len(s.items) < s.max || maphash.String(s.seed, name) < s.items[0].hash)
}

// add offers an item for the choice.
func (s *sample[T]) add(name string, item T) {
	if s.max <= 0 {
		return
	}
	h := maphash.String(s.seed, name)
	if len(s.items) == s.max && h >= s.items[0].hash {
		return
	}
	for _, p := range s.items {
		if p.hash == h {
			return
		}
	}
	heap.Push(&s.items, pick[T]{h, item})
	if len(s.items) > s.max {
		heap.Pop(&s.items)
	}
}

// picks is a heap with the largest hash first.
type picks[T any] []pick[T]

type pick[T any] struct {
	hash uint64
	item T
}

// Len implements [heap.Interface].
func (p picks[T]) Len() int { return len(p) }

// Less implements [heap.Interface].
func (p picks[T]) Less(i, j int) bool { return p[i].hash > p[j].hash }

// Swap implements [heap.Interface].
func (p picks[T]) Swap(i, j int) { p[i], p[j] = p[j], p[i] }

// Push implements [heap.Interface].
func (p *picks[T]) Push(x any) { *p = append(*p, x.(pick[T])) }

// Pop implements [heap.Interface].
func (p *picks[T]) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}
