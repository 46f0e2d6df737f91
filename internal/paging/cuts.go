// Package paging divides sets into pages and journals into windows. Stores and package
// rshttp share it, so that all divide the same state in the same way.
//
// The caller adds each resource to a [Cuts], or each change to a [Windows], in order.
// Both keep only the boundaries. Neither is safe for concurrent use.
package paging

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// ErrProvisional is returned together with cuts that are valid, but that other processes do
// not know yet. The caller divides the set again soon, although it has not changed.
var ErrProvisional = errors.New("the cuts are provisional, because another connection is writing to the database")

// MaxBytes is the maximum size, in bytes, of the entries of a page or window. The rest of
// rsxml.MaxBytes is for the head of the document.
const MaxBytes = rsxml.MaxBytes - 1<<16

// fill is the size, in bytes, at which a page or window ends. It is a quarter below the
// limit, so that entries can grow before the page must be split.
const fill = MaxBytes / 4 * 3

// Separator returns the shortest string s with a < s <= b that ends at a rune boundary of
// b, so that a separator of valid UTF-8 is valid UTF-8. a must be less than b.
func Separator(a, b string) string {
	n := 0
	for n < len(a) && a[n] == b[n] {
		n++
	}
	for n++; n < len(b) && !utf8.RuneStart(b[n]); n++ {
	}
	return b[:n]
}

// Limit returns the maximum number of resources of a page cut for about every resources.
// A larger page is split.
func Limit(every int) int { return min(2*every, rsxml.MaxEntries) }

// Cuts divides a set into pages. The caller adds the resources in order.
//
// Cuts of an earlier division are kept. Only a page that has outgrown its limit is split,
// and only neighbours that together fill at most half a page are joined. So the set must
// halve before a boundary disappears, and no boundary oscillates with single changes.
type Cuts struct {
	// MaxPages is the maximum number of pages. The default is the capacity of an
	// index, rsxml.MaxEntries. Set it before Done.
	MaxPages int

	previous []resourcesync.Cut
	every    int
	limit    int
	rebuild  bool // divide without regard to previous

	pages []page
	// pieces is the current page, split as it must be if it turns out to be too
	// large. The last piece is still growing.
	pieces  []page
	lastKey string
}

type page struct {
	resourcesync.Cut
	bytes int64
}

func (p *page) add(o page) {
	p.Count += o.Count
	p.bytes += o.bytes
	if o.Newest.After(p.Newest) {
		p.Newest = o.Newest
	}
}

// NewCuts starts a division into pages of about every resources. previous is the result
// of an earlier division, or nil. A set that was a single page is divided as if there
// were no earlier division.
func NewCuts(previous []resourcesync.Cut, every int) *Cuts {
	if len(previous) <= 1 {
		return &Cuts{MaxPages: rsxml.MaxEntries, every: every, limit: every, rebuild: true, pieces: make([]page, 1)}
	}
	return &Cuts{
		MaxPages: rsxml.MaxEntries, previous: previous, every: every, limit: Limit(every),
		pieces: make([]page, 1), pages: make([]page, 0, len(previous)+1),
	}
}

// Add adds the next resource: its key, the size of its entry in bytes (zero if unknown)
// and the time of its newest change (zero if unknown).
func (c *Cuts) Add(key string, size int, newest time.Time) {
	c.endPagesBefore(key)
	piece := &c.pieces[len(c.pieces)-1]
	if piece.Count == c.every || piece.Count > 0 && piece.bytes+int64(size) > fill {
		piece.Key = Separator(c.lastKey, key)
		c.pieces = append(c.pieces, page{})
		piece = &c.pieces[len(c.pieces)-1]
	}
	piece.add(page{Cut: resourcesync.Cut{Count: 1, Newest: newest}, bytes: int64(size)})
	c.lastKey = key
}

// AddDeleted adds a deleted resource, in the order of keys. It counts for the newest
// change of a page, but takes no space.
func (c *Cuts) AddDeleted(key string, newest time.Time) {
	c.endPagesBefore(key)
	c.pieces[len(c.pieces)-1].add(page{Cut: resourcesync.Cut{Newest: newest}})
	// The next cut must be after this key, on whose side the change counts.
	c.lastKey = key
}

