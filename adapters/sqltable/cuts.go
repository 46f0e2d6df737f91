package sqltable

import (
	"context"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Cuts implements [resourcesync.Cutter]. It counts rows by the index of the key, and
// reads two keys for each page. That costs about as much as SELECT count(*) by the same
// index; in PostgreSQL only if the visibility map is up to date (VACUUM). If the index
// does not have the columns of all conditions, which are Deleted, Where, and nullable
// columns of the URI, the rows themselves are read, too. An index with these columns,
// or a partial index of exactly these conditions, avoids that. Newest is unknown.
//
// Each statement sees the table at a different time, so the counts may be of different
// states.
func (p *Set) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	if every < 1 {
		return nil, fmt.Errorf("sqltable: invalid page size of %d resources", every)
	}
	c := &cutter{Set: p, cuts: paging.NewCuts(previous, every), every: every}
	if len(previous) == 0 {
		previous = []resourcesync.Cut{{Count: every + 1}}
	}
	from := ""
	for _, cut := range previous {
		if err := c.page(ctx, resourcesync.Range{From: from, To: cut.Key}, cut.Count); err != nil {
			return nil, p.fail("cuts", err)
		}
		from = cut.Key
	}
	return c.cuts.Done(), nil
}

type cutter struct {
	*Set
	cuts   *paging.Cuts
	every  int
	newest time.Time // the newest change of the page; zero if unknown
}

// page passes the resources in r, about expected of them, to c.cuts, in runs that fill
// a page.
func (c *cutter) page(ctx context.Context, r resourcesync.Range, expected int) error {
	rest := c.rel.key().bounds(r)
	if rest.none {
		return nil
	}
	from := r.From
	shown := 0 // of the run, already
	for {
		if room := c.every - shown; expected > room || shown > 0 {
			keys, err := c.nth(ctx, rest, room)
			if err != nil {
				return err
			}
			if room == 0 {
				keys = append([]string{from}, keys...)
			}
			if len(keys) == 2 {
				// The second key is after the run, and begins the next one.
				last, next := keys[0], keys[1]
				if next <= last {
					return orderError(next, last)
				}
				c.run(resourcesync.Range{From: from, To: next}, room)
				c.cuts.After(last)
				c.cuts.Add(next, 0, c.newest)
				from, shown = next, 1
				rest.after(c.rel.key().argument(next))
				expected -= room + 1
				continue
			}
		}
		n, err := c.count(ctx, rest, r.To, expected)
		if err != nil {
			return err
		}
		if shown+n <= c.every {
			c.run(resourcesync.Range{From: from, To: r.To}, n)
			return nil
		}
		expected = n
	}
}

func (c *cutter) run(r resourcesync.Range, n int) {
	if n > 0 || !c.newest.IsZero() { // deletions count for the newest change
		c.cuts.AddRun(r, n, 0, c.newest)
	}
}

// nth returns the keys of the n-th row in b and of the next row, if they exist. If n is
// 0, it returns only the key of the first row.
func (c *cutter) nth(ctx context.Context, b bounds, n int) (keys []string, err error) {
	inside, args := c.within(b)
	err = c.inOrder(ctx, fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d",
		c.rel.Key.Ref, c.rel.From, engine.Where(inside, c.rel.Filter), c.rel.Order, min(n+1, 2), max(n-1, 0)), func(row rowdb.Row) error {
		key, err := c.rel.key().appendKey(nil, row, 0)
		keys = append(keys, string(key))
		return err
	}, args...)
	return keys, err
}

// count counts the rows in b, which ends before the key to. Skipping the expected
// number of rows and looking at the two keys there is faster than counting, and enough
// if the number is right.
func (c *cutter) count(ctx context.Context, b bounds, to string, expected int) (n int, err error) {
	if expected > 0 && expected <= c.every {
		keys, err := c.nth(ctx, bounds{from: b.from}, expected)
		before := func(key string) bool { return to == "" || key < to }
		if err != nil || len(keys) > 0 && before(keys[0]) && (len(keys) == 1 || !before(keys[1])) {
			return expected, err
		}
	}
	inside, args := c.within(b)
	err = c.db.Query(ctx, "SELECT count(*) FROM "+c.rel.From+engine.Where(inside, c.rel.Filter), func(row rowdb.Row) error {
		n = int(row.Int(0))
		return nil
	}, args...)
	return n, err
}
