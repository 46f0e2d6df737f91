package sqlstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// neverAnalyze creates the tables of a store, and keeps the server from collecting
// their statistics by itself. They are unlogged, because a test fills them with
// millions of rows.
func neverAnalyze(t *testing.T, db database) {
	err := db.open(t, nil).db.Do(t.Context(), func(c rowdb.Conn) error {
		for table, g := range growing {
			if g.parents == "" {
				continue // it is temporary
			}
			for _, change := range []string{"SET (autovacuum_enabled = off)", "SET UNLOGGED"} {
				if err := c.Script(t.Context(), "ALTER TABLE "+table+" "+change); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func explainPostgres(t *testing.T, db database, r *record) {
	// A session has the planner's settings of transactions.
	err := db.open(t, nil).db.Session(t.Context(), func(c rowdb.Conn) error {
		execute := func(statements ...string) {
			t.Helper()
			for _, sql := range statements {
				if err := c.Script(t.Context(), sql); err != nil {
					t.Fatalf("%s: %v", sql, err)
				}
			}
		}
		fill := func(first, last int) {
			count := func(table string) (n int) {
				c.Query(t.Context(), "SELECT count(*) FROM "+table, func(row rowdb.Row) error { n = int(row.Int(0)); return nil })
				return n
			}
			execute(fills(count, first, last, "generate_series(%d, %d) AS n (i)", "convert_to(lpad(CAST(i AS text), 8, '0'), 'UTF8')")...)
		}
		analyze := func() { // the tables of this test, and not those of others beside it
			var tables []string
			err := c.Query(t.Context(), "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace IN (to_regnamespace(current_schema()), pg_my_temp_schema())",
				func(row rowdb.Row) error { tables = append(tables, rowdb.String(row, 0)); return nil })
			if err != nil {
				t.Fatal(err)
			}
			execute("ANALYZE " + strings.Join(tables, ", "))
		}
		explain := func(t *testing.T) { explainInPostgres(t, c, r) }
		truncate := func() { // without it, plans depend on the pages that the workload has left
			for table := range growing {
				execute("TRUNCATE " + table)
			}
		}
		execute(r.scripts...)
		truncate()
		fill(0, planRows())
		t.Run("no statistics", explain)
		truncate()
		fill(0, 100)
		analyze()
		fill(100, planRows())
		t.Run("statistics of small tables", explain)
		analyze()
		t.Run("statistics of large tables", explain)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func explainInPostgres(t *testing.T, c rowdb.Conn, r *record) {
	for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
		plans := map[string]string{}
		var found []finding
		for sql, s := range r.statements {
			var b strings.Builder
			plan, err := planOf(t, c, s, mode)
			if err != nil {
				t.Fatalf("%s: %s: %v", s.site, sql, err)
			}
			badNodes(plan, false, 1, &b, func(what string) { found = append(found, finding{s, what}) })
			plans[sql] = b.String()
		}
		r.report(t, found, plans)
	}
}

// A planNode is a node of a plan of PostgreSQL.
type planNode struct {
	Type      string `json:"Node Type"`
	Relation  string `json:"Relation Name"`
	Index     string `json:"Index Name"`
	IndexCond string `json:"Index Cond"`
	Filter    string
	Plans     []planNode
}

func planOf(t *testing.T, c rowdb.Conn, s statement, mode string) (planNode, error) {
	args := make([]string, len(s.args))
	for i, arg := range s.args {
		switch v := arg.(type) {
		case nil:
			args[i] = "NULL"
		case string:
			args[i] = "'" + strings.ReplaceAll(v, "'", "''") + "'"
		case []byte:
			args[i] = fmt.Sprintf(`'\x%x'`, v)
		case []string:
			args[i] = "'{" + strings.Join(v, ",") + "}'"
		case [][]byte:
			args[i] = "'{}'"
		default:
			args[i] = fmt.Sprint(v)
		}
	}
	list := ""
	if len(args) > 0 {
		list = "(" + strings.Join(args, ", ") + ")"
	}
	free := ""
	if s.free {
		free = "; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on"
	}
	if err := c.Script(t.Context(), "BEGIN; SET LOCAL plan_cache_mode = "+mode+free+"; PREPARE s AS "+s.sql); err != nil {
		return planNode{}, err
	}
	var text []byte
	err := c.Query(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE s"+list, func(row rowdb.Row) error { text = row.Append(nil, 0); return nil })
	if err != nil {
		return planNode{}, err
	}
	var plan []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plan); err != nil {
		return planNode{}, err
	}
	return plan[0].Plan, c.Script(t.Context(), "ROLLBACK; DEALLOCATE s")
}

var postgresColumns = regexp.MustCompile(`\((\w+) (?:=|<|>)`)

// passing are the nodes that read no more of their first child than their parent
// requests.
var passing = []string{"Limit", "LockRows", "Nested Loop", "Result", "Subquery Scan", "Append", "ModifyTable"}

// badNodes writes a plan to the log and calls bad for each defect in it. limited means
// that only a few rows of the node are requested. It reports whether the node reads a
// table that grows.
func badNodes(n planNode, limited bool, depth int, b *strings.Builder, bad func(what string)) bool {
	fmt.Fprintf(b, "%*s%s %s %s %.200s %.200s\n", 2*depth, "", n.Type, n.Relation, n.Index, n.IndexCond, n.Filter)
	table := n.Relation
	for _, name := range slices.Sorted(maps.Keys(growing)) {
		if table == "" && strings.HasPrefix(n.Index, name+"_") {
			table = name // of a bitmap
		}
	}
	var columns []string
	for _, c := range postgresColumns.FindAllStringSubmatch(n.IndexCond, -1) {
		columns = append(columns, c[1])
	}
	_, grows := growing[table]
	walk := limited && n.Filter == "" // which ends soon
	if grows && (n.Type == "Seq Scan" || strings.Contains(n.Type, "Index") && !narrow(columns)) && !walk {
		bad("reads too much of " + table)
	}
	for i, child := range n.Plans {
		few := limited && i == 0 && slices.Contains(passing, n.Type) || n.Type == "Limit"
		grows = badNodes(child, few, depth+1, b, bad) || grows
	}
	if grows && strings.HasSuffix(n.Type, "Sort") {
		bad("sorts")
	}
	return grows
}
