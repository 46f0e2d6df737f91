package sqltable

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// timesTried is the number of rows whose LastModified is checked.
const timesTried = 1000

// checkTimes returns an error if LastModified is a column of text, or of SQLite's
// dynamic type, and one of the first rows of the set has text that is not a time. Such a
// column may hold anything, and a title that happens to look like a time would be
// published as one. NULL and empty text state no time. A value of a later row that is not
// a time is omitted.
func (p *Provider) checkTimes(ctx context.Context) error {
	rel := p.rel
	f := rel.fields.lastModified
	if f.at < 0 || f.Kind != engine.Text && f.Kind != engine.Label && f.Kind != engine.Dynamic {
		return nil
	}
	read := newReader(rel)
	times, others, sample := 0, 0, ""
	err := p.inOrder(ctx, fmt.Sprintf("SELECT %s FROM %s%s ORDER BY %s LIMIT %d",
		f.ReadRef(), rel.From, engine.Where(rel.Filter), rel.Order, timesTried), func(row rowdb.Row) error {
		switch value := rowdb.String(row, 0); {
		case value == "":
		case !read.time(row, field{f.Column, 0}).IsZero():
			times++
		default:
			if others == 0 {
				sample = value
			}
			others++
		}
		return nil
	})
	if err != nil || others == 0 {
		return err
	}
	advice := "name a column of times, of text like 2026-03-01T12:00:00Z, or of integers that count Units since 1970"
	if times > 0 {
		advice = "correct these values, set them to NULL, or " + advice
	}
	return fmt.Errorf("column %q cannot be LastModified: %d of its first %d values cannot be read as times, such as %.50q; %s", f.Name, others, times+others, sample, advice)
}
