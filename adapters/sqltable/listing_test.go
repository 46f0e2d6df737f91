package sqltable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// listing opens the Listing of a table.
func (d *database) listing(t Table) (*Listing, error) {
	o := &ListingOptions{Logger: slog.New(slog.DiscardHandler)}
	switch {
	case d.pg != nil:
		return ListPostgres(d.t.Context(), d.pg, t, o)
	case d.lite != nil:
		return ListSQLite(d.t.Context(), d.lite, t, o)
	}
	return ListMySQL(d.t.Context(), d.maria, t, o)
}

func (d *database) list(t Table) *Listing {
	d.t.Helper()
	l, err := d.listing(t)
	must(d.t, err)
	return l
}

// keysIn returns the keys of a listing, or its error.
func keysIn(resources func(yield func(resourcesync.Resource, error) bool)) string {
	var keys []string
	for r, err := range resources {
		if err != nil {
			return err.Error()
		}
		keys = append(keys, strings.TrimLeft(r.Key, "0"))
	}
	return strings.Join(keys, " ")
}

// TestListing: a listing needs no index in the order of bytes, but still has that
// order, and finds single rows.
func TestListing(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run(`CREATE TABLE words (word {other} NOT NULL PRIMARY KEY, id {int} NOT NULL UNIQUE, lang {other}, uri {text})`,
			"INSERT INTO words VALUES ('b', 1, 'en', 'https://example.org/b'), ('A', 2, 'de', 'https://example.org/A'), ('é', 3, 'fr', 'not a URI'), ('C', 4, 'en', NULL)",
			"CREATE VIEW joined AS SELECT lang || '-' || word AS name, uri FROM words")
		if d.name == "mysql" {
			d.run("CREATE OR REPLACE VIEW joined AS SELECT concat(lang, '-', word) AS name, uri FROM words")
		}
		for name, test := range map[string]struct {
			table      Table
			all, part  string
			ask        []string
			count, bad int64
		}{
			"other collation": {Table{Name: "words", Key: "word", URI: "https://example.org/{word}"}, "A C b é", "A C", []string{"A", "C", "a", "c"}, 4, 0},
			"integers":        {Table{Name: "words", Key: "id", URI: "https://example.org/{word}"}, "1 2 3 4", "2 4", []string{"0000000000000000002", "0000000000000000004", "0000000000000000009"}, 4, 0},
			"composite key":   {Table{Name: "joined", Key: "name", URI: "https://example.org/{name}"}, "de-A en-C en-b fr-é", "en-C", []string{"en-C", "en-D"}, 4, 0},
			"query":           {Table{Query: "SELECT * FROM words WHERE id > 1", Key: "word", URI: "https://example.org/{word}", Where: "lang = 'en'"}, "C", "C", []string{"A", "C"}, 1, 0},
			"invalid URI":     {Table{Name: "words", Key: "word", URI: "{+uri}"}, "A b", "A", []string{"A", "C", "é"}, 3, 1},
		} {
			l := d.list(test.table)
			if got := keysIn(l.Resources(t.Context())); got != test.all {
				t.Errorf("%s: %s, want %s", name, got, test.all)
			}
			_, part := l.Part(t.Context(), test.ask)
			if got := keysIn(part); got != test.part {
				t.Errorf("%s, part: %s, want %s", name, got, test.part)
			}
			if n, _, err := l.Estimate(t.Context()); n != test.count || err != nil || l.Omitted().Rows != test.bad {
				t.Errorf("%s: %d rows, %v, %d left out", name, n, err, l.Omitted().Rows)
			}
		}
		d.run("INSERT INTO words VALUES ('d', 5, 'en', 'https://example.org/d')")
		if got := keysIn(d.list(Table{Query: "SELECT lang, id FROM words", Key: "lang", URI: "https://example.org/{lang}"}).Resources(t.Context())); !strings.Contains(got, `key "en" comes after "en"`) {
			t.Errorf("a key that occurs twice: %s", got)
		}
	})
}

// TestListingRefusals: a table without a column that identifies rows is refused.
func TestListingRefusals(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE parts (post {int} NOT NULL, lang {int} NOT NULL, PRIMARY KEY (post, lang))")
		_, err := d.listing(Table{Name: "parts", Key: "post", URI: "https://example.org/{post}/{lang}"})
		unfit, ok := errors.AsType[*FieldError](err)
		if !ok || unfit.Field != "Key" || !strings.Contains(err.Error(), "create a view in which one column joins them") {
			t.Error(err)
		}
		d.run("CREATE TABLE notes (id {int} NOT NULL PRIMARY KEY, title {other})")
		if _, err := d.listing(Table{Name: "notes", Key: "title", URI: "https://example.org/{id}"}); !errors.As(err, &unfit) || unfit.Field != "Key" || !strings.Contains(err.Error(), "may be NULL") {
			t.Error(err)
		}
	})
}

// TestListingScan: a set that is compared with a table becomes equal to it, in more than
// one page.
func TestListingScan(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, word {other} NOT NULL, at {time})")
		must(t, d.all("INSERT INTO papers VALUES ($1, $2, '2026-01-02 03:04:05')", 2500, func(i int) []any { return []any{i, fmt.Sprint("w", i)} }))
		ctx := context.Background()
		for _, table := range []Table{
			{Name: "papers", Key: "id", URI: "https://example.org/{id}", LastModified: "at"},
			{Query: "SELECT * FROM papers", Key: "word", URI: "https://example.org/{word}", LastModified: "at"},
		} {
			l := d.list(table)
			set := memory.New(nil)
			result, err := set.Scan(ctx, l.Resources(ctx))
			if result.Created != 2500 || err != nil {
				t.Fatalf("%+v, %v", result, err)
			}
			result, err = set.Scan(ctx, l.Resources(ctx))
			if result.Unchanged != 2500 || err != nil {
				t.Fatalf("%+v, %v", result, err)
			}
		}
	})
}
