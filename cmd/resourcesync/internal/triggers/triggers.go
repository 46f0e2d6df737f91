// Package triggers prints, applies or drops the triggers that journal a table.
package triggers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
)

// Run prints, applies or drops the SQL that journals a table, or restarts the journal.
func (c *Config) Run(ctx context.Context, stdout, stderr io.Writer) error {
	err := c.run(ctx, stdout, stderr)
	if _, ok := errors.AsType[settings.Error](err); err != nil && !ok && ctx.Err() == nil {
		return tabledb.Refuse("triggers", err)
	}
	return err
}

func (c *Config) run(ctx context.Context, stdout, stderr io.Writer) error {
	db, err := tabledb.Open(ctx, c.DB, c.apply || c.drop || c.restart)
	if err != nil {
		return err
	}
	defer db.Close()
	tr, err := db.Triggers(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.restart:
		return c.restartJournal(ctx, db, stdout, stderr)
	case c.apply:
		if err := c.install(ctx, db, tr, stdout, stderr); err != nil {
			return err
		}
		return c.report(stdout, "is journalled")
	case c.drop:
		if err := tr.Remove(ctx, c.Table, c.Set); err != nil {
			return err
		}
		return c.report(stdout, "is no longer journalled")
	}
	statements, err := tr.Create(ctx, c.Table, c.Set)
	if err != nil {
		return err
	}
	return printStatements(stdout, db, c.Set, statements)
}

func (c *Config) report(stdout io.Writer, done string) error {
	_, err := fmt.Fprintf(stdout, "Table %q %s for set %q.\n", c.Table.Name, done, c.Set)
	return err
}

// printStatements prints statements in the form that the client of the database reads.
func printStatements(stdout io.Writer, db *tabledb.DB, set string, statements []string) error {
	if db.Mysql != nil {
		_, err := fmt.Fprintf(stdout, "DELIMITER $$\n%s$$\nDELIMITER ;\n", strings.Join(statements, "$$\n"))
		return err
	}
	_, err := fmt.Fprintf(stdout, "-- The set %q must exist first: --apply creates it.\nBEGIN;\n%s;\nCOMMIT;\n", set, strings.Join(statements, ";\n"))
	return err
}

// install creates the triggers and, where the database has journals, one with this name if
// necessary: without it, the triggers would block all writes. If a stored set has the name, they
// write to it.
func (c *Config) install(ctx context.Context, db *tabledb.DB, tr *sqltable.Triggers, stdout, stderr io.Writer) error {
	if db.Mysql == nil {
		store, err := c.openStore(ctx, db, stderr)
		if err != nil {
			return err
		}
		defer store.Close()
		sets, err := store.Sets(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(sets, c.Set) {
			reason, err := tr.Install(ctx, store, c.Table, c.Set)
			if reason != "" {
				fmt.Fprintf(stdout, "The journal starts over, because %s. Every Destination compares its copy.\n", reason)
			}
			return err
		}
	}
	statements, err := tr.Create(ctx, c.Table, c.Set)
	if err != nil {
		return err
	}
	return tr.Apply(ctx, statements)
}

// restartJournal restarts the journal.
func (c *Config) restartJournal(ctx context.Context, db *tabledb.DB, stdout, stderr io.Writer) error {
	store, err := c.openStore(ctx, db, stderr)
	if err != nil {
		return err
	}
	defer store.Close()
	journals, err := store.Journals(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(journals, c.Set) {
		return fmt.Errorf("there is no journal for the set %q; the journals are: %s", c.Set, cmp.Or(strings.Join(journals, ", "), "none"))
	}
	journal, err := store.Journal(ctx, c.Set)
	if err == nil {
		err = journal.Restart(ctx, "an operator has said so")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "The journal for set %q starts over. Every Destination compares its copy.\n", c.Set)
	return err
}

// openStore opens the state in the database of the table, and creates it if it does not
// exist.
func (c *Config) openStore(ctx context.Context, db *tabledb.DB, stderr io.Writer) (*sqlstore.Store, error) {
	if db.Postgres != nil {
		return pgstore.Open(ctx, db.Postgres, nil)
	}
	if err := enableWAL(ctx, c.DB, walTimeout, stderr); err != nil {
		return nil, err
	}
	return sqlitestore.OpenFile(ctx, c.DB, nil)
}
