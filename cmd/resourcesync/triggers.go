package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
)

// triggers prints, applies or drops the SQL that journals a table.
func triggers(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseTriggers(args)
	if errors.Is(err, flag.ErrHelp) {
		printTriggersHelp(stdout)
		return nil
	}
	if err != nil {
		return err
	}
	err = runTriggers(ctx, &c, stdout, stderr)
	if _, ok := errors.AsType[usageError](err); err != nil && !ok && ctx.Err() == nil {
		// Errors of databases can have several lines.
		return usagef("triggers: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

func runTriggers(ctx context.Context, c *triggersConfig, stdout, stderr io.Writer) error {
	db, err := openJournalled(ctx, c, stderr)
	if err != nil {
		return err
	}
	defer db.close()
	var statements []string
	if c.drop {
		statements, err = db.triggers.Drop(ctx, c.table, c.set)
	} else {
		statements, err = db.triggers.Create(ctx, c.table, c.set)
	}
	if err != nil {
		return err
	}
	switch {
	case c.drop:
		if err := db.triggers.Apply(ctx, statements); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "Table %q is not journalled any more for set %q.\n", c.table.Name, c.set)
	case c.apply:
		if err := db.makeSet(ctx, c.set); err != nil {
			return err
		}
		if err := db.triggers.Apply(ctx, statements); err != nil {
			return err
		}
		_, err = fmt.Fprintf(stdout, "Table %q is journalled for set %q.\n", c.table.Name, c.set)
	default:
		_, err = fmt.Fprintf(stdout, "-- The set %q must be there before: --apply sees to that.\nBEGIN;\n%s;\nCOMMIT;\n", c.set, strings.Join(statements, ";\n"))
	}
	return err
}

// A journalledDB is the database of a table that is to be journalled.
type journalledDB struct {
	triggers *sqltable.Triggers
	store    func(ctx context.Context) (*sqlstore.Store, error)
	close    func()
}

func openJournalled(ctx context.Context, c *triggersConfig, stderr io.Writer) (*journalledDB, error) {
	if c.isPostgres() {
		pool, err := pgxpool.New(ctx, c.db)
		if err != nil {
			return nil, err
		}
		t, err := pgtable.Triggers(ctx, pool)
		if err != nil {
			pool.Close()
			return nil, err
		}
		return &journalledDB{
			triggers: t,
			store:    func(ctx context.Context) (*sqlstore.Store, error) { return pgstore.Open(ctx, pool, nil) },
			close:    pool.Close,
		}, nil
	}
	// What only prints has no business to write, and nothing of this makes a
	// database.
	mode := sqlite.OpenReadOnly
	if c.apply || c.drop {
		mode = sqlite.OpenReadWrite
	}
	pool, err := sqlitex.NewPool(c.db, sqlitex.PoolOptions{PoolSize: 2, Flags: mode})
	if err != nil {
		return nil, fmt.Errorf("--db %q: %w", c.db, err)
	}
	return &journalledDB{
		triggers: sqlitetable.Triggers(pool),
		store: func(ctx context.Context) (*sqlstore.Store, error) {
			if err := giveWAL(ctx, c.db, walTimeout, stderr); err != nil {
				return nil, err
			}
			return sqlitestore.OpenFile(ctx, c.db, nil)
		},
		close: func() { pool.Close() },
	}, nil
}

// makeSet makes sure that there is a set, or a journal, of this name: without one,
// the triggers would keep everybody from writing.
func (db *journalledDB) makeSet(ctx context.Context, name string) error {
	store, err := db.store(ctx)
	if err != nil {
		return err
	}
	_, err = store.Journal(ctx, name)
	if err != nil {
		if _, isSet := store.Set(ctx, name, nil); isSet == nil {
			err = nil
		}
	}
	return errors.Join(err, store.Close())
}
