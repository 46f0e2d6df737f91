package rshttp

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

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
		return nil, checked.Error(fmt.Sprintf("dividing set %q into %s", st.name, d.into), err)
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
	if d.group != nil {
		p.pages = p.cuts // as it stays: rendering learns nothing of packages
		if p.dumps, err = d.group(s, ctx, st, p, old); err != nil {
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
	if d.group == nil {
		p.bearAfter(d.current)
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
	var builder entries.Builder
	for r, err := range checked.Resources(ctx, st.provider, wholeSet, nil) { // the page reports what it omits
		if err != nil {
			return nil, err
		}
		newest := r.LastModified
		if !newest.Before(started) {
			newest = time.Time{}
		}
		b.Add(r.Key, builder.Size(&head, builder.Resource(&r)), newest)
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
