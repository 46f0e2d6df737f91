package sqltable

import (
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestD13_TextWithoutTimes: a column of text is refused as LastModified if it has no
// times, with what it has; single values that are none are not stated.
func TestD13_TextWithoutTimes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		d.run(`CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, title {plain}, at {plain}, seconds {plain}, empty {plain})`,
			"INSERT INTO papers VALUES (1, 'On time', NULL, '1700000000', NULL), (2, NULL, 'in May', NULL, NULL), (3, '2026', '2026-03-01 12:00:00', NULL, NULL)")
		const uri = "https://example.org/{id}"
		_, err := d.open(t.Context(), Table{Name: "papers", Key: "id", URI: uri, LastModified: "title"})
		if err == nil || !strings.Contains(err.Error(), `column "title" cannot be LastModified: it has "On time"`) {
			t.Errorf("titles: %v", err)
		}
		_, err = d.open(t.Context(), Table{Query: "SELECT id, title AS changed FROM papers", Key: "id", URI: uri, LastModified: "changed"})
		if err == nil || !strings.Contains(err.Error(), `column "changed" cannot be LastModified`) {
			t.Errorf("titles of a query: %v", err)
		}
		for _, column := range []string{"seconds", "empty"} {
			if _, err := d.open(t.Context(), Table{Name: "papers", Key: "id", URI: uri, LastModified: column}); err != nil {
				t.Errorf("%s: %v", column, err)
			}
		}
		if _, err := d.open(t.Context(), Table{Name: "papers", Key: "id", URI: uri, LastModified: "at", Where: "title = 'On time'"}); err != nil {
			t.Errorf("no value in the set: %v", err)
		}
		stated := 0
		for _, r := range list(t, d.provider(Table{Name: "papers", Key: "id", URI: uri, LastModified: "at"}), resourcesync.Range{}) {
			if !r.LastModified.IsZero() {
				stated++
			}
		}
		if stated != 1 {
			t.Errorf("%d times of one", stated)
		}
	})
}

// TestD13_ComputedKey: no index is suggested on a column that there is not.
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
