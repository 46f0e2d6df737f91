package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
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
		return usagef("triggers: %w", ofDatabase(err))
	}
	return err
}

func runTriggers(ctx context.Context, c *triggersConfig, stdout, stderr io.Writer) error {
	db, err := openTableDB(ctx, c.db, c.apply || c.drop || c.restart)
	if err != nil {
		return err
	}
	defer db.close()
	tr, err := db.triggers(ctx)
	if err != nil {
		return err
	}
	switch {
	case c.restart:
		return c.restartJournal(ctx, db, stdout, stderr)
	case c.apply && db.mysql == nil:
		return c.install(ctx, db, tr, stdout, stderr)
	}
	if c.drop {
		if err := tr.Remove(ctx, c.table, c.set); err != nil {
			return err
		}
		return c.report(stdout, "is not journalled any more")
	}
	statements, err := tr.Create(ctx, c.table, c.set)
	if err != nil {
		return err
	}
	if !c.apply {
		return printTriggers(stdout, db, c.set, statements)
	}
	if err := tr.Apply(ctx, statements); err != nil {
		return err
	}
	return c.report(stdout, "is journalled")
}

func (c *triggersConfig) report(stdout io.Writer, done string) error {
	_, err := fmt.Fprintf(stdout, "Table %q %s for set %q.\n", c.table.Name, done, c.set)
	return err
}

// printTriggers prints statements as the client of the database reads them.
func printTriggers(stdout io.Writer, db *tableDB, set string, statements []string) error {
	if db.mysql != nil {
		_, err := fmt.Fprintf(stdout, "DELIMITER $$\n%s$$\nDELIMITER ;\n", strings.Join(statements, "$$\n"))
		return err
	}
	_, err := fmt.Fprintf(stdout, "-- The set %q must be there before: --apply sees to that.\nBEGIN;\n%s;\nCOMMIT;\n", set, strings.Join(statements, ";\n"))
	return err
}

// install makes the triggers and, if necessary, a journal of this name: without one, the
// triggers would keep everybody from writing. If a stored set has the name, they write to it.
func (c *triggersConfig) install(ctx context.Context, db *tableDB, tr *sqltable.Triggers, stdout, stderr io.Writer) error {
	store, err := c.openStore(ctx, db, stderr)
	if err != nil {
		return err
	}
	defer store.Close()
	if sets, err := store.Sets(ctx); err != nil || slices.Contains(sets, c.set) {
		if err != nil {
			return err
		}
		statements, err := tr.Create(ctx, c.table, c.set)
		if err == nil {
			err = tr.Apply(ctx, statements)
		}
		if err != nil {
			return err
		}
		return c.report(stdout, "is journalled")
	}
	anew, err := tr.Install(ctx, store, c.table, c.set)
	if err != nil {
		return err
	}
	if anew != "" {
		fmt.Fprintf(stdout, "The journal begins anew, because %s. Every Destination compares its copy.\n", anew)
	}
	return c.report(stdout, "is journalled")
}

// restartJournal begins the journal anew.
func (c *triggersConfig) restartJournal(ctx context.Context, db *tableDB, stdout, stderr io.Writer) error {
	store, err := c.openStore(ctx, db, stderr)
	if err != nil {
		return err
	}
	defer store.Close()
	journals, err := store.Journals(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(journals, c.set) {
		return fmt.Errorf("there is no journal for the set %q; the journals are: %s", c.set, cmp.Or(strings.Join(journals, ", "), "none"))
	}
	journal, err := store.Journal(ctx, c.set)
	if err == nil {
		err = journal.Restart(ctx, "an operator has said so")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "The journal for set %q begins anew. Every Destination compares its copy.\n", c.set)
	return err
}

// openStore opens the state in the database of the table, and makes it if there is none.
func (c *triggersConfig) openStore(ctx context.Context, db *tableDB, stderr io.Writer) (*sqlstore.Store, error) {
	if db.postgres != nil {
		return pgstore.Open(ctx, db.postgres, nil)
	}
	if err := giveWAL(ctx, c.db, walTimeout, stderr); err != nil {
		return nil, err
	}
	return sqlitestore.OpenFile(ctx, c.db, nil)
}

type triggersConfig struct {
	tableSettings
	apply   bool
	drop    bool
	restart bool
}

// parseTriggers reads the arguments of triggers. The error is flag.ErrHelp for --help.
func parseTriggers(args []string) (triggersConfig, error) {
	var c triggersConfig
	others, err := parse(triggersFlags(&c), args)
	switch {
	case err != nil:
	case len(others) > 0:
		err = fmt.Errorf("%q is one argument too many", others[0])
	case c.apply && c.drop, c.apply && c.restart, c.drop && c.restart:
		err = errors.New("give one of --apply, --drop and --restart")
	case c.restart && isMySQL(c.db):
		err = errors.New("--restart: MariaDB and MySQL have no journal; comparisons find what triggers have missed")
	default:
		err = cmp.Or(missing("triggers", "", c.requiredOfTable(!c.drop && !c.restart)...), c.checkTable())
	}
	if err == nil && c.set == "" {
		c.set = c.table.Name
	}
	return c, refuse("triggers", err)
}

func triggersFlags(c *triggersConfig) *flag.FlagSet {
	flags := newFlags("triggers")
	c.tableFlags(flags)
	flags.BoolVar(&c.apply, "apply", false, "")
	flags.BoolVar(&c.drop, "drop", false, "")
	flags.BoolVar(&c.restart, "restart", false, "")
	return flags
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
