package sqlstore

import (
	"context"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// divisions are the newest divisions of a set into pages in this process, by their size.
type divisions struct {
	mu      sync.Mutex
	byEvery map[int]division
}

// A division is a set, divided into pages.
type division struct {
	stored          []byte // the cuts, encoded
	last, forgotten int64  // of the set
	cuts            []resourcesync.Cut
	sizes           []int // of the entries in each page, in bytes
}

func (d *divisions) get(every int) division {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byEvery[every]
}

func (d *divisions) put(every int, newest division) {
	newest.cuts = slices.Clone(newest.cuts)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byEvery == nil {
		d.byEvery = map[int]division{}
	}
	d.byEvery[every] = newest
}

// maxChangedBlocks is the number of changed blocks from which on a division reads all of
// them.
const maxChangedBlocks = batch

// continueDivision divides the set by reading the pages that have changed since old. It
// returns false if it cannot know which ones have.
func (d *divider) continueDivision(ctx context.Context, old *division) (bool, error) {
	if len(old.cuts) < 2 || old.forgotten != d.set.forgotten || old.last > d.set.last {
		return false, nil
	}
	blocks, err := rowdb.All(ctx, d.conn, func(row rowdb.Row) []byte { return row.Append([]byte{}, 0) },
		"SELECT lo FROM rs_block WHERE set_id = $1 AND newest > $2 ORDER BY newest LIMIT $3", d.set.id, old.last, maxChangedBlocks)
	if err != nil || len(blocks) == maxChangedBlocks {
		return false, err
	}
	changed := make([]bool, len(old.cuts))
	err = d.conn.QueryEach(ctx, "SELECT coalesce((SELECT lo FROM rs_block WHERE set_id = $1 AND lo > $2 ORDER BY lo LIMIT 1), $3)", len(blocks),
		func(i int) []any { return []any{d.set.id, blocks[i], beyond} },
		func(i int, row rowdb.Row) error {
			end := rowdb.String(row, 0) // of the block
			for page := paging.PageOf(old.cuts, string(blocks[i])); page < len(changed); page++ {
				changed[page] = true
				if key := old.cuts[page].Key; key == "" || key >= end {
					break
				}
			}
			return nil
		})
	if err != nil {
		return false, err
	}
	r := resourcesync.Range{}
	var count int64
	for i, c := range old.cuts {
		r.To = c.Key
		if changed[i] {
			n, err := d.divide(ctx, r)
			if err != nil {
				return false, err
			}
			count += n
		} else {
			d.cuts.AddPage(r.From, c.Count, old.sizes[i], c.Newest)
			count += int64(c.Count)
		}
		r.From = c.Key
	}
	// Damaged resources may have been discarded, which changes no time.
	return count == d.set.count, nil
}
