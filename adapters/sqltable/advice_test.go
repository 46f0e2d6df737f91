package sqltable

import (
	"fmt"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestD13_TextWithoutTimes: a column of text is refused as LastModified if any value
// in its first rows is not a time. The error names such a value and says what to do.
// Later values that are not times are not stated.
func TestD13_TextWithoutTimes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run(`CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, title {plain}, one {plain}, mixed {plain}, at {plain}, seconds {plain}, empty {plain})`,
			"INSERT INTO papers VALUES (1, 'On time', '1984-06-08', NULL, NULL, '1700000000', NULL), (2, NULL, 'Animal Farm', '2026-03-01', '', NULL, NULL), (3, '2026', 'Homage', 'in May', '2026-03-01 12:00:00', NULL, NULL)")
		const uri = "https://example.org/{id}"
		for _, tt := range []struct {
			name   string
			column string
			where  string
			query  string
			want   []string // in the error; none if the column is accepted
		}{
			{"titles", "title", "", "", []string{`column "title" cannot be LastModified: 2 of its first 2 values cannot be read as times, such as "On time"; name a column of times`}},
			{"titles of a query", "changed", "", "SELECT id, title AS changed FROM papers", []string{`column "changed" cannot be LastModified`}},
			{"one title looks like a time", "one", "", "", []string{"2 of its first 3 values cannot be read as times", `"Animal Farm"`, "correct these values, set them to NULL, or name"}},
			{"one of two times is text", "mixed", "", "", []string{"1 of its first 2 values cannot be read as times", `"in May"`}},
			{"a condition excludes the text", "mixed", "id < 3", "", nil},
			{"an empty text", "at", "", "", nil},
			{"seconds", "seconds", "", "", nil},
			{"only NULL", "empty", "", "", nil},
			{"no value in the set", "title", "id = 2", "", nil},
		} {
			table := Table{Name: "papers", Key: "id", URI: uri, LastModified: tt.column, Where: tt.where}
			if tt.query != "" {
				table.Name, table.Query = "", tt.query
			}
			_, err := d.open(t.Context(), table)
			if (err != nil) != (tt.want != nil) {
				t.Errorf("%s: %v", tt.name, err)
				continue
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v; want %q", tt.name, err, want)
				}
			}
		}
		// Rows of the set are read, even if many others come before them.
		d.run("CREATE TABLE books (id {int} NOT NULL PRIMARY KEY, kind {text} NOT NULL, title {plain})",
			"INSERT INTO books VALUES "+drafts(timesTried), "INSERT INTO books VALUES (9998, 'book', '1984-06-08'), (9999, 'book', 'Homage')")
		_, err := d.open(t.Context(), Table{Name: "books", Key: "id", URI: uri, LastModified: "title", Where: "kind = 'book'"})
		if err == nil || !strings.Contains(err.Error(), `1 of its first 2 values cannot be read as times, such as "Homage"`) {
			t.Errorf("a set behind other rows: %v", err)
		}

		p := d.provider(Table{Name: "papers", Key: "id", URI: uri, LastModified: "at"})
		d.run("INSERT INTO papers (id, at) VALUES (4, 'in May')")
		var stated []string
		for _, r := range list(t, p, resourcesync.Range{}) {
			if !r.LastModified.IsZero() {
				stated = append(stated, r.URI)
			}
		}
		if len(stated) != 1 || stated[0] != "https://example.org/3" {
			t.Errorf("times of %q, want that of 3", stated)
		}
	})
}

// drafts returns the values of n rows of books that are not in the set.
func drafts(n int) string {
	rows := make([]string, n)
	for id := range rows {
		rows[id] = fmt.Sprintf("(%d, 'draft', NULL)", id)
	}
	return strings.Join(rows, ", ")
}

// TestD13_ComputedKey: no index is suggested on a missing column.
func TestD13_ComputedKey(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, word {text} NOT NULL)", "INSERT INTO papers VALUES (1, 'a')", "CREATE VIEW computed AS SELECT concat(word, id) AS k FROM papers")
		computed := "SELECT concat(word, id) AS k FROM papers"
		for name, table := range map[string]Table{
			"query": {Query: computed, Key: "k", URI: "https://example.org/{k}"},
			"view":  {Name: "computed", Key: "k", URI: "https://example.org/{k}"},
		} {
			_, err := d.open(t.Context(), table)
			if err == nil && d.name == "mysql" {
				continue // whose plans are not looked at
			}
			if err == nil || strings.Contains(err.Error(), "CREATE") || strings.Contains(err.Error(), "``") {
				t.Errorf("%s: %v", name, err)
			} else if d.name != "mysql" && !strings.Contains(err.Error(), "computes it") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
