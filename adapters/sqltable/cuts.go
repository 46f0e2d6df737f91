package sqltable

import (
	"context"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// Cuts implements [resourcesync.Cutter]. It counts rows by the index of the key
// and reads two keys for each page. That costs about as much as a SELECT count(*)
// by the same index; in PostgreSQL, if the visibility map is up to date (VACUUM),
// and if the index also has the columns of Deleted and Where or is a partial index
// of exactly these conditions. Newest is not known.
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
	rest := c.rel.key.bounds(r)
	if rest.none {
		return nil
	}
	from := r.From
	shown := 0 // of the run, already
	for {
		if expected > c.every || shown > 0 {
			// One row is behind the run, and begins the next.
			last, next, err := c.ends(ctx, rest, c.every-shown)
			if err != nil {
				return err
			}
			if next != "" {
				if shown == c.every {
					last = from
				}
				c.run(resourcesync.Range{From: from, To: next}, c.every-shown)
				c.cuts.After(last)
				c.cuts.Add(next, 0, time.Time{})
				from, shown = next, 1
				rest.after(c.rel.key.argument(next))
				continue
			}
		}
		n, err := c.count(ctx, rest)
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

// ends returns the keys of the n-th row in b and of the one behind it, the latter
// "" if there are not so many. The 0-th is the one before b.
func (c *cutter) ends(ctx context.Context, b bounds, n int) (last, next string, err error) {
	inside, args := c.within(b)
	limit, skip := 2, n-1
	if n == 0 {
		limit, skip = 1, 0
	}
	var keys []string
	err = c.db.query(ctx, fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d OFFSET %d",
		c.rel.key.ref, c.rel.from, where(inside, c.rel.filter), c.rel.order, limit, skip), func(row rowdb.Row) error {
		key, err := c.rel.key.appendKey(nil, row, 0)
		keys = append(keys, string(key))
		return err
	}, args...)
	if err != nil || len(keys) < limit {
		return "", "", err
	}
	return keys[0], keys[limit-1], nil
}

func (c *cutter) count(ctx context.Context, b bounds) (n int, err error) {
	inside, args := c.within(b)
	err = c.db.query(ctx, "SELECT count(*) FROM "+c.rel.from+where(inside, c.rel.filter), func(row rowdb.Row) error {
		n = int(row.Int(0))
		return nil
	}, args...)
	return n, err
}
