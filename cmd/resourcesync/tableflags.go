package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
)

// tableSettings describe a table, for triggers and table alike.
type tableSettings struct {
	db    string
	set   string // the name in the triggers
	table sqltable.Table
}

func (s *tableSettings) tableFlags(flags *flag.FlagSet) {
	t := &s.table
	secretFlag(flags, "db", storeText(&s.db), func() string { return withoutPassword(s.db) })
	flags.StringVar(&s.set, "set", "", "")
	flags.Func("table", "", func(text string) (err error) {
		t.Schema, t.Name, err = splitTable(text)
		return err
	})
	flags.StringVar(&t.Key, "key", "", "")
	flags.StringVar(&t.URI, "uri", "", "")
	flags.StringVar(&t.LastModified, "lastmod", "", "")
	flags.Func("unit", "", func(text string) error {
		units := map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}
		if t.Unit = units[text]; t.Unit == 0 {
			return errors.New("give s, ms or us")
		}
		return nil
	})
	flags.StringVar(&t.Length, "length", "", "")
	flags.StringVar(&t.Type, "type", "", "")
	flags.Var(repeated(func(text string) error {
		algorithm, column, found := strings.Cut(text, "=")
		if !found {
			algorithm, column = "", text
		}
		if t.Hashes == nil {
			t.Hashes = map[string]string{}
		}
		t.Hashes[algorithm] = column
		return nil
	}), "hash-column", "")
	flags.StringVar(&t.Where, "where", "", "")
	flags.StringVar(&t.Deleted, "deleted", "", "")
}

// requiredOfTable returns the settings that a table requires. Those of its columns are only
// required for reading it.
func (s *tableSettings) requiredOfTable(columns bool) []requirement {
	required := []requirement{
		{"db", "the database with the table", "postgres://user@host/database", s.db},
		{"table", "the table or view", "articles", s.table.Name},
	}
	if columns {
		required = append(required,
			requirement{"key", "the column that identifies a row", "id", s.table.Key},
			requirement{"uri", "the template of the URIs, with columns in braces", "https://example.org/articles/{id}", s.table.URI})
	}
	return required
}

// checkTable returns an error for an address that is not that of a database.
func (s *tableSettings) checkTable() error {
	switch {
	case strings.Contains(s.db, "://") && !isPostgres(s.db) && !isMySQL(s.db):
		return errors.New("--db: give an SQLite file, postgres://user@host/database or mysql://user@host/database")
	case checkAddress(s.db) != nil:
		return fmt.Errorf("--db: %w", checkAddress(s.db))
	}
	return nil
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
