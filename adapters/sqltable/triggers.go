package sqltable

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
)

// Triggers writes the SQL that makes a database journal the changes of a table, by
// programs in any language: triggers that insert into rs_pending of a store of package
// sqlstore in the same transaction, or, in MariaDB and MySQL, into an [Outbox]. What is
// rolled back leaves no trace.
//
//   - A row that enters the set is created: it is inserted, or now meets Where, or is
//     no longer marked as deleted. A row that leaves the set is deleted, also by
//     TRUNCATE and cascades. An update of the key or the URI is a deletion and a
//     creation.
//   - An update is journalled if it changes one of the columns that Table names. Other
//     updates cost next to nothing, unless there is a Where. If Table names no column
//     for LastModified, Length, Type or Hashes that can change while key and URI stay,
//     each update that changes any column is journalled.
//   - The row is journalled as the statement left it, including the effects of other
//     triggers. Changes of one key are in the order in which they happened.
//   - A condition that changes by itself, such as one on the current time, causes no
//     event, because no trigger runs.
//
// Keys, URIs and times are the same as in the [Set] of the same Table, with one exception:
// in PostgreSQL, text in LastModified is omitted. Keys that no document can have are
// dropped when changes are numbered; lengths and times that no document can state are
// omitted.
//
// In PostgreSQL and SQLite the set must have been opened once, by sqlstore.Store.Journal or
// Set. Without a set of this name, or without a store, the host's own writes fail. The names
// of all objects begin with rs_. The statements store in rs_cover what the triggers cover.
// See [Set.Journal] for how a journal knows that its triggers have been there all the
// time.
//
// # PostgreSQL
//
// The triggers run for each row. Triggers for each statement would be several times as
// fast for large inserts, but would miss writes to partitions that are added later and
// writes of logical replication (session_replication_role is replica), and would also
// run for updates of other columns. On two busy cores, a change costs 75 µs alone and
// 20 µs among many; in SQLite, 60 µs and 5 µs.
//
// Another trigger is for TRUNCATE, on each existing partition. A [Journalled] that runs
// gives it to a new partition within ten seconds, and starts over if the partition was
// emptied before. Elsewhere, create the triggers again after adding a partition: until then
// TRUNCATE of that partition alone is not journalled, although TRUNCATE of the whole table
// is. Detaching or dropping a partition is never journalled. Unlogged tables are refused,
// because a crash empties them.
//
// The functions are in the schema of the store, and run with the rights of the user who
// creates them. Names in Where are looked up in pg_catalog and the schema of the table
// only. A table with row-level security must belong to that user. In an isolation level
// above READ COMMITTED, TRUNCATE journals the rows that the transaction sees.
//
// # SQLite
//
// The table must be in the file of the store. A row that REPLACE removes is journalled
// as deleted, with any setting of recursive_triggers. There are two exceptions: it
// conflicts by a unique index on an expression, or a BEFORE trigger of the host has
// written to the same table.
//
// # MariaDB and MySQL
//
// The triggers write the key of each changed row to an outbox, a table beside the host's
// table whose name begins with rs_; see [Outbox]. Both must be tables of InnoDB. The user
// who creates the triggers needs the privileges CREATE, DROP, TRIGGER and LOCK TABLES, and
// INSERT on the outbox for as long as there are triggers, because these run with the
// rights of their creator. Without a column for LastModified, Length, Type or Hashes, an
// update would have nothing to publish, so Create refuses that.
//
// Functions pgtable.Triggers, sqlitetable.Triggers and mysqltable.Triggers return one.
type Triggers struct{ db engine.TriggerDB }

// Create returns the statements that create the triggers which journal t for the set of
// this name. t must not be a view or a query. The statements can be run again, also after
// another Create for the same table and set. If the existing triggers have another URI
// template, Create returns an error: all resources would move to other URIs, and no trigger
// journals that.
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
	if err := rel.checkUnique(ctx, tr.db); err != nil {
		return nil, err
	}
	if db, ok := tr.db.(engine.OutboxDB); ok {
		if err := checkOutbox(ctx, db, rel, set); err != nil {
			return nil, err
		}
	}
	templates, err := journalledURIs(ctx, tr.db, rel)
	if err != nil {
		return nil, err
	}
	if err := checkTemplate(templates, rel, set); err != nil {
		return nil, err
	}
	return createStatements(ctx, tr.db, rel, set)
}

// createStatements returns the statements that create the triggers for rel and set.
func createStatements(ctx context.Context, db engine.TriggerDB, rel *relation, set string) ([]string, error) {
	if db, ok := db.(engine.JournalDB); ok {
		d, err := newDefinition(ctx, db, rel, set)
		if err != nil {
			return nil, err
		}
		return d.stamped(rand.Text()), nil
	}
	return db.CreateTriggers(ctx, newJournalled(db, rel, set))
}

