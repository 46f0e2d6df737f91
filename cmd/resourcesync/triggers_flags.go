package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
)

// triggersConfig holds the command line of "resourcesync triggers".
type triggersConfig struct {
	db    string
	set   string
	table sqltable.Table
	apply bool
	drop  bool
}

func (c *triggersConfig) isPostgres() bool {
	return strings.HasPrefix(c.db, "postgres://") || strings.HasPrefix(c.db, "postgresql://")
}

// parseTriggers reads the arguments of triggers. The error is flag.ErrHelp for --help.
func parseTriggers(args []string) (triggersConfig, error) {
	var c triggersConfig
	flags := triggersFlags(&c)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return c, err
	case err != nil:
		err = suggestFlag(err, flags)
	case flags.NArg() > 0:
		err = fmt.Errorf("%q is one argument too many", flags.Arg(0))
	case c.db == "":
		err = errors.New("no --db given")
	case strings.Contains(c.db, "://") && !c.isPostgres():
		err = fmt.Errorf("--db: give an SQLite file, or postgres://user@host/database")
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
	if err != nil {
		return c, usagef(`triggers: %w; "resourcesync triggers --help" explains the flags`, err)
	}
	return c, nil
}

// triggersFlags returns the flags of triggers, which set c.
func triggersFlags(c *triggersConfig) *flag.FlagSet {
	flags := flag.NewFlagSet("triggers", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors, in one line
	t := &c.table
	flags.StringVar(&c.db, "db", "", `The database: an SQLite file, or postgres://user@host/database. It also contains
the state; in PostgreSQL, in the first schema of the search path.`)
	flags.StringVar(&c.set, "set", "", `The name of the set whose changes are recorded.`)
	flags.Func("table", `The table, as in articles, cms.articles or "My Schema"."My Table".`, func(s string) (err error) {
		t.Schema, t.Name, err = splitTable(s)
		return err
	})
	flags.StringVar(&t.Key, "key", "", `The column that identifies a row. It is unique and never NULL.`)
	flags.StringVar(&t.URI, "uri", "", `The template of the URIs, with names of columns in braces, such as
https://example.org/articles/{id}. Values are percent-encoded, unless there is a
plus sign, as in {+url}.`)
	flags.StringVar(&t.LastModified, "lastmod", "", `The column with the time of the last modification.`)
	flags.Func("unit", `The unit of times that are integers: s, ms or us.
Default: s`, func(s string) error {
		units := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}
		if t.Unit = units[s]; t.Unit == 0 {
			return errors.New("give s, ms or us")
		}
		return nil
	})
	flags.StringVar(&t.Length, "length", "", `The column with the length in bytes.`)
	flags.StringVar(&t.Type, "type", "", `The column with the media type.`)
	flags.Func("hash", `An algorithm and the column with its checksum, as in sha-256=checksum. Without an
algorithm, the column contains it: md5:900150983c… May be repeated.`, func(s string) error {
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
	flags.StringVar(&t.Where, "where", "", `The condition for rows to be published, in SQL.`)
	flags.StringVar(&t.Deleted, "deleted", "", `The column that marks deleted rows, by the time of the deletion or by a flag.`)
	flags.BoolVar(&c.apply, "apply", false, `Create or replace the triggers, and create the set if it does not exist. An
SQLite file is switched to a write-ahead log (journal_mode=wal), which the state
needs.`)
	flags.BoolVar(&c.drop, "drop", false, `Remove the triggers that --apply has created for this table and set.`)
	return flags
}

// splitTable splits a table name with an optional schema. A name in double quotes may
// contain dots, and double quotes, which are doubled.
func splitTable(s string) (schema, table string, err error) {
	var names []string
	for rest := s; ; {
		var name string
		if strings.HasPrefix(rest, `"`) {
			rest = rest[1:]
			for {
				part, after, found := strings.Cut(rest, `"`)
				if !found {
					return "", "", errors.New("a double quote is not closed")
				}
				name, rest = name+part, after
				if !strings.HasPrefix(rest, `"`) {
					break
				}
				name, rest = name+`"`, rest[1:]
			}
		} else {
			end := strings.IndexByte(rest+".", '.')
			name, rest = rest[:end], rest[end:]
		}
		names = append(names, name)
		if name == "" || len(names) > 2 || rest != "" && rest[0] != '.' {
			return "", "", errors.New("give a table, or a schema, a dot and a table")
		}
		if rest == "" {
			break
		}
		rest = rest[1:]
	}
	if len(names) == 2 {
		schema = names[0]
	}
	return schema, names[len(names)-1], nil
}

// printTriggersHelp writes the help of triggers; the part about flags is generated from
// them.
func printTriggersHelp(w io.Writer) {
	fmt.Fprint(w, `Usage: resourcesync triggers --db DATABASE --set NAME --table TABLE --key COLUMN --uri TEMPLATE [flags]

Prints SQL that records each creation, update and deletion in a table, whichever
program makes it: triggers that write to the state of ResourceSync in the same
database and transaction. Without --apply or --drop, nothing is changed.

  resourcesync triggers --db postgres://cms@localhost/cms --set articles \
    --table public.articles --key id --uri 'https://example.org/articles/{id}' \
    --lastmod updated_at --where "status = 'published'" --apply

An update is recorded if it changes one of the named columns. If --lastmod,
--length, --type and --hash name no column besides those of --key and --uri, every
update that changes a row is recorded.

Before you alter the table, --drop the triggers, and --apply them again afterwards.

Flags:
`)
	triggersFlags(new(triggersConfig)).VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  --%s\n        %s\n", f.Name, strings.ReplaceAll(f.Usage, "\n", "\n        "))
	})
}
