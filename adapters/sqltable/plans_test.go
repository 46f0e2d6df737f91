package sqltable

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A recorder is an engine that records the statements of a Provider, with the arguments
// of one run.
type recorder struct {
	engine.DB
	statements map[string]statement
}

type statement struct {
	args  []any
	query func(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error
}

func (r recorder) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	r.statements[sql] = statement{args, r.DB.Query}
	return r.DB.Query(ctx, sql, each, args...)
}

func (r recorder) QueryInOrder(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	r.statements[sql] = statement{args, r.DB.QueryInOrder}
	return r.DB.QueryInOrder(ctx, sql, each, args...)
}

// planRows returns the number of rows of the table.
func planRows() int {
	if n, err := strconv.Atoi(os.Getenv("RESOURCESYNC_PLAN_ROWS")); err == nil {
		return n
	}
	return 5_000
}

const planPage = 100

// TestD17_Plans: no statement for a page, for the division of a set into pages or for a
// URI reads more rows than it needs, with the statistics of a large table, of a small
// one, and without any. It checks plans, not times.
func TestD17_Plans(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *database{"postgres": postgresDatabase, "sqlite": sqliteDatabase} {
		for key, value := range map[string]string{"int": "i", "text": "'key-' || (100000000 + i)"} {
			t.Run(name+" by "+key, func(t *testing.T) {
				d := open(t)
				d.run("CREATE TABLE articles (id {"+key+"} NOT NULL PRIMARY KEY, updated {time}, deleted {time})", "CREATE TABLE other (id {int} PRIMARY KEY)")
				series, at := "generate_series(%d, %d) AS n (i)", "timestamptz '2025-05-01 12:00:00Z'"
				if name == "sqlite" {
					series, at = "(WITH RECURSIVE n (i) AS (VALUES (%d) UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)", "'2025-05-01T12:00:00Z'"
				} else {
					d.run("ALTER TABLE articles SET (autovacuum_enabled = off)")
				}
				fill := func(first, last int) {
					d.run(fmt.Sprintf("INSERT INTO articles (id, updated) SELECT %s, %s FROM "+series, value, at, first, last))
				}
				fill(1, 10*planPage)
				p := d.provider(Table{Name: "articles", Key: "id", URI: "https://example.org/a/{id}", LastModified: "updated", Deleted: "deleted"})
				r := recorder{p.db, map[string]statement{}}
				p.db = r
				askAll(t, p)
				if len(r.statements) < 6 {
					t.Fatalf("%d statements: %q", len(r.statements), slices.Collect(maps.Keys(r.statements)))
				}
				explain := func(when string) { explainAll(t, d, when, r) }
				fill(10*planPage+1, planRows())
				explain("no statistics")
				d.run("DELETE FROM articles")
				fill(1, 100)
				d.run("ANALYZE")
				fill(101, planRows())
				explain("statistics of a small table")
				d.run("ANALYZE")
				explain("statistics of a large table")
			})
		}
	}
}

// askAll makes a Provider run its statements for parts of a set.
func askAll(t *testing.T, p *Set) {
	t.Helper()
	var cuts []resourcesync.Cut
	for range 2 {
		var err error
		cuts, err = p.Cuts(t.Context(), cuts, planPage)
		must(t, err)
	}
	page := resourcesync.Range{From: cuts[0].Key, To: cuts[1].Key}
	if got := len(list(t, p, page)); got == 0 || got > planPage {
		t.Fatalf("a page of %d", got)
	}
	stater, err := p.Stater()
	must(t, err)
	_, err = stater.Stat(t.Context(), page)
	must(t, err)
	uri := list(t, p, page)[0].URI
	u, err := url.Parse(uri)
	must(t, err)
	if !p.Covers(u) {
		t.Errorf("%s is not covered", uri)
	}
}

// badPlan matches forbidden steps of plans: a scan that does not use the index of the
// key, a sort, or an index that is built for the statement. Statements that count may
// read the table instead of the index, and those that begin at its start have no key to
// search for.
var (
	badPlan  = regexp.MustCompile(`Seq Scan|Sort|SCAN|TEMP B-TREE|AUTOMATIC`)
	badCount = regexp.MustCompile(`Sort|TEMP B-TREE|AUTOMATIC`)
)

func explainAll(t *testing.T, d *database, when string, r recorder) {
	t.Helper()
	explain, column := "EXPLAIN ", 0
	if d.lite != nil {
		explain, column = "EXPLAIN QUERY PLAN ", 3
	}
	for sql, s := range r.statements {
		plan := ""
		must(t, s.query(t.Context(), explain+sql, func(row rowdb.Row) error {
			plan += "\n\t" + rowdb.String(row, column)
			return nil
		}, s.args...))
		bad := badPlan
		if strings.HasPrefix(sql, "SELECT count(") || len(s.args) == 0 {
			bad = badCount
		}
		if plan == "" || bad.MatchString(plan) {
			t.Errorf("%s: %s %v%s", when, sql, s.args, plan)
		}
	}
}
