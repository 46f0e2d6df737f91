package sqltable

import (
	"context"
	"fmt"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
)

// incomparable returns why the rows that two definitions list cannot be compared, or "".
func (p *prover) incomparable(ctx context.Context, former *definition) string {
	if former.lists(p.mine) {
		return ""
	}
	// A row that has moved has another template, which is refused before, or a column of
	// another type.
	if former.Schema != p.mine.Schema || former.Table != p.mine.Table || former.URIExpr != p.mine.URIExpr {
		return "its rows are at other URIs than before"
	}
	err := p.db.Query(ctx, "SELECT 1 FROM "+p.mine.journalled.From+" WHERE "+former.but(p.mine)+" LIMIT 0", func(rowdb.Row) error { return nil })
	if err != nil {
		return fmt.Sprintf("the rows that it listed before cannot be found by the former condition: %v", err)
	}
	return ""
}

// A difference is what another condition has changed.
type difference struct{ left, entered, held int64 }

// publishDifference journals two kinds of rows: as deleted, rows that only the former
// definition lists, and as created, rows that only the definition of p lists. The guard may
// hold the deletions. The caller has locked the table and the numbering of changes.
func (p *prover) publishDifference(ctx context.Context, c rowdb.Conn, cover *coverage.Cover, former *definition) (d difference, err error) {
	// Rows that come back are known when their changes have been numbered.
	if err := seam.Number(ctx, p.journal, c); err != nil {
		return d, err
	}
	j, id := p.mine.journalled, fmt.Sprint(cover.Set)
	insert := func(into, values, condition string) (n int64, err error) {
		return c.Exec(ctx, "INSERT INTO "+p.db.Store()+into+" SELECT "+id+", "+values+" FROM "+j.From+" WHERE "+condition)
	}
	count := func(condition string) (n int64, err error) {
		return rowdb.One(ctx, c, rowdb.Int, "SELECT count(*) FROM "+j.From+engine.Where(condition))
	}
	listed, err := count(former.condition())
	if err == nil {
		d.entered, err = count(p.mine.but(former))
	}
	if err == nil {
		d.left, err = insert("rs_leaving (set_id, key, uri)", j.KeyExpr+", "+j.URIExpr, former.but(p.mine))
	}
	if err == nil {
		d.held, err = seam.Leave(ctx, p.journal, c, &p.limits, listed, d.entered)
	}
	// A row may enter at the URI of one that leaves.
	if err == nil && d.entered > 0 {
		_, err = insert("rs_pending (set_id, change, key, uri"+j.Columns+")", "'created', "+j.KeyExpr+", "+j.URIExpr+j.Values, p.mine.but(former))
	}
	return d, err
}
