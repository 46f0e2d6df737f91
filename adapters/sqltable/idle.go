package sqltable

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// idleRows is the number of rows up to which Remove remembers what a table lists. The table
// is locked for writing while they are read, which takes about a second for a million rows.
const idleRows = 1_000_000

// Remove drops the triggers of Create, as Drop and Apply do. It remembers what a table of up
// to a million rows lists. If Install or [Set.Journal] makes the triggers again and
// the table lists the same, nothing was missed, and the journal goes on. t needs only its
// Schema and Name.
func (tr *Triggers) Remove(ctx context.Context, t Table, set string) error {
	statements, err := tr.Drop(ctx, t, set)
	if err != nil {
		return err
	}
	db, ok := tr.db.(engine.JournalDB)
	if !ok {
		return tr.Apply(ctx, statements)
	}
	cover, err := coverage.Read(ctx, db, set)
	if err != nil { // there is no store
		return tr.Apply(ctx, statements)
	}
	d, err := definitionOf(ctx, db, &cover, set)
	if err != nil { // the table has changed, so that the journal starts over
		return tr.Apply(ctx, statements)
	}
	err = db.Update(ctx, func(c rowdb.Conn) error {
		if err := db.Lock(ctx, c, d.journalled.Relation); err != nil {
			return err
		}
		cover, err := coverage.Read(ctx, c, set)
		if err != nil {
			return err
		}
		signs, err := db.Signs(ctx, c, d.journalled)
		if err != nil {
			return err
		}
		if p := parseProof(&cover); p.interrupted(cover.Made, signs, false) == "" {
			if p.Idle, err = fingerprint(ctx, c, d); err != nil {
				return err
			}
			text, err := p.text()
			if err == nil {
				err = coverage.Prove(ctx, c, cover.Set, text)
			}
			if err != nil {
				return err
			}
		}
		for _, s := range statements {
			if err := c.Script(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
	}
	return nil
}

// definitionOf returns the definition of a journal, made from the current table.
func definitionOf(ctx context.Context, db engine.JournalDB, cover *coverage.Cover, set string) (*definition, error) {
	t, err := parseDefinition(cover).table()
	if err != nil {
		return nil, err
	}
	rel, err := describe(ctx, db, &t)
	if err != nil {
		return nil, err
	}
	return newDefinition(ctx, db, rel, set)
}

// fingerprint returns a digest of the resources that a definition lists, or "" if a change
// need not alter it, or if there are too many rows. The caller has locked the table for
// writing.
func fingerprint(ctx context.Context, c rowdb.Conn, d *definition) (string, error) {
	j := d.journalled
	if !j.Content {
		return "", nil
	}
	rows, err := rowdb.One(ctx, c, rowdb.Int, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM %s LIMIT %d) AS rs_some", j.From, idleRows+1))
	if err != nil || rows > idleRows {
		return "", err
	}
	columns := 2 + strings.Count(j.Columns, ",")
	var sum [2]uint64 // of the digests of the rows, which have no order
	var text, value []byte
	n := 0
	err = c.Query(ctx, "SELECT "+j.KeyExpr+", "+j.URIExpr+j.Values+" FROM "+j.From+engine.Where(j.Filter), func(r rowdb.Row) error {
		n++
		text = text[:0]
		for i := range columns {
			if r.Null(i) {
				text = append(text, 0)
				continue
			}
			value = r.Append(value[:0], i)
			text = append(binary.AppendUvarint(text, uint64(len(value))+1), value...)
		}
		digest := sha256.Sum256(text)
		sum[0] += binary.BigEndian.Uint64(digest[:])
		sum[1] += binary.BigEndian.Uint64(digest[8:])
		return ctx.Err()
	})
	return fmt.Sprintf("%d %x", n, sum), err
}
