package sqltable

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// Triggers writes the SQL that makes a database journal what happens to a table,
// whoever does it and in whatever language: triggers that insert into the
// rs_pending of a store of package sqlstore in the same transaction. What is
// rolled back leaves no trace.
//
//   - A row that begins to be in the set, because it is inserted, because it now
//     fulfils Where, or because it is not deleted any more, is created. A row that
//     ceases to be, also by TRUNCATE and by cascades, is deleted. An update of the
//     key, or of the URI, is a deletion and a creation.
//   - An update is journalled if it changes what a resource says: one of the
//     columns that Table names. Others cost next to nothing, unless there is a
//     Where. If Table names none that can change while key and URI stay, by
//     LastModified, Length, Type or Hashes, each update that leaves any column of
//     the row different is journalled.
//   - What is journalled is the row as the statement left it, other triggers
//     included. Changes of one key are in the order in which they happened.
//   - A condition that changes by itself, such as one on the time of day, is no
//     event: no trigger sees it.
//
// The keys, URIs and times are those of the Provider of the same Table; but text
// in LastModified is not stated in PostgreSQL.
//
// The set must have been opened once, by sqlstore.Store.Journal or Set: as long as
// there is none of this name, or no store, the host's own writes fail. All objects
// that are made have names that begin with rs_. A table that is journalled is
// altered in three steps: drop the triggers, alter the table, create them again.
//
// # PostgreSQL
//
// There are triggers for each row. Triggers for each statement would be several
// times as fast for large inserts, but would not see what is written to a partition
// that comes later, nor by logical replication, where session_replication_role is
// replica, and would be run for updates of other columns, too. Measured on two busy
// cores, a change costs 75 µs when it comes alone and 20 µs among many; in SQLite,
// 60 µs and 5 µs.
//
// One more trigger is for TRUNCATE, on each partition that there is. Create them
// again when there are new partitions: TRUNCATE of a new one alone is not seen
// otherwise; that of the whole table is. A partition that is detached or dropped is
// never seen.
//
// The functions are in the schema of the store, run with the rights of who creates
// them, and find names that Where mentions in pg_catalog and the schema of the
// table only. A table with row-level security must belong to whoever creates them.
// In an isolation level above READ COMMITTED, TRUNCATE journals the rows that the
// transaction sees.
//
// # SQLite
//
// The table must be in the file of the store. A row that REPLACE removes is
// deleted, whatever recursive_triggers says, unless it is removed for the sake of a
// unique index on an expression, or a trigger of the host's own has written to the
// same table BEFORE.
//
// Functions pgtable.Triggers and sqlitetable.Triggers return one.
type Triggers struct{ db engine.TriggerDB }

// NewTriggers returns the Triggers of db. It is for the packages of the engines,
// pgtable and sqlitetable.
func NewTriggers(db engine.TriggerDB) *Triggers { return &Triggers{db} }

// Create returns the statements that journal t, which must not be a view or a
// query, for the set of this name. They are good for running again, also after
// some other Create for the same table and set.
func (tr *Triggers) Create(ctx context.Context, t Table, set string) ([]string, error) {
	statements, err := tr.create(ctx, t, set)
	if err != nil {
		return nil, fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
	}
	return statements, nil
}

func (tr *Triggers) create(ctx context.Context, t Table, set string) ([]string, error) {
	if _, err := tr.find(ctx, t); err != nil {
		return nil, err
	}
	rel, err := describe(ctx, tr.db, &t)
	if err != nil {
		return nil, err
	}
	if err := tr.db.CheckUnique(ctx, &rel.Relation); err != nil {
		return nil, err
	}
	return tr.db.CreateTriggers(ctx, newJournalled(tr.db, rel, set))
}

// Drop returns the statements that undo Create, for what they do is told by the
// Schema and Name of t alone.
func (tr *Triggers) Drop(ctx context.Context, t Table, set string) ([]string, error) {
	rel, err := tr.find(ctx, t)
	if err == nil {
		var statements []string
		if statements, err = tr.db.DropTriggers(ctx, &rel.Relation, baseName(rel, set)); err == nil {
			return statements, nil
		}
	}
	return nil, fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
}

