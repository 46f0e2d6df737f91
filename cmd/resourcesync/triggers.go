package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// triggers prints, applies or drops the SQL that journals a table.
func triggers(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseTriggers(args)
	if err != nil {
		return err
	}
	err = runTriggers(ctx, c, stdout, stderr)
	if _, ok := errors.AsType[settings.Error](err); err != nil && !ok && ctx.Err() == nil {
		return tabledb.Refuse("triggers", err)
	}
	return err
}

func runTriggers(ctx context.Context, c *triggersConfig, stdout, stderr io.Writer) error {
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
	case c.apply && db.Mysql == nil:
		return c.install(ctx, db, tr, stdout, stderr)
	}
	if c.drop {
		if err := tr.Remove(ctx, c.Table, c.Set); err != nil {
			return err
		}
		return c.report(stdout, "is no longer journalled")
	}
	statements, err := tr.Create(ctx, c.Table, c.Set)
	if err != nil {
		return err
	}
	if !c.apply {
		return printTriggers(stdout, db, c.Set, statements)
	}
	if err := tr.Apply(ctx, statements); err != nil {
		return err
	}
	return c.report(stdout, "is journalled")
}

func (c *triggersConfig) report(stdout io.Writer, done string) error {
	_, err := fmt.Fprintf(stdout, "Table %q %s for set %q.\n", c.Table.Name, done, c.Set)
	return err
}

// printTriggers prints statements in the form that the client of the database reads.
func printTriggers(stdout io.Writer, db *tabledb.DB, set string, statements []string) error {
	if db.Mysql != nil {
		_, err := fmt.Fprintf(stdout, "DELIMITER $$\n%s$$\nDELIMITER ;\n", strings.Join(statements, "$$\n"))
		return err
	}
	_, err := fmt.Fprintf(stdout, "-- The set %q must be there before: --apply sees to that.\nBEGIN;\n%s;\nCOMMIT;\n", set, strings.Join(statements, ";\n"))
	return err
}

// install creates the triggers and, if necessary, a journal with this name: without a
// journal, the triggers would block all writes. If a stored set has the name, they write to
// it.
func (c *triggersConfig) install(ctx context.Context, db *tabledb.DB, tr *sqltable.Triggers, stdout, stderr io.Writer) error {
	store, err := c.openStore(ctx, db, stderr)
	if err != nil {
		return err
	}
	defer store.Close()
	if sets, err := store.Sets(ctx); err != nil || slices.Contains(sets, c.Set) {
		if err != nil {
			return err
		}
		statements, err := tr.Create(ctx, c.Table, c.Set)
		if err == nil {
			err = tr.Apply(ctx, statements)
		}
		if err != nil {
			return err
		}
		return c.report(stdout, "is journalled")
	}
	anew, err := tr.Install(ctx, store, c.Table, c.Set)
	if err != nil {
		return err
	}
	if anew != "" {
		fmt.Fprintf(stdout, "The journal begins anew, because %s. Every Destination compares its copy.\n", anew)
	}
	return c.report(stdout, "is journalled")
}

// restartJournal restarts the journal.
func (c *triggersConfig) restartJournal(ctx context.Context, db *tabledb.DB, stdout, stderr io.Writer) error {
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
	_, err = fmt.Fprintf(stdout, "The journal for set %q begins anew. Every Destination compares its copy.\n", c.Set)
	return err
}

// openStore opens the state in the database of the table, and creates it if it does not
// exist.
func (c *triggersConfig) openStore(ctx context.Context, db *tabledb.DB, stderr io.Writer) (*sqlstore.Store, error) {
	if db.Postgres != nil {
		return pgstore.Open(ctx, db.Postgres, nil)
	}
	if err := giveWAL(ctx, c.DB, walTimeout, stderr); err != nil {
		return nil, err
	}
	return sqlitestore.OpenFile(ctx, c.DB, nil)
}

type triggersConfig struct {
	tabledb.Settings
	apply   bool
	drop    bool
	restart bool
}

func (t *triggersConfig) declare(c *settings.Catalog) {
	t.Settings.Declare(c)
	c.Add(
		settings.Setting{Name: "apply", Value: settings.Bool(&t.apply),
			Text: `Create or replace the triggers, and create the set if it does not exist. In MariaDB and MySQL,
				this locks the table for a moment. An SQLite file is switched to a write-ahead log
				(journal_mode=wal), which the state needs.`},
		settings.Setting{Name: "drop", Value: settings.Bool(&t.drop),
			Text: "Remove the triggers that --apply has created for this table and set."},
		settings.Setting{Name: "restart", Value: settings.Bool(&t.restart),
			Text: `Begin the journal anew, because changes are missing from it, or because the database was restored
				from a backup. Every Destination then compares its whole copy. PostgreSQL and SQLite only.`},
	)
	c.Change(settings.Setting{Name: "db",
		Text: `The database: an SQLite file, postgres://user@host/database, or mysql://user@host/database for
			MariaDB and MySQL, with ?socket=PATH for a socket. An SQLite file and a PostgreSQL database also
			contain the state; in PostgreSQL, in the first schema of the search path.`})
	c.Change(settings.Setting{Name: "key",
		Text: "The column that identifies a row. It is unique and never NULL."})
	c.Change(settings.Setting{Name: "set",
		Text: `The name of the set in the triggers that record changes. A table can have triggers for several
			sets.`})
	c.Change(settings.Setting{Name: "table",
		Text: `The table, as in articles, cms.articles or "My Schema"."My Table".`})
}

// parseTriggers reads the arguments of triggers. The error is settings.ErrHelp for --help.
func parseTriggers(args []string) (*triggersConfig, error) {
	t, c := new(triggersConfig), new(settings.Catalog)
	t.declare(c)
	others, err := parse(c, args)
	if err == nil {
		if t.drop || t.restart { // which read no columns
			c.Lookup("key").Need, c.Lookup("uri").Need = "", ""
		}
		err = cmp.Or(c.Unexpected(others), c.Missing("triggers"), c.Locate(t.check()))
	}
	t.Set = cmp.Or(t.Set, t.Table.Name)
	return t, refuse("triggers", err)
}

func (t *triggersConfig) check() error {
	var f settings.Faults
	f.If(t.apply && (t.drop || t.restart), "apply", "give one of --apply, --drop and --restart")
	f.If(t.drop && t.restart, "drop", "give one of --apply, --drop and --restart")
	f.If(t.restart && tabledb.IsMySQL(t.DB), "restart", "MariaDB and MySQL have no journal; comparisons find what triggers have missed")
	f.Add(t.Settings.Check())
	return f.Err()
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
