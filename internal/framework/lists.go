package framework

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// changes announces the Change List and the Change Dump, or those under their indexes.
func (d *Feed) changes(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	st := d.set
	if st.Changer == nil {
		k.Journal, k.ChangeList, k.ChangeDump = nil, nil, nil
		return nil, nil
	}
	// Read the state first: changes in between may be announced now, and are announced
	// again later.
	var now knownJournal
	state, err := document.JournalState(ctx, document.Target{Set: st}, nil)
	if err != nil {
		return nil, err
	}
	if state.Version != "" {
		now = knownJournal{document.DigestOf(state.Version), state.Modified}
	}
	windows, err := st.Windows.Get(ctx)
	if err != nil {
		return nil, err
	}
	if now.Version == "" {
		if now, err = d.readJournal(ctx, k.Journal, windows); err != nil {
			return nil, err
		}
	}
	moved := k.Journal == nil || now.Version != k.Journal.Version || !now.Newest.Equal(k.Journal.Newest)
	k.Journal = &now
	var news []rsxml.Entry
	var born, closed time.Time
	if k.ChangeList.splits(windows) {
		if born, err = d.windowStart(ctx, windows[len(windows)-1]); err != nil {
			return nil, err
		}
		if i := k.ChangeList.closed(windows); i >= 0 {
			// Readers see the list closed from the change that closed it, not
			// from its end.
			if closed, err = d.windowStart(ctx, windows[i+1]); err != nil {
				return nil, err
			}
		}
	}
	news, k.ChangeList = d.windowEntries(document.KindChangeList, k.ChangeList, windows, moved, splitTimes{born, closed}, now.Newest)
	if !st.Has(resourcesync.ChangeDump) {
		k.ChangeDump = nil
		return news, nil
	}
	dump, err := st.ChangePackages.Dump(ctx)
	if err != nil {
		return nil, err
	}
	until := dump.Covers().Until // a Change Dump changes when a package is closed
	moved = k.ChangeDump == nil || !until.Equal(k.ChangeDump.Until)
	parts := st.DumpParts(dump)
	times := splitTimes{born: until}
	if i := k.ChangeDump.closed(parts); i >= 0 {
		times.closed = parts[i].Until
	}
	dumps, told := d.windowEntries(document.KindChangeDump, k.ChangeDump, parts, moved, times, until)
	told.Until = until
	k.ChangeDump = told
	return append(news, dumps...), nil
}

// readJournal returns the state of a journal without a version. before is its last announced
// state, or nil.
func (d *Feed) readJournal(ctx context.Context, before *knownJournal, windows []resourcesync.Interval) (now knownJournal, err error) {
	if _, ok := d.set.Changer.(resourcesync.Windower); !ok {
		changes, newest, err := d.set.Windows.Last(ctx)
		return knownJournal{strconv.Itoa(changes), newest}, err
	}
	from := windows[len(windows)-1].From
	if before != nil && !before.Newest.Before(from) {
		now, from = *before, before.Newest // the datetimes of a Windower are strictly increasing
	}
	omitted := func(c *resourcesync.Change, _ error) { now.Newest = c.Datetime } // a change all the same
	for c, err := range d.set.Journal().Changes(ctx, resourcesync.Interval{From: from}, omitted) {
		if err != nil {
			return now, err
		}
		now.Newest = c.Datetime
	}
	return now, nil
}

// windowStart returns the time at which the open window w began: the time of its first change,
// which closed the previous window, or the end of the previous window if there is no
// change.
func (d *Feed) windowStart(ctx context.Context, w resourcesync.Interval) (time.Time, error) {
	first, err := d.set.Journal().First(ctx, w)
	if err == nil && first.IsZero() {
		first = w.From
	}
	return first, err
}

// splits reports whether the newest of windows was split off since k, so that there is a new
// document.
func (k *knownWindows) splits(windows []resourcesync.Interval) bool {
	last := len(windows) - 1
	return k != nil && last > 0 && (!k.Index || windows[last].From.After(k.Open))
}

// closed returns the index of the window that was open at k and has been closed since, or -1
// if there is none.
func (k *knownWindows) closed(windows []resourcesync.Interval) int {
	if k == nil || !k.Index {
		return -1
	}
	return slices.IndexFunc(windows[:len(windows)-1], func(w resourcesync.Interval) bool { return w.From.Equal(k.Open) })
}

// splitTimes are the times at which the newest window began, if it was split off, and at which
// the window that was open before was closed.
type splitTimes struct{ born, closed time.Time }

