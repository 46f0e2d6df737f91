package partition

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
)

// divide divides the set and keeps the result. It reads the version of the set first, so
// that a change during the division makes the result out of date.
func (d *Partitioner) divide(ctx context.Context) (_ *Partition, err error) {
	started := time.Now()
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
	p := &Partition{Number: 1}
	var previous []resourcesync.Cut
	if old != nil {
		previous = old.found
	}
	var modified time.Time
	if d.Stater != nil {
		stat, err := d.Stater.Stat(ctx, Whole)
		if err != nil {
			return nil, err
		}
		p.Version, modified = stat.Version, stat.LastModified
	}
	if p.found, err = d.Cut(ctx, previous); err == nil {
		err = checkCuts(p.found)
	}
	if err != nil {
		return nil, checked.Error(fmt.Sprintf("dividing set %q into %s", d.Set, d.Into), err)
	}
	for _, c := range p.found {
		if c.Newest.After(p.At) {
			p.At = c.Newest
		}
	}
	if !modified.IsZero() && !modified.After(started) {
		p.At = modified
	}
	if !d.Dated {
		if err := d.date(ctx, p.found); err != nil {
			return nil, err
		}
	}
	if d.Group != nil {
		p.Cuts = p.found
		if p.Groups, err = d.Group(ctx, p, old); err != nil {
			return nil, err
		}
	}
	p.done = time.Now()
	p.took = p.done.Sub(started)
	d.keep(p)
	return p, nil
}

// keep makes p the current partition. No other goroutine may use p yet.
func (d *Partitioner) keep(p *Partition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.Cuts = withLearned(p.found, d.learned)
	if now := d.current; now != nil { // a range may have been split meanwhile
		p.Number = now.Number
		if !now.At.Equal(p.At) || !slices.Equal(now.Cuts, p.Cuts) {
			p.Number++
		}
	}
	if d.Group == nil {
		p.noteSplits(d.current)
	}
	d.current = p
}

// date sets the time of the newest change of each range to the one that Stater reports,
// or to zero. The resources of a range do not show the time of a deletion, and a
// Destination that skips unchanged documents would miss it.
func (d *Partitioner) date(ctx context.Context, cuts []resourcesync.Cut) error {
	i := 0
	for r := range Ranges(cuts, "") {
		cuts[i].Newest = time.Time{}
		if d.Stater != nil && len(cuts) > 1 {
			stat, err := d.Stater.Stat(ctx, r)
			if err != nil {
				return err
			}
			cuts[i].Newest = stat.LastModified
		}
		i++
	}
	return nil
}
