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

// triggersConfig is what "resourcesync triggers" was told on the command line.
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

// parseTriggers reads the arguments of triggers. The error is flag.ErrHelp if help
// was asked for.
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
		return c, usagef(`triggers: %w; "resourcesync triggers --help" tells how it is used`, err)
	}
	return c, nil
}

// triggersFlags returns the flags of triggers, which set c.
func triggersFlags(c *triggersConfig) *flag.FlagSet {
	flags := flag.NewFlagSet("triggers", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors, in one line
	t := &c.table
	flags.StringVar(&c.db, "db", "", `The database: an SQLite file, or postgres://user@host/database. The state is
kept in the same one; in PostgreSQL, in the first schema of the search path.`)
	flags.StringVar(&c.set, "set", "", `The name of the set whose changes they are.`)
	flags.Func("table", `The table, as in articles, cms.articles or "My Schema"."My Table".`, func(s string) (err error) {
		t.Schema, t.Name, err = splitTable(s)
		return err
	})
	flags.StringVar(&t.Key, "key", "", `The column that identifies a row: unique and never NULL.`)
	flags.StringVar(&t.URI, "uri", "", `What the URIs are like, with names of columns in braces, such as
https://example.org/articles/{id}. Values are percent-encoded, unless there is
a plus sign, as in {+url}.`)
	flags.StringVar(&t.LastModified, "lastmod", "", `The column with the time of the last modification.`)
	flags.Func("unit", `What times that are integers count: s, ms or us.
Default: s`, func(s string) error {
		units := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}
		if t.Unit = units[s]; t.Unit == 0 {
			return errors.New("give s, ms or us")
		}
		return nil
	})
	flags.StringVar(&t.Length, "length", "", `The column with the length in bytes.`)
	flags.StringVar(&t.Type, "type", "", `The column with the media type.`)
	flags.Func("hash", `A column with a checksum, after the algorithm, as in sha-256=checksum. May be
given several times. Without an algorithm, the column has it: md5:900150983c…`, func(s string) error {
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
	flags.StringVar(&t.Where, "where", "", `The condition that rows must fulfil to be published, in SQL.`)
	flags.StringVar(&t.Deleted, "deleted", "", `The column that marks rows as deleted: by the time of that, or by a flag.`)
	flags.BoolVar(&c.apply, "apply", false, `Make the triggers, or make them anew, and the set if there is none. An SQLite
file has a write-ahead log (journal_mode=wal) afterwards: the state needs it.`)
	flags.BoolVar(&c.drop, "drop", false, `Remove the triggers that --apply has made for this table and set.`)
	return flags
}

// splitTable reads a name with or without a schema. A name in double quotes can
// have dots in it, and double quotes, which are doubled.
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

// printTriggersHelp writes the help of triggers, the part about flags made from
// them.
func printTriggersHelp(w io.Writer) {
	fmt.Fprint(w, `Usage: resourcesync triggers --db DATABASE --set NAME --table TABLE --key COLUMN --uri TEMPLATE [flags]

Prints SQL that makes a database note what is created, updated and deleted in a
table, whoever does it: triggers, which write to the state of ResourceSync in the
same database and the same transaction. Nothing is changed without --apply or
--drop.

  resourcesync triggers --db postgres://cms@localhost/cms --set articles \
    --table public.articles --key id --uri 'https://example.org/articles/{id}' \
    --lastmod updated_at --where "status = 'published'" --apply

An update counts if it changes one of the columns that are named. If none of
--lastmod, --length, --type and --hash names one besides those of --key and --uri,
each update counts that changes anything in a row.

Before the table is altered, --drop them, and --apply them again afterwards.

Flags:
`)
	triggersFlags(new(triggersConfig)).VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  --%s\n        %s\n", f.Name, strings.ReplaceAll(f.Usage, "\n", "\n        "))
	})
}
