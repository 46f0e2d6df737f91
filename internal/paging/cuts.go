package paging

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Limit returns the number of resources at which a page cut for about every
// resources is divided.
func Limit(every int) int { return min(2*every, rsxml.MaxEntries) }

// Cuts finds the pages of a set whose resources it is shown in order.
//
// Cuts of an earlier division survive: only a page that has outgrown its limit
// is divided, and only neighbours that together fill no more than half a page
// are joined, so that the set must halve before a boundary goes and no single
// change can move one to and fro.
type Cuts struct {
	// MaxPages is the greatest number of pages of the division: as many as an
	// index holds, rsxml.MaxEntries, unless something else is set before Done.
	MaxPages int

	previous []resourcesync.Cut
	every    int
	limit    int
	anew     bool // there is no previous division to keep to

	pages []page
	// pieces is the page being walked, divided as it would be if it turned
	// out to be too large; the last piece is still growing.
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

// NewCuts starts a division into pages of about every resources. previous is
// the result of an earlier one, or nil. A set that was a single page is divided
// anew, as exactly as if it had just been loaded.
func NewCuts(previous []resourcesync.Cut, every int) *Cuts {
	if len(previous) <= 1 {
		return &Cuts{MaxPages: rsxml.MaxEntries, every: every, limit: every, anew: true, pieces: make([]page, 1)}
	}
	return &Cuts{MaxPages: rsxml.MaxEntries, previous: previous, every: every, limit: Limit(every), pieces: make([]page, 1)}
}

// Add shows the next resource: its key, the size of its entry in bytes (zero if
// unknown) and the time of its newest change (zero if unknown).
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

// AddDeleted shows, in its place in the order of keys, a resource that is no
// longer in the set: it fills no page but counts for the newest change of one.
func (c *Cuts) AddDeleted(key string, newest time.Time) {
	c.endPagesBefore(key)
	c.pieces[len(c.pieces)-1].add(page{Cut: resourcesync.Cut{Newest: newest}})
	// A cut that comes next must lie behind it, on the side it counts for.
	c.lastKey = key
}

// AddRun shows all resources and deleted ones with keys in r at once: how many
// resources there are, the size of their entries in bytes together and the time
// of the newest change of all. It takes them if no cut can lie among them or just
// before them. If it returns false, they must be shown one by one, after
// [Cuts.After].
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

// AddPage shows all resources of the page of the previous division that begins
// at from at once: how many there are, and the size of their entries in bytes
// together. It is for pages that are as they were: they are not divided.
func (c *Cuts) AddPage(from string, count, size int) {
	c.endPagesBefore(from)
	c.pieces = append(c.pieces[:0], page{Cut: resourcesync.Cut{Count: count}, bytes: int64(size)})
	c.endPage()
}

// After says which key was the last, deleted ones included, of the runs that
// AddRun has taken, before resources are shown one by one again.
func (c *Cuts) After(key string) { c.lastKey = key }

// Done returns the division. It has at most MaxPages pages as long as pages of the
// formats' limits can hold the set.
func (c *Cuts) Done() []resourcesync.Cut {
	for len(c.previous) > 0 {
		c.endPage()
	}
	if c.anew {
		c.endPage()
	}
	pages := join(c.pages, func(a, b page) bool {
		small := a.Count+b.Count <= c.every/2 || a.Count == 0 || b.Count == 0
		return !c.anew && small && a.Count+b.Count <= c.limit && a.bytes+b.bytes <= fill
	})
	for n := 0; len(pages) > c.MaxPages && n != len(pages); {
		n = len(pages)
		odd := false
		pages = join(pages, func(a, b page) bool {
			odd = !odd && a.Count+b.Count <= rsxml.MaxEntries && a.bytes+b.bytes <= MaxBytes
			return odd
		})
	}
	cuts := make([]resourcesync.Cut, len(pages))
	for i := range pages {
		cuts[i] = pages[i].Cut
	}
	return cuts
}

// endPagesBefore ends the pages of the previous division that lie before key.
func (c *Cuts) endPagesBefore(key string) {
	for len(c.previous) > 0 && c.previous[0].Key != "" && key >= c.previous[0].Key {
		c.endPage()
	}
}

// endPage ends the page being walked where the previous division ended it,
// whole if it is within its limit and in pieces if it is not.
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
	if n := len(c.pieces); n > 1 && !c.anew {
		// A remnant of a divided page goes with its neighbour.
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

// join returns pages with every neighbours a, b for which fits says so as one.
// It works in place.
func join(pages []page, fits func(a, b page) bool) []page {
	out := pages[:1]
	for _, b := range pages[1:] {
		a := &out[len(out)-1]
		if fits(*a, b) {
			a.add(b)
			a.Key = b.Key
		} else {
			out = append(out, b)
		}
	}
	return out
}
