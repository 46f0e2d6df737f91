package rshttp

import (
	"context"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// changes tells of the Change List and the Change Dump, or of those under their
// indexes.
func (d *documents) changes(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	st := d.set
	if st.changer == nil {
		k.Journal, k.ChangeList, k.ChangeDump = nil, nil, nil
		return nil, nil
	}
	// The state comes first: changes that come in between may be told of now,
	// and are told of again.
	var now knownJournal
	if st.changeStater != nil {
		stat, err := st.changeStater.Stat(ctx, wholeSet)
		if err != nil {
			return nil, err
		}
		if stat.Version != "" {
			now = knownJournal{digestOf(stat.Version), stat.LastModified}
		}
	}
	windows, err := d.windows(ctx, st)
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
	news, k.ChangeList = d.windowEntries(kindChangeList, kindChangeWindow, k.ChangeList, windows, moved, now.Newest)
	if !st.has(resourcesync.ChangeDump) {
		k.ChangeDump = nil
		return news, nil
	}
	if windows, err = d.dumpedWindows(ctx, st); err != nil {
		return nil, err
	}
	if st.changeDump.packages(windows) <= d.options.PageSize {
		windows = windows[len(windows)-1:] // one document has them all
	}
	var dump []rsxml.Entry
	dump, k.ChangeDump = d.windowEntries(kindChangeDump, kindChangeDumpPart, k.ChangeDump, windows, moved, now.Newest)
	return append(news, dump...), nil
}

// packages returns how many packages there are of windows, as far as that is known:
// each has at least one.
func (d *changeDump) packages(windows []resourcesync.Interval) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, w := range windows {
		n += max(1, len(d.parts[w]))
	}
	return n
}

// readJournal returns how far a journal is whose version is not known. before is
// how far it was, or nil.
func (d *documents) readJournal(ctx context.Context, before *knownJournal, windows []resourcesync.Interval) (now knownJournal, err error) {
	if _, ok := d.set.changer.(resourcesync.Windower); !ok {
		return d.set.journal.known(ctx)
	}
	from := windows[len(windows)-1].From
	if before != nil && !before.Newest.Before(from) {
		now, from = *before, before.Newest // the datetimes of a Windower are strictly increasing
	}
	for c, err := range d.set.changer.Changes(ctx, resourcesync.Interval{From: from}) {
		if err != nil {
			return now, providerError("journal", err)
		}
		now.Newest = c.Datetime
	}
	return now, ctx.Err()
}

// windowEntries tells of what has changed since k among documents about windows,
// which are of the kind part of an index, or of the kind only if there is but one.
// moved says that the journal has, and newest is the time of its newest change.
func (d *documents) windowEntries(only, part string, k *knownWindows, windows []resourcesync.Interval, moved bool, newest time.Time) ([]rsxml.Entry, *knownWindows) {
	last := len(windows) - 1
	now := &knownWindows{Index: last > 0, Open: windows[last].From}
	isNew := func(w resourcesync.Interval) bool {
		return k == nil || k.Index != now.Index || now.Index && w.From.After(k.Open)
	}
	var entries []rsxml.Entry
	for i := last; i >= 0 && len(entries) < maxNamed; i-- {
		w := windows[i]
		change := resourcesync.Updated
		switch {
		case isNew(w):
			change = resourcesync.Created
		case i == last && moved:
		case i < last && w.From.Equal(k.Open): // it has been closed
		default:
			continue
		}
		at := w.Until
		if w.Open() {
			at = newest
		}
		name := ""
		if now.Index {
			name = w.From.UTC().Format(windowLayout)
		}
		entries = append(entries, d.entry(only, part, name, change, at))
	}
	slices.Reverse(entries)
	return entries, now
}
