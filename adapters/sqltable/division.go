package sqltable

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// A divider divides a table that has a journal into pages. The store of the journal keeps the
// cuts, so that all processes have the same.
type divider struct {
	table   *Set
	journal *sqlstore.Journal

	mu     sync.Mutex
	stored map[int]sqlstore.Division // as it was read last, by the size of pages
	newest map[int]counted
}

// A counted is a division of the store, with counts that may be newer.
type counted struct {
	sqlstore.Division
	behind int // changes since those that the store has counted
}

// maxBehind is the number of changes from which on counts are stored although no cut has
// moved. After a restart, the changes since then are read again.
const maxBehind = 10_000

// Cuts implements [resourcesync.Cutter]. The store keeps the cuts and their counts for all
// processes and across restarts, and previous is used only if it has none. The first call
// counts all rows, as [Set.Cuts] does. Later ones read the journal from there on, and
// count only the pages in which rows were created or deleted. For pages that have not changed
// since the first call, Newest is the newest change of the whole table at that time.
//
// Cuts does not wait while another connection writes to a store in SQLite. It may then
// return cuts that other processes do not know yet, together with an error that the Source
// expects.
func (j *Journalled) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	return j.divider.Cuts(ctx, previous, every)
}

// CutterFor returns the Cutter of the table if c is its journal, and nil otherwise. It divides
// the table as [Journalled.Cuts] does. rshttp.New calls it.
func (p *Set) CutterFor(c resourcesync.Changer) resourcesync.Cutter {
	if j, ok := c.(*sqlstore.Journal); ok {
		return &divider{table: p, journal: j}
	}
	return nil
}

func (d *divider) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	for {
		// Read the time first: a row that is counted, and whose change gets its datetime
		// later, is counted again.
		stat, err := d.journal.Stat(ctx, resourcesync.Range{})
		if err != nil {
			return nil, err
		}
		before, err := d.last(ctx, every)
		if err != nil {
			return nil, err
		}
		now := counted{Division: sqlstore.Division{At: stat.LastModified}}
		changes := 0
		if now.Cuts, changes, err = d.again(ctx, &before.Division, every); err == nil && now.Cuts == nil {
			if before.Cuts != nil {
				previous = before.Cuts
			}
			now.Cuts, err = d.table.Cuts(ctx, previous, every)
			changes = maxBehind
			for i := range now.Cuts {
				now.Cuts[i].Newest = now.At // at the latest
			}
		}
		if err != nil {
			return nil, err
		}
		now.behind = before.behind + changes
		same := now.HasCutsOf(&before.Division)
		if same && now.behind < maxBehind {
			d.keep(every, now)
			return slices.Clone(now.Cuts), nil
		}
		switch free, kept, err := d.journal.KeepDivision(ctx, every, &before.Division, &now.Division); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case kept || same:
			if kept {
				now.behind = 0
			}
			d.keep(every, now)
			return slices.Clone(now.Cuts), nil
		case err != nil || !free:
			return now.Cuts, paging.ErrProvisional
		}
		// Another process has divided the table meanwhile: start from its cuts.
	}
}

// last returns the division of the store, with the newest counts that this process has.
func (d *divider) last(ctx context.Context, every int) (counted, error) {
	d.mu.Lock()
	read := d.stored[every]
	d.mu.Unlock()
	stored, err := d.journal.Division(ctx, every, &read)
	if err != nil {
		return counted{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stored == nil {
		d.stored, d.newest = map[int]sqlstore.Division{}, map[int]counted{}
	}
	d.stored[every] = stored
	if known := d.newest[every]; known.HasCutsOf(&stored) && known.At.After(stored.At) {
		stored.Cuts, stored.At = known.Cuts, known.At
		return counted{stored, known.behind}, nil
	}
	return counted{stored, 0}, nil
}

func (d *divider) keep(every int, now counted) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.newest[every] = now
}

// again divides the table again by counting the pages that have changed since before, and
// returns the number of changes. It returns nil if it does not know which pages have.
func (d *divider) again(ctx context.Context, before *sqlstore.Division, every int) (cuts []resourcesync.Cut, changes int, err error) {
	if len(before.Cuts) < 2 || before.At.IsZero() {
		return nil, 0, nil
	}
	type change struct {
		newest time.Time
		counts bool // the number of rows may have changed
	}
	changed := map[int]change{} // by page
	for c, err := range d.journal.Changes(ctx, resourcesync.Interval{From: before.At}) {
		if err != nil {
			return nil, 0, err
		}
		changes++
		page := paging.PageOf(before.Cuts, c.Resource.Key)
		changed[page] = change{c.Datetime, changed[page].counts || c.Type != resourcesync.Updated}
	}
	// Changes may have been dropped from the journal before they were read.
	since, err := d.journal.Since(ctx)
	if err != nil || since.After(before.At) {
		return nil, 0, err
	}
	c := &cutter{Set: d.table, cuts: paging.NewCuts(before.Cuts, every), every: every}
	from := ""
	for i, cut := range before.Cuts {
		now, newest := changed[i], cut.Newest
		if now.newest.After(newest) {
			newest = now.newest
		}
		if !now.counts {
			c.cuts.AddPage(from, cut.Count, 0, newest)
		} else {
			c.newest = newest
			if err := c.page(ctx, resourcesync.Range{From: from, To: cut.Key}, cut.Count); err != nil {
				return nil, 0, d.table.fail("cuts", err)
			}
		}
		from = cut.Key
	}
	return c.cuts.Done(), changes, nil
}
