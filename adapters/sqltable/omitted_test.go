package sqltable

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// resourcesOf returns resources without errors.
func resourcesOf(t testing.TB, all iter.Seq2[resourcesync.Resource, error]) iter.Seq[resourcesync.Resource] {
	return func(yield func(resourcesync.Resource) bool) {
		for r, err := range all {
			must(t, err)
			if !yield(r.Clone()) {
				return
			}
		}
	}
}

// TestOmitted: a row with too long a key is left out, and so are lengths and times that
// documents cannot state. The other rows are listed in full, by reading, by comparison and
// by triggers, and the host can write anything.
func TestOmitted(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, d *database) {
		long := func(first string) string { return first + strings.Repeat("x", resourcesync.MaxKeyLength) }
		key := map[string]string{"mysql": "VARCHAR(766) COLLATE utf8mb4_nopad_bin"}[d.name]
		if key == "" {
			key = "{text}"
		}
		d.run("CREATE TABLE papers (name " + key + " NOT NULL PRIMARY KEY, bytes {int}, at {int})")
		table := Table{Name: "papers", Key: "name", URI: "https://example.org/{name}", Length: "bytes", LastModified: "at"}
		check := func(what string, all []resourcesync.Resource, got Omitted) {
			t.Helper()
			var lines []string
			for _, r := range all {
				length, _ := r.Length.Bytes()
				line := fmt.Sprint(r.Key, " ", length)
				if !r.LastModified.IsZero() {
					line += fmt.Sprint(" ", r.LastModified.Unix())
				}
				lines = append(lines, line)
			}
			if all := strings.Join(lines, ", "); all != "a 1 1, e -1, g -1 1, j 1 1" || got != (Omitted{Rows: 3, Fields: 3}) {
				t.Errorf("%s: %s; omitted %+v", what, all, got)
			}
		}
		rows := fmt.Sprintf("INSERT INTO papers VALUES ('a', 1, 1), ('%s', 1, 1), ('e', 9223372036854775807, 253402300800), ('g', 9223372036854775807, 1), ('%s', 1, 1), ('%s', 1, 1), ('j', 1, 1)",
			long("c"), long("h"), long("i"))
		if d.name != "mysql" {
			store := d.store()
			papers, err := d.provider(table).Journal(t.Context(), store, "papers", nil)
			must(t, err)
			d.run(rows)
			var last resourcesync.Change
			all := map[string]resourcesync.Resource{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go store.Run(ctx)
			for last.Resource.Key != "j" {
				for c, err := range papers.Changes(ctx, resourcesync.Interval{}) {
					must(t, err)
					last, all[c.Resource.Key] = c, c.Resource.Clone()
				}
			}
			cancel()
			var changed []resourcesync.Resource
			for _, r := range all {
				changed = append(changed, r)
			}
			slices.SortFunc(changed, func(a, b resourcesync.Resource) int { return strings.Compare(a.Key, b.Key) })
			check("changes", changed, Omitted{3, 3})
			check("journalled", list(t, papers, resourcesync.Range{}), papers.Omitted())
			// A time that overflows must not fail the host's write.
			d.run("UPDATE papers SET at = 9223372036854775807 WHERE name = 'e'", "UPDATE papers SET at = -9223372036854775807 WHERE name = 'e'")
		} else {
			o := d.outbox(table, "papers")
			d.run(rows)
			if result, err := o.Drain(t.Context(), storedSet(t)); result.Created != 4 || err != nil || d.waiting(o) != "" {
				t.Errorf("%+v, %v; %q is left", result, err, d.waiting(o))
			}
		}
		p := d.provider(table)
		check("all", list(t, p, resourcesync.Range{}), p.Omitted())
		for every := range 5 {
			cuts, err := p.Cuts(t.Context(), nil, every+1)
			must(t, err)
			var all []resourcesync.Resource
			from, count := "", 0
			for _, c := range cuts {
				all = append(all, list(t, p, resourcesync.Range{From: from, To: c.Key})...)
				from = c.Key
				count += c.Count
			}
			if count != 4 {
				t.Errorf("%d in pages of %d", count, every+1)
			}
			check(fmt.Sprint("pages of ", every+1), all, p.Omitted())
		}
		l := d.list(table)
		check("a listing", slices.Collect(resourcesOf(t, l.Resources(t.Context()))), l.Omitted())
		table.Name, table.Query = "", "SELECT * FROM papers"
		l = d.list(table)
		check("a sorted listing", slices.Collect(resourcesOf(t, l.Resources(t.Context()))), l.Omitted())
		set := memory.New(nil)
		if result, err := set.Scan(t.Context(), l.Resources(t.Context())); result.Created != 4 || err != nil {
			t.Errorf("%+v, %v", result, err)
		}
		// Rows that fit again are no longer omitted.
		d.run("DELETE FROM papers WHERE name LIKE '%xxx'", "UPDATE papers SET bytes = 1, at = 1")
		if list(t, p, resourcesync.Range{}); p.Omitted() != (Omitted{}) {
			t.Errorf("%+v", p.Omitted())
		}
	})
}

// TestOmittedTimes: PostgreSQL has times far outside the range of documents, and the
// host can write them to a table with triggers.
func TestOmittedTimes(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	for _, kind := range []string{"timestamptz", "timestamp", "date"} {
		d.run("CREATE TABLE at_" + kind + " (id bigint PRIMARY KEY, at " + kind + ")")
		table := Table{Name: "at_" + kind, Key: "id", URI: "https://example.org/{id}", LastModified: "at"}
		d.journal(table, kind)
		d.run("INSERT INTO at_" + kind + " VALUES (1, '4713-01-01 BC'), (2, '10000-01-01'), (3, '294276-12-31'), (4, 'infinity'), (5, '9999-12-31')")
		if kind == "date" {
			d.run("INSERT INTO at_date VALUES (6, '5874897-12-31')")
		}
		p := d.provider(table)
		if err := sameSet(t, replay(d.pending()), p); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		d.run("DELETE FROM rs_pending")
		if got := p.Omitted().Fields; got != 3 && kind != "date" || got != 4 && kind == "date" {
			t.Errorf("%s: %d", kind, got)
		}
	}
}