// Apply runs statements of Create or Drop, in one transaction.
func (tr *Triggers) Apply(ctx context.Context, statements []string) error {
	if err := tr.db.Apply(ctx, statements); err != nil {
		return fmt.Errorf("sqltable: triggers: %w", err)
	}
	return nil
}

// find looks up the table of t, but not whether t says the truth about it.
func (tr *Triggers) find(ctx context.Context, t Table) (*relation, error) {
	rel := newRelation(tr.db, &t)
	if t.Name == "" {
		return nil, errors.New("a query cannot be journalled: give the Name of a table")
	}
	if strings.ContainsRune(t.Schema+t.Name, 0) {
		return nil, fmt.Errorf("%q cannot be a name", t.Schema+t.Name)
	}
	if err := tr.db.Find(ctx, &rel.Relation); err != nil {
		return nil, err
	}
	if !rel.IsTable {
		return nil, errors.New("a view cannot be journalled: give the table that it is made of, and its condition as Where")
	}
	return rel, nil
}

// baseName is what the names of all objects for a table and a set begin with. It
// is short enough to be continued, in PostgreSQL, whose names have 63 bytes.
func baseName(rel *relation, set string) string {
	slug := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(set))
	sum := sha256.Sum256([]byte(rel.Schema + "\x00" + rel.Name + "\x00" + set))
	return fmt.Sprintf("rs_%.24s_%x", slug, sum[:4])
}

// newJournalled writes the expressions of which the triggers on rel are made.
func newJournalled(db engine.Expressions, rel *relation, set string) *engine.Journalled {
	j := &engine.Journalled{
		Relation: &rel.Relation, Base: baseName(rel, set), Mark: markTemplate(rel.table.URI),
		SetName: db.Literal(set), KeyExpr: db.KeyExpr(&rel.Key),
	}
	see := func(c *engine.Column) {
		if !slices.Contains(j.Listed, c) {
			j.Listed = append(j.Listed, c)
		}
	}
	tell := func(c *engine.Column) {
		see(c)
		if c.Name != rel.Key.Name && !slices.Contains(rel.template.columns(), c.Name) {
			j.Content = true
		}
	}
	add := func(name string, c *engine.Column, value string) {
		tell(c)
		j.Columns = append(j.Columns, name)
		j.Values = append(j.Values, value)
	}
	for _, name := range rel.template.columns() {
		if name != rel.Key.Name {
			c, _ := rel.column("URI", name, rel.kindOf(name))
			j.Others = append(j.Others, c)
		}
	}
	k, _ := rel.column("Key", rel.Key.Name, rel.Key.Kind)
	see(k)
	f := &rel.fields
	var parts []string
	for i, literal := range rel.template.literals {
		if literal != "" {
			parts = append(parts, db.Literal(literal))
		}
		if i < len(f.values) {
			c := f.values[i].Column
			see(c)
			if rel.template.variables[i].raw || c.Kind == engine.Integer || c.Kind == engine.UUID {
				parts = append(parts, db.TextExpr(c))
			} else {
				parts = append(parts, db.EscapeExpr(c))
			}
		}
	}
	j.URIExpr = strings.Join(parts, " || ")
	if c := f.lastModified.Column; c != nil {
		add("lastmod", c, db.MicrosExpr(c, int64(1e9/rel.table.unit())))
	}
	if c := f.length.Column; c != nil {
		add("length", c, c.Ref)
	}
	if c := f.mediaType.Column; c != nil {
		add("type", c, db.TextExpr(c))
	}
	if len(f.hashes) > 0 {
		var hashes []string
		for _, h := range f.hashes {
			value := db.LowerExpr(h.Column)
			if h.algorithm != "" {
				value = db.Literal(h.algorithm+":") + " || nullif(" + db.HexExpr(h.Column) + ", '')"
			}
			hashes = append(hashes, "coalesce("+value+" || ' ', '')")
			tell(h.Column)
		}
		j.Columns = append(j.Columns, "hash")
		j.Values = append(j.Values, "nullif(trim("+strings.Join(hashes, " || ")+"), '')")
	}
	if rel.table.Deleted != "" {
		c, _ := rel.column("Deleted", rel.table.Deleted, rel.kindOf(rel.table.Deleted))
		see(c)
	}
	return j
}