// Install makes the triggers of Create for t, or makes them again, and records in the store
// whether the journal has seen every change, as [Set.Journal] does. It creates the
// journal if there is none. reason says why the journal has started over; it is empty if nothing
// was missed. MariaDB and MySQL have no journal: use Create and Apply.
func (tr *Triggers) Install(ctx context.Context, store *sqlstore.Store, t Table, set string) (reason string, err error) {
	reason, err = tr.install(ctx, store, t, set)
	if err != nil {
		return "", fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
	}
	return reason, nil
}

func (tr *Triggers) install(ctx context.Context, store *sqlstore.Store, t Table, set string) (string, error) {
	db, ok := tr.db.(engine.JournalDB)
	if !ok {
		return "", errors.New("only tables of PostgreSQL and SQLite can be journalled")
	}
	rel, err := tr.find(ctx, t)
	if err != nil {
		return "", err
	}
	journal, err := store.Journal(ctx, set)
	if err != nil {
		return "", err
	}
	w, err := newWatch(db, rel, journal, &JournalOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return "", err
	}
	v, err := w.check(ctx, true, true)
	if v.first {
		return "", err
	}
	return v.reason, err
}

// Installed reports whether the set of this name is a journal that triggers write, in the
// database of the store: there are triggers, or there were, and the statements of Drop have
// not removed them. t needs only its Schema and Name. A view has no triggers.
func (tr *Triggers) Installed(ctx context.Context, t Table, set string) (bool, error) {
	found, err := tr.Found(ctx, t, set)
	if db, ok := tr.db.(engine.JournalDB); ok && err == nil && !found {
		var cover coverage.Cover
		if cover, err = coverage.Read(ctx, db, set); err != nil {
			err = fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
		}
		found = cover.Made != ""
	}
	return found, err
}

// Found reports whether there are triggers that journal t for the set of this name, in any
// store. t needs only its Schema and Name. A view has none, and MariaDB and MySQL have no
// journals.
func (tr *Triggers) Found(ctx context.Context, t Table, set string) (bool, error) {
	if t.Name == "" {
		return false, nil
	}
	rel := newRelation(tr.db, &t)
	err := rel.find(ctx, tr.db)
	var templates map[string]string
	if err == nil {
		templates, err = journalledURIs(ctx, tr.db, rel)
	}
	if err != nil {
		return false, fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
	}
	_, found := templates[baseName(rel, set)]
	return found, nil
}

// Drop returns the statements that undo Create. It needs only the Schema and Name of t.
func (tr *Triggers) Drop(ctx context.Context, t Table, set string) ([]string, error) {
	rel, err := tr.find(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("sqltable: triggers: %s: %w", t.title(), err)
	}
	statements := tr.db.DropTriggers(&rel.Relation, baseName(rel, set))
	if db, ok := tr.db.(engine.JournalDB); ok {
		// Without a store, there is nothing to note.
		if _, err := coverage.Read(ctx, db, set); err == nil {
			statements = append(statements, fmt.Sprintf("UPDATE %srs_cover SET made = '' WHERE set_id = (SELECT id FROM %[1]srs_set WHERE name = %s)", db.Store(), db.Literal(set)))
		}
	}
	return statements, nil
}

// Apply runs the statements of Create or Drop in one transaction. MariaDB and MySQL commit
// each of them; if one fails, run all of them again.
func (tr *Triggers) Apply(ctx context.Context, statements []string) error {
	if err := tr.db.Apply(ctx, statements); err != nil {
		return fmt.Errorf("sqltable: triggers: %w", err)
	}
	return nil
}

// find looks up the table of t, without checking its columns.
func (tr *Triggers) find(ctx context.Context, t Table) (*relation, error) {
	rel := newRelation(tr.db, &t)
	if t.Name == "" {
		return nil, errors.New("a query cannot be journalled: give the Name of a table")
	}
	if strings.ContainsRune(t.Schema+t.Name, 0) {
		return nil, fmt.Errorf("%q cannot be a name", t.Schema+t.Name)
	}
	if err := rel.find(ctx, tr.db); err != nil {
		return nil, err
	}
	if !rel.IsTable {
		return nil, errors.New("a view cannot be journalled: give its table, and its condition as Where")
	}
	return rel, nil
}

// baseName returns the prefix of the names of all objects for a table and a set. With a
// suffix, it fits into the 63 bytes of a name in PostgreSQL.
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
