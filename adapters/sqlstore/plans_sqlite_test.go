package sqlstore

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

func explainSQLite(t *testing.T, db database, r *record) {
	session := func(f func(t *testing.T, conn *sqlite.Conn)) func(*testing.T) {
		return func(t *testing.T) {
			conn, err := sqlite.OpenConn(string(db), sqlite.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for _, script := range append(r.scripts, "PRAGMA synchronous=OFF") {
				script = strings.TrimSuffix(script, ";")
				if err := sqlitex.ExecuteTransient(conn, script, nil); err != nil {
					t.Fatal(err)
				}
			}
			f(t, conn)
		}
	}
	execute := func(t *testing.T, conn *sqlite.Conn, statements ...string) {
		for _, sql := range statements {
			if err := sqlitex.ExecuteTransient(conn, sql, nil); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	// The plans depend only on statistics, which are read with the schema.
	explain := session(func(t *testing.T, conn *sqlite.Conn) { explainInSQLite(t, conn, r) })
	t.Run("no statistics", explain)
	session(func(t *testing.T, conn *sqlite.Conn) { execute(t, conn, "ANALYZE") })(t)
	t.Run("statistics of small tables", explain)
	session(func(t *testing.T, conn *sqlite.Conn) {
		count := func(table string) (n int) {
			err := sqlitex.ExecuteTransient(conn, "SELECT count(*) FROM "+table, &sqlitex.ExecOptions{
				ResultFunc: func(row *sqlite.Stmt) error { n = row.ColumnInt(0); return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		const series = "(WITH RECURSIVE n (i) AS (VALUES (%d) UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n)"
		execute(t, conn, fills(count, 0, planRows(), series, "CAST(printf('%08d', i) AS BLOB)")...)
		execute(t, conn, "ANALYZE")
	})(t)
	t.Run("statistics of large tables", explain)
}

func explainInSQLite(t *testing.T, conn *sqlite.Conn, r *record) {
	plans := map[string]string{}
	var found []finding
	for sql, s := range r.statements {
		tables := aliases(sql)
		err := sqlitedb.Wrap(conn).Query(t.Context(), "EXPLAIN QUERY PLAN "+sql, func(row rowdb.Row) error {
			step := rowdb.String(row, 3)
			plans[sql] += "\t" + step + "\n"
			if what := badStep(step, tables); what != "" {
				found = append(found, finding{s, what})
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %s: %v", s.site, sql, err)
		}
	}
	r.report(t, found, plans)
}

var (
	sqliteStep    = regexp.MustCompile(`^(SCAN|SEARCH) (\w+)(.*)`)
	sqliteColumns = regexp.MustCompile(`(\w+)[=<>]`)
)

// badStep returns the defect of a step of a plan of SQLite.
func badStep(step string, tables map[string]string) string {
	m := sqliteStep.FindStringSubmatch(step)
	if m == nil {
		if strings.HasPrefix(step, "USE TEMP B-TREE") {
			return "sorts"
		}
		return ""
	}
	table := m[2]
	if of, found := tables[table]; found {
		table = of
	}
	if _, grows := growing[table]; !grows {
		return ""
	}
	var columns []string
	for _, c := range sqliteColumns.FindAllStringSubmatch(m[3], -1) {
		columns = append(columns, c[1])
	}
	switch {
	case strings.Contains(step, "AUTOMATIC"):
		return "makes an index of " + table
	case m[1] == "SCAN" || !narrow(columns):
		return fmt.Sprintf("reads too much of %s", table)
	}
	return ""
}
