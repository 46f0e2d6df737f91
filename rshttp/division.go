package rshttp

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
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
	done         time.Time
	took         time.Duration
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
	select {
	case d.wake <- struct{}{}:
	default:
	}
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
	d.current = &p
}

// lists reports whether r is a page of the division.
func (d *division) lists(r resourcesync.Range) bool {
	p, _ := d.get()
	return p != nil && p.has(r)
}

// foreign reports whether r is known to be none of the division.
func (d *division) foreign(r resourcesync.Range) bool {
	p, _ := d.get()
	return p != nil && !p.has(r)
}

// ranges yields the ranges of keys of p.
func (p *pages) ranges() iter.Seq[resourcesync.Range] {
	return func(yield func(resourcesync.Range) bool) {
		from := ""
		for _, c := range p.pages {
			if !yield(resourcesync.Range{From: from, To: c.Key}) {
				return
			}
			from = c.Key
		}
	}
}

func (p *pages) has(r resourcesync.Range) bool {
	for page := range p.ranges() {
		if page == r {
			return true
		}
	}
	return false
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

// divideOnce shares divide among all who want the set of d to be divided.
func (s *Source) divideOnce(ctx context.Context, d *division, old *pages, divide func() (*pages, error)) (*pages, error) {
	v, err := s.flights.do(ctx, d.into+" of "+d.set.name, func() error { return nil }, func() (any, error) {
		if p, _ := d.get(); p != old {
			return p, nil
		}
		return divide()
	})
	if err != nil {
		return nil, err
	}
	return v.(*pages), nil
}

// divide divides the set of d and remembers the result.
func (s *Source) divide(ctx context.Context, d *division) (_ *pages, err error) {
	started := time.Now()
	st := d.set
	d.mu.Lock()
	old := d.current
	d.due = false
	d.mu.Unlock()
	defer func() {
		if err != nil {
			d.mu.Lock()
			d.due = true
			d.mu.Unlock()
		}
	}()

	p := &pages{number: 1}
	var previous []resourcesync.Cut
	if old != nil {
		previous = old.cuts
	}
	if st.stater != nil {
		stat, err := st.stater.Stat(ctx, wholeSet)
		if err != nil {
			return nil, err
		}
		p.version, p.lastModified = stat.Version, stat.LastModified
	}
	if p.cuts, err = d.cut(s, ctx, st, previous); err == nil {
		err = checkCuts(p.cuts)
	}
	if err != nil {
		return nil, providerError(fmt.Sprintf("dividing set %q into %s", st.name, d.into), err)
	}
	for _, c := range p.cuts {
		if c.Newest.After(p.at) {
			p.at = c.Newest
		}
	}
	if !p.lastModified.IsZero() && !p.lastModified.After(started) {
		p.at = p.lastModified
	}
	if st.cutter == nil {
		if err := date(ctx, st, p.cuts); err != nil {
			return nil, err
		}
	}
	p.done = time.Now()
	p.took = p.done.Sub(started)

	d.mu.Lock()
	defer d.mu.Unlock()
	p.pages = withLearned(p.cuts, d.learned)
	// A page may have been split while the set was divided.
	if now := d.current; now != nil {
		p.number = now.number
		if !now.at.Equal(p.at) || !slices.Equal(now.pages, p.pages) {
			p.number++
		}
	}
	d.current = p
	return p, nil
}

// date gives the pages of a set that was walked the times of their newest changes,
// if the set knows them. The newest modification of what is left in a page is none:
// a deletion would hide behind it from those who skip what has not changed.
func date(ctx context.Context, st *set, cuts []resourcesync.Cut) error {
	from := ""
	for i := range cuts {
		cuts[i].Newest = time.Time{}
		if st.stater != nil && len(cuts) > 1 {
			stat, err := st.stater.Stat(ctx, resourcesync.Range{From: from, To: cuts[i].Key})
			if err != nil {
				return err
			}
			cuts[i].Newest = stat.LastModified
		}
		from = cuts[i].Key
	}
	return nil
}

// cutPages divides a set into pages.
func (s *Source) cutPages(ctx context.Context, st *set, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
	if st.cutter != nil {
		return st.cutter.Cuts(ctx, previous, s.options.PageSize)
	}
	return walk(ctx, st, previous, s.options.PageSize)
}

// walk divides a set into pages by reading all of it.
func walk(ctx context.Context, st *set, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	b := paging.NewCuts(previous, every)
	started := time.Now()
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}
	var (
		e       rsxml.Entry
		scratch []byte
		last    string
	)
	for r, err := range st.provider.Resources(ctx, wholeSet) {
		if err != nil {
			return nil, err
		}
		if r.Key <= last {
			return nil, fmt.Errorf("provider broke its contract: key %q after %q", r.Key, last)
		}
		last = r.Key
		if rsxml.CheckURI(r.URI) != nil {
			continue // the page that should list it reports it
		}
		newest := r.LastModified
		if !newest.Before(started) {
			newest = time.Time{}
		}
		e.SetResource(&r)
		scratch = rsxml.AppendEntry(scratch[:0], &head, &e)
		b.Add(r.Key, len(scratch), newest)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return b.Done(), nil
}

func checkCuts(cuts []resourcesync.Cut) error {
	last := ""
	for i, c := range cuts {
		if (c.Key == "") != (i == len(cuts)-1) || c.Key != "" && c.Key <= last {
			return fmt.Errorf("cut %d of %d at key %q is out of order", i+1, len(cuts), c.Key)
		}
		last = c.Key
	}
	if len(cuts) == 0 {
		return fmt.Errorf("no cuts: a set without resources has one page")
	}
	return nil
}

// withLearned adds the learned cuts to a division.
func withLearned(cuts []resourcesync.Cut, learned []string) []resourcesync.Cut {
	if len(learned) == 0 {
		return cuts
	}
	var out []resourcesync.Cut
	for _, c := range cuts {
		for len(learned) > 0 && (c.Key == "" || learned[0] <= c.Key) {
			if learned[0] != c.Key {
				out = append(out, resourcesync.Cut{Key: learned[0], Newest: c.Newest})
			}
			learned = learned[1:]
		}
		out = append(out, c)
	}
	return out
}
