package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// triggers prints, applies or drops the SQL that journals a table.
func triggers(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseTriggers(args)
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
	write, done := db.triggers.Create, "is journalled"
	if c.drop {
		write, done = db.triggers.Drop, "is not journalled any more"
	}
	statements, err := write(ctx, c.table, c.set)
	if err != nil {
		return err
	}
	if !c.apply && !c.drop {
		_, err = fmt.Fprintf(stdout, "-- The set %q must be there before: --apply sees to that.\nBEGIN;\n%s;\nCOMMIT;\n", c.set, strings.Join(statements, ";\n"))
		return err
	}
	if c.apply {
		if err := db.makeSet(ctx, c.set); err != nil {
			return err
		}
	}
	if err := db.triggers.Apply(ctx, statements); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "Table %q %s for set %q.\n", c.table.Name, done, c.set)
	return err
}

// A journalledDB is the database of a table that is to be journalled.
type journalledDB struct {
	triggers *sqltable.Triggers
	store    func(ctx context.Context) (*sqlstore.Store, error)
	close    func()
}

func openJournalled(ctx context.Context, c *triggersConfig, stderr io.Writer) (*journalledDB, error) {
	if isPostgres(c.db) {
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

type triggersConfig struct {
	db    string
	set   string
	table sqltable.Table
	apply bool
	drop  bool
}

// parseTriggers reads the arguments of triggers. The error is flag.ErrHelp for --help.
func parseTriggers(args []string) (triggersConfig, error) {
	var c triggersConfig
	others, err := parse(triggersFlags(&c), args)
	switch {
	case err != nil:
	case len(others) > 0:
		err = fmt.Errorf("%q is one argument too many", others[0])
	case c.db == "":
		err = errors.New("no --db given")
	case strings.Contains(c.db, "://") && !isPostgres(c.db):
		err = errors.New("--db: give an SQLite file, or postgres://user@host/database")
	case c.set == "":
		err = errors.New("no --set given")
	case c.table.Name == "":
		err = errors.New("no --table given")
	case c.apply && c.drop:
		err = errors.New("give either --apply or --drop")
	case c.table.Key == "" && !c.drop:
		err = errors.New("no --key given")
	case c.table.URI == "" && !c.drop:
		err = errors.New("no --uri given")
	}
	return c, refuse("triggers", err)
}

func triggersFlags(c *triggersConfig) *flag.FlagSet {
	flags := newFlags("triggers")
	t := &c.table
	flags.StringVar(&c.db, "db", "", "")
	flags.StringVar(&c.set, "set", "", "")
	flags.Func("table", "", func(s string) (err error) {
		t.Schema, t.Name, err = splitTable(s)
		return err
	})
	flags.StringVar(&t.Key, "key", "", "")
	flags.StringVar(&t.URI, "uri", "", "")
	flags.StringVar(&t.LastModified, "lastmod", "", "")
	flags.Func("unit", "", func(s string) error {
		units := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}
		if t.Unit = units[s]; t.Unit == 0 {
			return errors.New("give s, ms or us")
		}
		return nil
	})
	flags.StringVar(&t.Length, "length", "", "")
	flags.StringVar(&t.Type, "type", "", "")
	flags.Func("hash", "", func(s string) error {
		algorithm, column, found := strings.Cut(s, "=")
		if !found {
			algorithm, column = "", s
		}
		if t.Hashes == nil {
			t.Hashes = map[string]string{}
		}
		t.Hashes[algorithm] = column
		return nil
	})
	flags.StringVar(&t.Where, "where", "", "")
	flags.StringVar(&t.Deleted, "deleted", "", "")
	flags.BoolVar(&c.apply, "apply", false, "")
	flags.BoolVar(&c.drop, "drop", false, "")
	return flags
}

// splitTable splits a table name with an optional schema. A name in double quotes may
// contain dots, and double quotes, which are doubled.
func splitTable(s string) (schema, table string, err error) {
	r := csv.NewReader(strings.NewReader(s))
	r.Comma = '.'
	lines, err := r.ReadAll()
	if errors.Is(err, csv.ErrQuote) {
		return "", "", errors.New("a double quote is not closed")
	}
	if err != nil || len(lines) != 1 || len(lines[0]) > 2 || slices.Contains(lines[0], "") {
		return "", "", errors.New("give a table, or a schema, a dot and a table")
	}
	if names := lines[0]; len(names) == 2 {
		return names[0], names[1], nil
	}
	return "", lines[0][0], nil
}

const (
	// walTimeout bounds the time that triggers waits for other users of a file, and
	// walPoll is the interval between its attempts.
	walTimeout = 10 * time.Second
	walPoll    = 50 * time.Millisecond
)

// giveWAL switches the SQLite file of a host to the write-ahead log that a store needs.
// It reports that on stderr, because the file belongs to the host and stays in this
// mode. SQLite does not wait for a writer here, so giveWAL does, until the timeout.
func giveWAL(ctx context.Context, path string, timeout time.Duration, stderr io.Writer) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("--db %q: %w", path, err)
	}
	defer conn.Close()
	conn.SetBusyTimeout(0)
	for deadline := time.Now().Add(timeout); ; {
		given, err := setWAL(conn)
		switch {
		case given:
			_, err = fmt.Fprintf(stderr, "resourcesync: triggers: %q now has a write-ahead log (journal_mode=wal), so that the state in it and the users of the table do not block each other; all of them must run on this machine.\n", path)
			return err
		case sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy:
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("--db %q: the state needs a write-ahead log in this file, which other programs have locked for %v: %w", path, timeout, err)
		}
		if err := background.Sleep(ctx, walPoll); err != nil {
			return err
		}
	}
}

// setWAL switches a database to a write-ahead log, and reports whether it had none.
func setWAL(conn *sqlite.Conn) (given bool, err error) {
	var mode string
	read := &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error { mode = s.ColumnText(0); return nil }}
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode", read); err != nil || mode == "wal" {
		return false, err
	}
	// Where a write-ahead log is impossible the mode stays, and the store reports it.
	err = sqlitex.ExecuteTransient(conn, "PRAGMA journal_mode=wal", read)
	return err == nil && mode == "wal", err
}
