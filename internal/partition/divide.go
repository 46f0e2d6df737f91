package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
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
	p.found, err = d.Cut(ctx, previous)
	provisional := errors.Is(err, paging.ErrProvisional)
	if err == nil || provisional {
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
	if provisional {
		d.Invalidate()
	}
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
	d.Divided.Ring()
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

// Pages returns a Partitioner that divides a set into pages of about every resources.
// cutter and stater may be nil. Without a cutter, the Partitioner reads the whole set.
func Pages(set string, provider resourcesync.Provider, cutter resourcesync.Cutter, stater resourcesync.Stater, every int) *Partitioner {
	d := &Partitioner{Set: set, Into: "pages", Stater: stater, Dated: cutter != nil}
	d.Cut = func(ctx context.Context, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
		if cutter != nil {
			return cutter.Cuts(ctx, previous, every)
		}
		return walk(ctx, provider, previous, every)
	}
	return d
}

// walk divides a set into pages by reading all of it.
func walk(ctx context.Context, provider resourcesync.Provider, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	b := paging.NewCuts(previous, every)
	started := time.Now()
	var builder entries.Builder
	for r, err := range checked.Resources(ctx, provider, Whole, nil) { // the page reports what it omits
		if err != nil {
			return nil, err
		}
		newest := r.LastModified
		if !newest.Before(started) {
			newest = time.Time{}
		}
		b.Add(r.Key, builder.ResourceSize(&r), newest)
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
		return errors.New("no cuts: a set without resources has one page")
	}
	return nil
}

// withLearned returns cuts with the learned ones added. Both are in order.
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

// A Span is a span of time in microseconds since 1970: From is included, Until is not.
// A page of an archive is a span whose length is a power of two and that begins at a
// multiple of it. A page that has become too long is halved, and no other page moves.
type Span struct{ From, Until int64 }

// endOfTime is in the year 2112. Later times count as just before it.
const endOfTime = 1 << 52

// AllTime is the span of all times.
var AllTime = Span{0, endOfTime}

// Micros returns t in microseconds since 1970, as a time in AllTime.
func Micros(t time.Time) int64 { return min(max(t.UnixMicro(), 0), endOfTime-1) }

// Spans divides the documents of an archive into pages of at most max documents. times
// are the times of the documents, in ascending order and all in the span in. A page of
// one microsecond may have more documents. No page is empty.
func Spans(times []int64, in Span, max int) []Span {
	switch {
	case len(times) == 0:
		return nil
	case len(times) <= max || in.Until-in.From == 1:
		return []Span{in}
	}
	middle := (in.From + in.Until) / 2
	i, _ := slices.BinarySearch(times, middle)
	return append(Spans(times[:i], Span{in.From, middle}, max), Spans(times[i:], Span{middle, in.Until}, max)...)
}
