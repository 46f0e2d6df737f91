package rshttp

import (
	"context"
	"fmt"
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

// A division remembers how a set is divided into pages.
type division struct {
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
	every        int
	cuts         []resourcesync.Cut // as the provider gave them
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

// learn takes note that the page r holds more than a document's bytes before
// key, which a Cutter that counts resources cannot know. Ranges that are no
// pages of the division teach nothing: anybody may ask for them.
func (d *division) learn(r resourcesync.Range, key string, size int) {
	if size <= paging.MaxBytes || key == r.From {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current == nil || len(d.learned) >= rsxml.MaxEntries || !d.current.has(r) {
		return
	}
	if i, found := slices.BinarySearch(d.learned, key); !found {
		d.learned = slices.Insert(d.learned, i, key)
	}
}

// lists reports whether r is a page of the division.
func (d *division) lists(r resourcesync.Range) bool {
	p, _ := d.get()
	return p != nil && p.has(r)
}

func (p *pages) has(r resourcesync.Range) bool {
	from := ""
	for _, c := range p.pages {
		if from == r.From && c.Key == r.To {
			return true
		}
		from = c.Key
	}
	return false
}

// division returns how st is divided. A request waits for the division only if
// there is none yet, or if nobody divides in the background ([Source.Run]) and
// it is time to do it again. A set of one page stays one until rendering it
// finds it too long.
func (s *Source) division(ctx context.Context, st *set) (*pages, error) {
	p, due := st.division.get()
	if p == nil {
		return s.divideAnew(ctx, st, nil)
	}
	if len(p.pages) == 1 {
		return p, nil
	}
	if !due && st.stater != nil {
		stat, err := st.stater.Stat(ctx, wholeSet)
		if err != nil {
			return nil, err
		}
		if stat.Version == p.version {
			return p, nil
		}
	}
	if s.running.Load() {
		st.division.stale()
		return p, nil
	}
	if time.Since(p.done) < restRatio*p.took {
		return p, nil
	}
	return s.divideAnew(ctx, st, p)
}

// divideAnew divides st, unless that has been done since old.
func (s *Source) divideAnew(ctx context.Context, st *set, old *pages) (*pages, error) {
	v, err := s.flights.do(ctx, "division of "+st.name, func() error { return nil }, func() (any, error) {
		if p, _ := st.division.get(); p != old {
			return p, nil
		}
		return s.divide(context.WithoutCancel(ctx), st)
	})
	if err != nil {
		return nil, err
	}
	return v.(*pages), nil
}

// divide divides st and remembers the result.
func (s *Source) divide(ctx context.Context, st *set) (*pages, error) {
	started := time.Now()
	d := &st.division
	d.mu.Lock()
	old := d.current
	d.due = false
	d.mu.Unlock()

	p := &pages{number: 1, every: s.options.PageSize}
	var previous []resourcesync.Cut
	if old != nil {
		p.number, previous = old.number+1, old.cuts
	}
	if st.stater != nil {
		stat, err := st.stater.Stat(ctx, wholeSet)
		if err != nil {
			return nil, err
		}
		p.version, p.lastModified = stat.Version, stat.LastModified
	}
	var err error
	if st.cutter != nil {
		p.cuts, err = st.cutter.Cuts(ctx, previous, p.every)
	} else {
		p.cuts, err = walk(ctx, st, previous, p.every)
	}
	if err == nil {
		err = checkCuts(p.cuts)
	}
	if err != nil {
		return nil, fmt.Errorf("dividing set %q into pages: %w", st.name, err)
	}
	for _, c := range p.cuts {
		if c.Newest.After(p.at) {
			p.at = c.Newest
		}
	}
	if !p.lastModified.IsZero() {
		p.at = p.lastModified
	}
	p.done = time.Now()
	p.took = p.done.Sub(started)

	d.mu.Lock()
	defer d.mu.Unlock()
	p.pages = withLearned(p.cuts, d.learned)
	if old != nil && old.at.Equal(p.at) && slices.Equal(old.pages, p.pages) {
		p.number = old.number
	}
	d.current = p
	return p, nil
}

// walk divides a set by reading all of it.
func walk(ctx context.Context, st *set, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	b := paging.NewCuts(previous, every)
	started := time.Now()
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}
	var (
		e       rsxml.Entry
		scratch []byte
	)
	for r, err := range st.provider.Resources(ctx, wholeSet) {
		if err != nil {
			return nil, err
		}
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
	cuts := b.Done()
	if st.stater == nil || len(cuts) == 1 {
		return cuts, nil
	}
	from := ""
	for i := range cuts {
		stat, err := st.stater.Stat(ctx, resourcesync.Range{From: from, To: cuts[i].Key})
		if err != nil {
			return nil, err
		}
		if !stat.LastModified.IsZero() {
			cuts[i].Newest = stat.LastModified // deletions count
		}
		from = cuts[i].Key
	}
	return cuts, nil
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
