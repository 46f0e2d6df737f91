package rshttp

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// restRatio is how many times as long as the last division of a set took it is
// left alone afterwards, so that dividing takes at most a tenth of one core
// however large the set and however often it changes.
const restRatio = 9

// A division remembers how a set is divided, into the pages of its Resource List
// or into the packages of its Resource Dump.
type division struct {
	set  *set
	into string // "pages" or "packages"
	// cut finds the cuts, keeping of previous what still fits.
	cut  func(s *Source, ctx context.Context, st *set, previous []resourcesync.Cut) ([]resourcesync.Cut, error)
	lazy bool // not made before somebody asks for it
	// group, if not nil, divides what was cut into the documents of an index.
	group func(s *Source, ctx context.Context, st *set, p, previous *pages) ([]resourcesync.Cut, error)

	mu      sync.Mutex
	current *pages
	learned []string // cuts that only rendering could find, in order
	due     bool     // known to be out of date, whatever the version says
	wake    chan struct{}
}

// pages is one division of a set. It is immutable.
type pages struct {
	number       uint64 // counts the divisions of this set
	pages        []resourcesync.Cut
	at           time.Time // of the index
	lastModified time.Time // zero if not known
	version      string
	cuts         []resourcesync.Cut // as they were found, without what was learned
	dumps        []resourcesync.Cut // of packages: the Resource Dumps that list them
	done         time.Time
	took         time.Duration

	// born is when pages were made by a split, of those that this process has
	// seen. It is not kept of packages.
	born map[resourcesync.Range]time.Time
}

// bearAfter notes which pages of p were made by splitting those of old.
func (p *pages) bearAfter(old *pages) {
	if old == nil {
		return
	}
	p.born = make(map[resourcesync.Range]time.Time)
	now := time.Now().UTC().Truncate(time.Microsecond)
	for r := range p.ranges() {
		if old.has(r) {
			if at, ok := old.born[r]; ok {
				p.born[r] = at
			}
			continue
		}
		i, found := slices.BinarySearchFunc(old.pages[:len(old.pages)-1], r.From, func(c resourcesync.Cut, key string) int { return strings.Compare(c.Key, key) })
		if found {
			i++
		}
		if end := old.pages[i].Key; end == "" || r.To != "" && r.To <= end {
			p.born[r] = now // a part of one; others have been joined
		}
	}
}

// rangeOf returns the range of page i.
func (p *pages) rangeOf(i int) resourcesync.Range {
	r := resourcesync.Range{To: p.pages[i].Key}
	if i > 0 {
		r.From = p.pages[i-1].Key
	}
	return r
}

func (d *division) get() (p *pages, due bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current, d.due
}

// stale marks the division as out of date.
func (d *division) stale() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = true
	d.nudge()
}

// nudge wakes whoever divides in the background.
func (d *division) nudge() {
	background.Signal(d.wake)
}

// split divides the page r before key, because from there on it is too much for a
// document, so that the very next index leads to all that is in it; a division of
// the whole set follows. learn says to keep the cut in that too, because a Cutter
// that counts resources cannot know of it. Ranges that are no pages of the
// division split nothing: anybody may ask for them.
func (d *division) split(r resourcesync.Range, key string, learn bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil || key == r.From || len(d.learned) >= rsxml.MaxEntries || !d.current.has(r) {
		return
	}
	d.due = true
	d.nudge()
	if i, found := slices.BinarySearch(d.learned, key); learn && !found {
		d.learned = slices.Insert(d.learned, i, key)
	}
	p := *d.current
	p.number++
	p.pages = withLearned(p.pages, []string{key})
	p.bearAfter(d.current)
	d.current = &p
}

// lists reports whether r is a page of the division.
func (d *division) lists(r resourcesync.Range) bool {
	p, _ := d.get()
	return p != nil && p.has(r)
}

// ranges yields the ranges of keys of p.
func (p *pages) ranges() iter.Seq[resourcesync.Range] { return rangesOf(p.pages, "") }

// rangesOf yields the ranges of keys that cuts make, the first of which begins at
// from.
func rangesOf(cuts []resourcesync.Cut, from string) iter.Seq[resourcesync.Range] {
	return func(yield func(resourcesync.Range) bool) {
		for _, c := range cuts {
			if !yield(resourcesync.Range{From: from, To: c.Key}) {
				return
			}
			from = c.Key
		}
	}
}

func (p *pages) has(r resourcesync.Range) bool { return isCut(p.pages, r) }

// isCut reports whether r is one of the ranges that cuts make.
func isCut(cuts []resourcesync.Cut, r resourcesync.Range) bool {
	last := len(cuts) - 1 // whose key is none
	i, found := slices.BinarySearchFunc(cuts[:last], r.To, func(c resourcesync.Cut, key string) int { return strings.Compare(c.Key, key) })
	if r.To == "" {
		i, found = last, true
	}
	from := ""
	if i > 0 {
		from = cuts[i-1].Key
	}
	return found && r.From == from
}

// division returns how the set of d is divided. A request waits for the division
// only if there is none yet, or if nobody divides in the background
// ([Source.Run]) and it is time to do it again. A set of one page stays one
// until rendering it finds it too long.
func (s *Source) division(ctx context.Context, d *division) (*pages, error) {
	p, due := d.get()
	if p == nil {
		return s.divideAnew(ctx, d, nil)
	}
	if len(p.pages) == 1 {
		return p, nil
	}
	if stater := d.set.stater; !due && stater != nil {
		stat, err := stater.Stat(ctx, wholeSet)
		if err != nil {
			return nil, err
		}
		if stat.Version == p.version && stat.Version != "" {
			return p, nil
		}
	}
	if s.running.Load() {
		d.stale()
		return p, nil
	}
	if time.Since(p.done) < restRatio*p.took {
		return p, nil
	}
	return s.divideAnew(ctx, d, p)
}

// divideAnew divides the set of d for a request, unless that has been done since
// old. It goes on if the request ends.
func (s *Source) divideAnew(ctx context.Context, d *division, old *pages) (*pages, error) {
	return s.divideOnce(ctx, d, old, func() (*pages, error) { return s.divide(context.WithoutCancel(ctx), d) })
}

// await waits until the set of d has been divided for the first time, but not for
// long: until then no range is known to be listed.
func (s *Source) await(ctx context.Context, d *division) {
	if p, _ := d.get(); p != nil || s.options.Wait < 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Wait)
	defer cancel()
	_, _ = s.divideAnew(ctx, d, nil) // the next request that lists the set gets the error
}

// divideOnce shares divide among all who want the set of d to be divided.
func (s *Source) divideOnce(ctx context.Context, d *division, old *pages, divide func() (*pages, error)) (*pages, error) {
	v, err := s.flights.Do(ctx, d.into+" of "+d.set.name, admission.Job{
		Begin: func(context.Context) error { return nil },
		Work: func(context.Context) (any, error) {
			if p, _ := d.get(); p != old {
				return p, nil
			}
			return divide()
		},
	})
	if err != nil {
		return nil, err
	}
	return v.(*pages), nil
}
