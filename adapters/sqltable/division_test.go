package sqltable

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A statementCounter counts the statements of a Provider.
type statementCounter struct {
	engine.DB
	n *int
}

func (s statementCounter) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	*s.n++
	return s.DB.Query(ctx, sql, each, args...)
}

func (s statementCounter) QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	*s.n++
	return s.DB.QueryInOrder(ctx, sql, each, args...)
}

// undated returns cuts without the times of their newest changes, which a table alone does not know.
func undated(cuts []resourcesync.Cut) []resourcesync.Cut {
	cuts = slices.Clone(cuts)
	for i := range cuts {
		cuts[i].Newest = time.Time{}
	}
	return cuts
}

// TestCutsAgain: divisions that follow the journal equal those that count all rows, and
// only changed pages are counted.
func TestCutsAgain(t *testing.T) {
	both(t, func(t *testing.T, d *database) {
		const n, every = 2000, 50
		d.run("CREATE TABLE papers (id {int} NOT NULL PRIMARY KEY, title {text})")
		store := d.store()
		papers, err := d.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}).Journal(t.Context(), store, "papers", nil)
		must(t, err)
		statements := 0
		papers.Set.db = statementCounter{papers.Set.db, &statements}
		run := func(sql string, n int, args func(int) []any) {
			t.Helper()
			must(t, d.all(sql, n, args))
		}
		run("INSERT INTO papers VALUES ($1, 'a')", n, func(i int) []any { return []any{10 * i} })
		ctx, stop := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- store.Run(ctx) }()
		defer func() { stop(); must(t, <-stopped) }()
		// settle waits until all changes are in the journal.
		settle := func() {
			t.Helper()
			for deadline := time.Now().Add(needs.Patience); ; time.Sleep(time.Millisecond) {
				pending := 0
				d.rows("SELECT 1 FROM rs_pending LIMIT 1", func(rowdb.Row) error { pending++; return nil })
				if pending == 0 {
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("changes stay pending")
				}
			}
		}
		settle()
		cuts, err := papers.Cuts(t.Context(), nil, every)
		must(t, err)
		first := statements
		rnd := rand.New(rand.NewPCG(1, 2))
		for round, test := range []struct {
			title, sql string
			n          int
			args       func(int) []any
			statements int
		}{
			{"no change", "UPDATE papers SET title = 'a' WHERE id = $1", 1, func(int) []any { return []any{-1} }, 0},
			{"one row more", "INSERT INTO papers VALUES ($1, 'b')", 1, func(int) []any { return []any{1005} }, 6},
			{"one row less", "DELETE FROM papers WHERE id = $1", 1, func(int) []any { return []any{7000} }, 6},
			{"rows with other titles", "UPDATE papers SET title = 'c' WHERE id = $1", n, func(i int) []any { return []any{10 * i} }, 0},
			{"a page outgrown", "INSERT INTO papers VALUES ($1, 'd')", 3 * every, func(i int) []any { return []any{5001 + i + i/9} }, 20},
			{"rows before the first", "INSERT INTO papers VALUES ($1, 'e')", every, func(i int) []any { return []any{-1 - i} }, 10},
			{"rows after the last", "INSERT INTO papers VALUES ($1, 'f')", 4 * every, func(i int) []any { return []any{20001 + i} }, 20},
			{"a row with another key", "UPDATE papers SET id = $1 WHERE id = 3000", 1, func(int) []any { return []any{15005} }, 8},
			{"pages emptied", "DELETE FROM papers WHERE id = $1", 5 * every, func(i int) []any { return []any{10000 + 10*i} }, 20},
			{"changes everywhere", "DELETE FROM papers WHERE id = $1", n / 4, func(int) []any { return []any{10 * rnd.IntN(n)} }, 4 * n / every},
		} {
			if test.title == "a page outgrown" {
				d.run("DELETE FROM papers WHERE id BETWEEN 5001 AND 5200")
			}
			run(test.sql, test.n, test.args)
			settle()
			previous := slices.Clone(cuts)
			statements = 0
			cuts, err = papers.Cuts(t.Context(), previous, every)
			must(t, err)
			if statements > test.statements {
				t.Errorf("%s: %d statements, expected at most %d; the first division took %d", test.title, statements, test.statements, first)
			}
			all, err := papers.Set.Cuts(t.Context(), previous, every)
			must(t, err)
			newest := make([]time.Time, len(cuts)) // of the changes
			for c, err := range papers.Journal.Changes(t.Context(), resourcesync.Interval{}) {
				must(t, err)
				newest[paging.PageOf(cuts, c.Resource.Key)] = c.Datetime
			}
			later := 0
			for i := range cuts {
				if cuts[i].Newest.IsZero() || cuts[i].Newest.Before(newest[i]) {
					t.Errorf("%s: the newest change of page %d is at %v, not %v", test.title, i, newest[i], cuts[i].Newest)
				}
				if i < len(previous) && cuts[i].Newest.After(previous[i].Newest) {
					later++
				}
			}
			if test.n == 1 && test.title != "a row with another key" && later != min(test.statements, 1) {
				t.Errorf("%s: %d pages have a newer change", test.title, later)
			}
			if !slices.Equal(undated(cuts), all) {
				t.Fatalf("%s (%d):\n%v\ninstead of\n%v", test.title, round, cuts, all)
			}
		}

		// A process that has just started continues from the counts of the store, which are
		// as old as its cuts.
		run("INSERT INTO papers VALUES ($1, 'g')", 3*every, func(i int) []any { return []any{30001 + i} })
		settle()
		_, err = papers.Cuts(t.Context(), nil, every)
		must(t, err)
		run("DELETE FROM papers WHERE id = $1", 1, func(int) []any { return []any{30001} })
		settle()
		cuts, err = papers.Cuts(t.Context(), nil, every)
		must(t, err)
		again, err := d.provider(Table{Name: "papers", Key: "id", URI: "https://example.org/{id}"}).Journal(t.Context(), store, "papers", nil)
		must(t, err)
		statements = 0
		again.divider.table.db = statementCounter{again.divider.table.db, &statements}
		if got, err := again.Cuts(t.Context(), nil, every); err != nil || !slices.Equal(got, cuts) || statements > 6 {
			t.Errorf("after a start: %d statements, %v\n%v\ninstead of\n%v", statements, err, got, cuts)
		}

		// Without cuts in the store, and with a journal that has dropped changes, it is
		// unknown which pages have changed.
		expectAll := func(title string, previous []resourcesync.Cut) {
			t.Helper()
			got, err := papers.Cuts(t.Context(), previous, every)
			must(t, err)
			want, err := papers.Set.Cuts(t.Context(), previous, every)
			must(t, err)
			if !slices.Equal(undated(got), want) {
				t.Errorf("%s:\n%v\ninstead of\n%v", title, got, want)
			}
			cuts = got
		}
		run("DELETE FROM papers WHERE id = $1", 1, func(int) []any { return []any{20001} })
		settle()
		d.run("DELETE FROM rs_division")
		expectAll("no cuts in the store", slices.Delete(slices.Clone(cuts), 0, 1))
		run("DELETE FROM papers WHERE id = $1", 1, func(int) []any { return []any{20002} })
		settle()
		d.run("UPDATE rs_set SET since = last")
		expectAll("dropped changes", cuts)
	})
}