// AddRun adds all resources and deleted ones with keys in r at once: the number of
// resources, the total size of their entries in bytes and the time of their newest
// change. If a cut could lie among them or just before them, AddRun adds nothing and
// returns false. The caller must then call [Cuts.After] and add them one by one.
func (c *Cuts) AddRun(r resourcesync.Range, count, size int, newest time.Time) bool {
	c.endPagesBefore(r.From)
	if len(c.previous) > 0 && c.previous[0].Key != "" && (r.To == "" || r.To > c.previous[0].Key) {
		return false
	}
	piece := &c.pieces[len(c.pieces)-1]
	if piece.Count+count > c.every || piece.bytes+int64(size) > fill {
		return false
	}
	piece.add(page{Cut: resourcesync.Cut{Count: count, Newest: newest}, bytes: int64(size)})
	return true
}

// AddPage adds all resources of the page of the previous division that begins at from at
// once: their number, the total size of their entries in bytes, and the time of their
// newest change (zero if unknown). It is for unchanged pages of a division into several, and
// does not split them. It is cheap, because a set has many of them after each change.
func (c *Cuts) AddPage(from string, count, size int, newest time.Time) {
	c.endPagesBefore(from)
	c.pages = append(c.pages, page{Cut: resourcesync.Cut{Key: c.previous[0].Key, Count: count, Newest: newest}, bytes: int64(size)})
	c.previous = c.previous[1:]
}

// After sets the last key, including keys of deleted resources, of the runs that AddRun has
// added. Call it before adding further resources one by one.
func (c *Cuts) After(key string) { c.lastKey = key }

// Done returns the division. It has at most MaxPages pages, if that many pages within the
// limits of the formats can hold the set.
func (c *Cuts) Done() []resourcesync.Cut {
	for len(c.previous) > 0 {
		c.endPage()
	}
	if c.rebuild {
		c.endPage()
	}
	pages := join(c.pages, func(a, b *page) bool {
		small := a.Count+b.Count <= c.every/2 || a.Count == 0 || b.Count == 0
		return !c.rebuild && small && a.Count+b.Count <= c.limit && a.bytes+b.bytes <= fill
	})
	for n := 0; len(pages) > c.MaxPages && n != len(pages); {
		n = len(pages)
		odd := false
		pages = join(pages, func(a, b *page) bool {
			odd = !odd && a.Count+b.Count <= rsxml.MaxEntries && a.bytes+b.bytes <= MaxBytes
			return odd
		})
	}
	cuts := make([]resourcesync.Cut, len(pages))
	for i := range pages {
		cuts[i] = pages[i].Cut
	}
	c.pages = pages
	return cuts
}

// Sizes returns the total size of the entries of each page, in bytes. Call it after Done.
func (c *Cuts) Sizes() []int {
	sizes := make([]int, len(c.pages))
	for i := range c.pages {
		sizes[i] = int(c.pages[i].bytes)
	}
	return sizes
}

// PageOf returns the index of the page of a division that has key.
func PageOf(cuts []resourcesync.Cut, key string) int {
	i, found := slices.BinarySearchFunc(cuts[:len(cuts)-1], key, func(c resourcesync.Cut, key string) int {
		return strings.Compare(c.Key, key)
	})
	if found {
		i++ // the cut begins the next page
	}
	return i
}

// endPagesBefore ends the pages of the previous division that end before key.
func (c *Cuts) endPagesBefore(key string) {
	for len(c.previous) > 0 && c.previous[0].Key != "" && key >= c.previous[0].Key {
		c.endPage()
	}
}

// endPage ends the current page where the previous division ended it. It splits the page
// into pieces if it exceeds its limit.
func (c *Cuts) endPage() {
	var end string
	if len(c.previous) > 0 {
		end, c.previous = c.previous[0].Key, c.previous[1:]
	}
	var whole page
	for _, p := range c.pieces {
		whole.add(p)
	}
	if whole.Count <= c.limit && whole.bytes <= MaxBytes {
		c.pieces = append(c.pieces[:0], whole)
	}
	if n := len(c.pieces); n > 1 && !c.rebuild {
		// Join a small last piece with its neighbour.
		a, b := &c.pieces[n-2], c.pieces[n-1]
		if b.Count < c.every/2 && a.Count+b.Count <= c.limit && a.bytes+b.bytes <= MaxBytes {
			a.add(b)
			c.pieces = c.pieces[:n-1]
		}
	}
	c.pieces[len(c.pieces)-1].Key = end
	c.pages = append(c.pages, c.pieces...)
	c.pieces = append(c.pieces[:0], page{})
}

// join merges neighbours a, b for which fits reports true, in place.
func join(pages []page, fits func(a, b *page) bool) []page {
	out := pages[:1]
	for i := range pages[1:] {
		a, b := &out[len(out)-1], &pages[i+1]
		if fits(a, b) {
			a.add(*b)
			a.Key = b.Key
		} else {
			out = append(out, *b)
		}
	}
	return out
}
