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

// Cuts implements [resourcesync.Cutter]. It counts rows by the index of the key
// and reads two keys for each page. That costs about as much as a SELECT count(*)
// by the same index; in PostgreSQL, if the visibility map is up to date (VACUUM).
// The rows themselves are read, too, if there are conditions that the index cannot
// tell: a Deleted, a Where, columns of the URI that may be NULL. An index with these
// columns, too, or a partial index of exactly these conditions, avoids that. Newest
// is not known.
//
// Its statements see the table one after the other; a count may be of a moment
// before or after the next.
func (p *Provider) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	if every < 1 {
		return nil, fmt.Errorf("sqltable: pages of %d resources", every)
	}
	c := &cutter{Provider: p, cuts: paging.NewCuts(previous, every), every: every}
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
	*Provider
	cuts  *paging.Cuts
	every int
}

// page shows c.cuts the resources in r, about expected, in runs that fill a page.
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
				// The second is behind the run, and begins the next.
				last, next := keys[0], keys[1]
				if next <= last {
					return orderError(next, last)
				}
				c.run(resourcesync.Range{From: from, To: next}, room)
				c.cuts.After(last)
				c.cuts.Add(next, 0, time.Time{})
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
	if n > 0 {
		c.cuts.AddRun(r, n, 0, time.Time{})
	}
}

// nth returns the keys of the n-th row in b and of the one behind it, as far as
// there are such. The 0-th is before b, and left out.
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

// count counts the rows in b, which ends before the key to. If they are as many as
// expected, that is found out without counting, which takes longer than to skip
// them and to look at what is on both sides of the end.
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
