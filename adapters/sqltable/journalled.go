package sqltable

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// A Journalled is a table with the journal of its changes, for the field Provider of
// rshttp.Set. The resources are those of the Provider, the state and the changes those of
// the Journal. Its Count of resources is unknown.
type Journalled struct {
	*Provider
	*sqlstore.Journal
}

var (
	_ resourcesync.Provider = (*Journalled)(nil)
	_ resourcesync.Stater   = (*Journalled)(nil)
	_ resourcesync.Cutter   = (*Journalled)(nil)
	_ resourcesync.Windower = (*Journalled)(nil)
	_ resourcesync.Sealer   = (*Journalled)(nil)
	_ resourcesync.Watcher  = (*Journalled)(nil)
	_ resourcesync.Coverer  = (*Journalled)(nil)
)

// Journalled opens the journal with this name in the store, or creates it, and makes sure
// that triggers on the table write it. It takes the statements of [Triggers].Create for
// the Table of p, and applies them if the triggers of the table are missing or differ.
// Only then does the database role need the privileges to do so.
//
// The store must be in the database of the table; in SQLite, in the same file. Tables of
// MariaDB and MySQL, views and queries cannot be journalled. After a partition has been
// added in PostgreSQL, apply [Triggers].Create: Journalled does not notice that its
// trigger for TRUNCATE is missing.
func (p *Provider) Journalled(ctx context.Context, store *sqlstore.Store, name string) (*Journalled, error) {
	db, ok := p.db.(engine.TriggerDB)
	if !ok {
		return nil, p.fail("journal", errors.New("only tables of PostgreSQL and SQLite can be journalled"))
	}
	journal, err := store.Journal(ctx, name)
	if err != nil {
		return nil, err
	}
	triggers := NewTriggers(db)
	statements, err := triggers.Create(ctx, p.rel.table, name)
	if err != nil {
		return nil, err
	}
	current, err := hasTriggers(ctx, db, p.rel, baseName(p.rel, name), statements)
	if err != nil {
		return nil, p.fail("triggers", err)
	}
	if !current {
		if err := triggers.Apply(ctx, statements); err != nil {
			return nil, err
		}
		if p, err = New(ctx, p.db, p.rel.table); err != nil { // with the triggers that it has now
			return nil, err
		}
	}
	return &Journalled{p, journal}, nil
}

// hasTriggers reports whether the triggers on rel whose names begin with base are those that
// statements make.
func hasTriggers(ctx context.Context, db engine.TriggerDB, rel *relation, base string, statements []string) (bool, error) {
	var found []string
	current := true
	err := db.TriggersOn(ctx, &rel.Relation, func(name, sql string) {
		if !strings.HasPrefix(name, base) {
			return
		}
		found = append(found, sql)
		current = current && slices.ContainsFunc(statements, func(s string) bool { return strings.Contains(s, sql) })
	})
	// In SQLite each trigger has its own text, in PostgreSQL all share functions.
	for _, s := range statements {
		if strings.HasPrefix(s, "CREATE TRIGGER ") {
			current = current && slices.Contains(found, s)
		}
	}
	return current && len(found) > 0, err
}
