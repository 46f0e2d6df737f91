package rshttp

import (
	"context"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// changes announces the Change List and the Change Dump, or those under their indexes.
func (d *frameworkFeed) changes(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	st := d.set
	if st.changer == nil {
		k.Journal, k.ChangeList, k.ChangeDump = nil, nil, nil
		return nil, nil
	}
	// Read the state first: changes in between may be announced now, and are announced
	// again later.
	var now knownJournal
	state, err := journalState(ctx, target{set: st}, nil)
	if err != nil {
		return nil, err
	}
	if state.version != "" {
		now = knownJournal{digestOf(state.version), state.modified}
	}
	windows, err := st.windows.Get(ctx)
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
	var born time.Time
	if k.ChangeList.splits(windows) {
		if born, err = d.born(ctx, windows[len(windows)-1]); err != nil {
			return nil, err
		}
	}
	news, k.ChangeList = d.windowEntries(kindChangeList, kindChangeWindow, k.ChangeList, windows, moved, born, now.Newest)
	if !st.has(resourcesync.ChangeDump) {
		k.ChangeDump = nil
		return news, nil
	}
	dump, err := st.changePackages.Dump(ctx)
	if err != nil {
		return nil, err
	}
	until := dump.Covers().Until // a Change Dump changes when a package is closed
	moved = k.ChangeDump == nil || !until.Equal(k.ChangeDump.Until)
	dumps, told := d.windowEntries(kindChangeDump, kindChangeDumpPart, k.ChangeDump, st.dumpParts(dump), moved, until, until)
	told.Until = until
	k.ChangeDump = told
	return append(news, dumps...), nil
}

// readJournal returns the state of a journal without a version. before is its last announced
// state, or nil.
func (d *frameworkFeed) readJournal(ctx context.Context, before *knownJournal, windows []resourcesync.Interval) (now knownJournal, err error) {
	if _, ok := d.set.changer.(resourcesync.Windower); !ok {
		changes, newest, err := d.set.windows.Last(ctx)
		return knownJournal{strconv.Itoa(changes), newest}, err
	}
	from := windows[len(windows)-1].From
	if before != nil && !before.Newest.Before(from) {
		now, from = *before, before.Newest // the datetimes of a Windower are strictly increasing
	}
	omitted := func(c *resourcesync.Change, _ error) { now.Newest = c.Datetime } // a change all the same
	for c, err := range (journal{d.set}).changes(ctx, resourcesync.Interval{From: from}, omitted) {
		if err != nil {
			return now, err
		}
		now.Newest = c.Datetime
	}
	return now, nil
}

// born returns the time at which the open window w began: that of its first change, which
// closed the previous window, or the end of the previous window if there is no change.
func (d *frameworkFeed) born(ctx context.Context, w resourcesync.Interval) (time.Time, error) {
	for c, err := range (journal{d.set}).changes(ctx, resourcesync.Interval{From: w.From}, nil) {
		return c.Datetime, err
	}
	return w.From, nil
}

// splits reports whether the newest of windows was split off since k, so that there is a new
// document.
func (k *knownWindows) splits(windows []resourcesync.Interval) bool {
	last := len(windows) - 1
	return k != nil && last > 0 && (!k.Index || windows[last].From.After(k.Open))
}

// windowEntries returns entries for the documents of windows that have changed since k: the
// newest one if it was created or updated, and the one that it has closed. The documents are
// of the kind only if there is one, otherwise of the kind part of an index. moved reports
// whether the journal has changed. born is the time at which the newest window began, if it
// was split off, and newest the time of the newest change.
func (d *frameworkFeed) windowEntries(only, part string, k *knownWindows, windows []resourcesync.Interval, moved bool, born, newest time.Time) ([]rsxml.Entry, *knownWindows) {
	last := len(windows) - 1
	now := &knownWindows{Index: last > 0, Open: windows[last].From}
	entry := func(i int, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
		name := ""
		if now.Index {
			name = partition.FormatTime(windows[i].From)
		}
		return d.entry(only, part, name, change, at)
	}
	switch {
	case k == nil:
		return []rsxml.Entry{entry(last, resourcesync.Created, newest)}, now
	case k.splits(windows):
		news := []rsxml.Entry{entry(last, resourcesync.Created, born)}
		for i, w := range windows[:last] {
			if k.Index && w.From.Equal(k.Open) {
				news = append(news, entry(i, resourcesync.Updated, w.Until))
			}
		}
		return news, now
	case moved || k.Index != now.Index:
		return []rsxml.Entry{entry(last, resourcesync.Updated, newest)}, now
	}
	return nil, now
}
