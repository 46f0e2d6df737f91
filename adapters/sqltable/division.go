package sqltable

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// divisions are the newest divisions of a table into pages, by their size.
type divisions struct {
	mu      sync.Mutex
	byEvery map[int]division
}

// A division shows all changes up to a time, and possibly later ones.
type division struct {
	cuts []resourcesync.Cut
	at   time.Time
}

func (d *divisions) get(every int) (division, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found, ok := d.byEvery[every]
	return found, ok
}

func (d *divisions) put(every int, newest division) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byEvery == nil {
		d.byEvery = map[int]division{}
	}
	d.byEvery[every] = newest
}

// Cuts implements [resourcesync.Cutter]. The first call counts all rows, as
// [Provider.Cuts] does. Later calls read the journal from there on, and count only the
// pages in which rows were created or deleted.
func (j *Journalled) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	// Read the time first: a row that is counted, and whose change gets its datetime
	// later, is counted again.
	stat, err := j.Stat(ctx, resourcesync.Range{})
	if err != nil {
		return nil, err
	}
	cuts, err := j.cutsAgain(ctx, previous, every)
	if err == nil && cuts == nil {
		cuts, err = j.Provider.Cuts(ctx, previous, every)
	}
	if err != nil {
		return nil, err
	}
	j.divisions.put(every, division{slices.Clone(cuts), stat.LastModified})
	return cuts, nil
}

// cutsAgain divides the table again by counting the pages that have changed. It returns
// nil if it does not know which ones have.
func (j *Journalled) cutsAgain(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	last, ok := j.divisions.get(every)
	if !ok || len(previous) < 2 || last.at.IsZero() || !slices.Equal(last.cuts, previous) {
		return nil, nil
	}
	changed := make([]bool, len(previous))
	for c, err := range j.Changes(ctx, resourcesync.Interval{From: last.at}) {
		if err != nil {
			return nil, err
		}
		if c.Type != resourcesync.Updated {
			changed[paging.PageOf(previous, c.Resource.Key)] = true
		}
	}
	// Changes may have been dropped from the journal before they were read.
	since, err := j.Since(ctx)
	if err != nil || since.After(last.at) {
		return nil, err
	}
	c := &cutter{Provider: j.Provider, cuts: paging.NewCuts(previous, every), every: every}
	from := ""
	for i, cut := range previous {
		if !changed[i] {
			c.cuts.AddPage(from, cut.Count, 0, time.Time{})
		} else if err := c.page(ctx, resourcesync.Range{From: from, To: cut.Key}, cut.Count); err != nil {
			return nil, j.Provider.fail("cuts", err)
		}
		from = cut.Key
	}
	return c.cuts.Done(), nil
}