// windowEntries returns entries for the documents of windows that have changed since k: the
// newest one if it was created or updated, and the one that it has closed. The documents are
// of the kind if there is one, otherwise of its parts. moved reports
// whether the journal has changed. newest is the time of the newest change.
func (d *Feed) windowEntries(kind string, k *knownWindows, windows []resourcesync.Interval, moved bool, split splitTimes, newest time.Time) ([]rsxml.Entry, *knownWindows) {
	last := len(windows) - 1
	now := &knownWindows{Index: last > 0, Open: windows[last].From}
	entry := func(i int, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
		name := ""
		if now.Index {
			name = partition.FormatTime(windows[i].From)
		}
		return d.entry(kind, name, change, at)
	}
	switch {
	case k == nil:
		return []rsxml.Entry{entry(last, resourcesync.Created, newest)}, now
	case k.splits(windows):
		news := []rsxml.Entry{entry(last, resourcesync.Created, split.born)}
		if i := k.closed(windows); i >= 0 {
			news = append(news, entry(i, resourcesync.Updated, split.closed))
		}
		return news, now
	case moved || k.Index != now.Index:
		return []rsxml.Entry{entry(last, resourcesync.Updated, newest)}, now
	}
	return nil, now
}

// resources announces the Resource List, or the lists under its index.
func (d *Feed) resources(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	p := d.set.Pages.Current()
	if p == nil {
		return nil, resourcesync.ErrNotReady // it is being divided for the first time
	}
	if len(p.Cuts) == 1 {
		// It is rendered on request, independently of the partition.
		var err error
		if p, err = d.onlyPage(ctx, p); err != nil {
			return nil, err
		}
	}
	was := k.ResourceList
	k.ResourceList = knownPagesOf(p)
	if was != nil && was.Version == k.ResourceList.Version {
		return nil, nil
	}
	var entries []rsxml.Entry
	created, updated := newsOf(p, was)
	if created >= 0 {
		at := p.Cuts[created].Newest
		if was != nil {
			at = p.Splits[p.Range(created)] // or else now, as it becomes known
		}
		entries = append(entries, d.pageEntry(p, created, resourcesync.Created, at))
	}
	if updated >= 0 {
		entries = append(entries, d.pageEntry(p, updated, resourcesync.Updated, p.Cuts[updated].Newest))
	}
	return entries, nil
}

// onlyPage updates p, a partition into one page, to the current state of the set.
func (d *Feed) onlyPage(ctx context.Context, p *partition.Partition) (*partition.Partition, error) {
	now := *p
	now.Cuts = []resourcesync.Cut{{Count: p.Cuts[0].Count, Newest: p.At}}
	st, err := d.set.ResourceState(ctx, partition.Whole, nil)
	if err != nil {
		return nil, err
	}
	if st.Version != "" {
		now.Version, now.At = st.Version, st.Modified
		now.Cuts[0] = resourcesync.Cut{Newest: st.Modified} // the version says it all
	}
	return &now, nil
}

// knownPagesOf returns the part of p that a channel stores.
func knownPagesOf(p *partition.Partition) *knownPages {
	k := &knownPages{Count: len(p.Cuts)}
	for _, at := range p.Splits {
		if at.After(k.Born) {
			k.Born = at
		}
	}
	var state []string
	for _, c := range p.Cuts {
		state = append(state, c.Key, strconv.Itoa(c.Count), document.Stamp(c.Newest))
		if c.Newest.After(k.Newest) {
			k.Newest = c.Newest.UTC()
		}
	}
	if !dated(p) {
		state = append(state, p.Version, document.Stamp(p.At))
	}
	k.Version = document.DigestOf(state...)
	return k
}

// dated reports whether each of several pages has the time of its newest change.
func dated(p *partition.Partition) bool {
	undated := func(c resourcesync.Cut) bool { return c.Newest.IsZero() }
	return len(p.Cuts) > 1 && !slices.ContainsFunc(p.Cuts, undated)
}

// newsOf returns the indexes of the newest page of p that was created since k, and of the
// newest one that was updated; -1 for none. A larger number of pages shows that some are
// new, and their times show which ones. Joined pages are not announced.
func newsOf(p *partition.Partition, k *knownPages) (created, updated int) {
	grown := k == nil || k.Count > 0 && len(p.Cuts) > k.Count
	born := func(i int) time.Time { return p.Splits[p.Range(i)] }
	later := func(i, than int) bool { return than < 0 || !p.Cuts[i].Newest.Before(p.Cuts[than].Newest) }
	newest, created, updated := -1, -1, -1
	for i, c := range p.Cuts {
		if later(i, newest) {
			newest = i
		}
		switch {
		case k == nil:
		case grown && born(i).After(k.Born):
			if created < 0 || born(i).After(born(created)) || born(i).Equal(born(created)) && later(i, created) {
				created = i
			}
		case c.Newest.After(k.Newest) && later(i, updated):
			updated = i
		}
	}
	changed := k == nil || updated >= 0 || !dated(p) // or else the set is only divided otherwise
	switch {
	case created < 0 && grown && changed: // only another process has seen which are new
		return newest, -1
	case created < 0 && changed:
		return -1, newest
	}
	return created, updated
}

func (d *Feed) pageEntry(p *partition.Partition, i int, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	part := ""
	if len(p.Cuts) > 1 {
		part = partition.FormatRange(p.Range(i))
	}
	return d.entry(document.KindResourceList, part, change, at)
}
