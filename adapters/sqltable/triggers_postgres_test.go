package sqltable

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
)

var things = Table{Name: "things", Key: "id", URI: "https://example.org/{id}"}

// play executes the statements of scenes on a table, and compares the journalled
// changes of each.
func (d *database) play(scenes ...[2]string) {
	d.t.Helper()
	for _, s := range scenes {
		d.run(s[0])
		if got := d.take(); got != s[1] {
			d.t.Errorf("%s: %q, want %q", s[0], got, s[1])
		}
	}
}

// TestPostgresOtherSchema journals a table beside the schema of the store, while the
// host's search path names other schemas and its role has almost no rights.
func TestPostgresOtherSchema(t *testing.T) {
	d := postgresDatabase(t)
	var store string
	must(t, d.pg.QueryRow(t.Context(), "SELECT current_schema()").Scan(&store))
	other, evil, role := pgx.Identifier{store + ` "x`}.Sanitize(), store+"_evil", store+"_role"
	t.Cleanup(func() {
		_, err := d.pg.Exec(context.WithoutCancel(t.Context()), "DROP SCHEMA "+other+" CASCADE; DROP SCHEMA "+evil+" CASCADE; DROP OWNED BY "+role+"; DROP ROLE "+role, pgx.QueryExecModeSimpleProtocol)
		must(t, err)
	})
	d.run("CREATE SCHEMA "+other, "CREATE TABLE "+other+".things (id int PRIMARY KEY, mood text)",
		"CREATE FUNCTION "+other+".is_fine(text) RETURNS boolean LANGUAGE sql AS $$ SELECT $1 = 'fine' $$",
		"CREATE SCHEMA "+evil, "CREATE TABLE "+evil+".things (id int, mood text)", "CREATE TABLE "+evil+".rs_set (id bigint, name text)",
		"CREATE FUNCTION "+evil+".is_fine(text) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$",
		"CREATE FUNCTION "+evil+".lpad(text, int, text) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$",
		"CREATE ROLE "+role, "GRANT USAGE ON SCHEMA "+other+", "+evil+" TO "+role, "GRANT ALL ON "+other+".things TO "+role)
	table := things
	table.Schema, table.Where = store+` "x`, "is_fine(things.mood)"
	d.journal(table, "papers")
	d.session(func(exec func(string) error) {
		for _, sql := range []string{
			"SET ROLE " + role, "SET search_path = " + evil + ", pg_catalog", "SET standard_conforming_strings = off",
			"CREATE TEMP TABLE rs_pending (id int)",
			"INSERT INTO " + other + ".things VALUES (1, 'fine'), (2, 'foul')",
			"UPDATE " + other + ".things SET mood = 'fine'",
			"DELETE FROM " + other + ".things WHERE id = 1",
			"TRUNCATE " + other + ".things",
			"DROP TABLE rs_pending", "RESET ROLE", "RESET search_path", "RESET standard_conforming_strings",
		} {
			must(t, exec(sql))
		}
	})
	if got := d.take(); got != "c:1 c:2 d:1 d:2" {
		t.Errorf("%q", got)
	}
}

func TestPostgresPartitions(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	d.run("CREATE TABLE things (id int PRIMARY KEY, x int) PARTITION BY RANGE (id)",
		"CREATE TABLE few PARTITION OF things FOR VALUES FROM (0) TO (10)",
		"CREATE TABLE many PARTITION OF things FOR VALUES FROM (10) TO (100) PARTITION BY RANGE (id)",
		"CREATE TABLE many1 PARTITION OF many FOR VALUES FROM (10) TO (50)")
	d.journal(things, "papers")
	// One table has its columns in another order.
	d.run("CREATE TABLE odd (x int, old int, id int NOT NULL)", "ALTER TABLE odd DROP COLUMN old",
		"ALTER TABLE things ATTACH PARTITION odd FOR VALUES FROM (100) TO (200)")
	d.run("CREATE TABLE many2 PARTITION OF many FOR VALUES FROM (50) TO (100)")
	d.play([][2]string{
		{"INSERT INTO things VALUES (1), (11), (51)", "c:1 c:11 c:51"},
		{"INSERT INTO few VALUES (2)", "c:2"},
		{"INSERT INTO many2 VALUES (52)", "c:52"},
		{"UPDATE things SET x = 1", "u:1 u:2 u:11 u:51 u:52"},
		{"UPDATE things SET x = 1", ""},
		{"UPDATE things SET id = 12 WHERE id = 2", "d:2 c:12"}, // to another partition
		{"INSERT INTO things VALUES (101, 2)", "c:101"},
		{"UPDATE things SET x = x WHERE id = 101", ""},
		{"UPDATE things SET x = 101 WHERE id = 101", "u:101"},
		{"DELETE FROM things WHERE id = 101", "d:101"},
		{"DELETE FROM many1 WHERE id = 12", "d:12"},
		{"TRUNCATE few", "d:1"},
		{"INSERT INTO things VALUES (1)", "c:1"},
		{"TRUNCATE things", "d:51 d:52 d:1 d:11"},
		{"INSERT INTO things VALUES (53)", "c:53"},
	}...)
	d.apply(things, "papers")
	d.play([2]string{"TRUNCATE many", "d:53"})
	d.play([2]string{"TRUNCATE many2", ""})
}

// TestPostgresOrder has several rows, or other triggers, that change one key within a
// statement.
func TestPostgresOrder(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	d.run("CREATE TABLE things (id int PRIMARY KEY DEFERRABLE, x int)")
	table := things
	table.URI = "https://example.org/{id}/{x}"
	d.journal(table, "papers")
	p := d.provider(table)
	set, known := map[string]resourcesync.Resource{}, map[string]resourcesync.Resource{}
	do := func(sql string) {
		t.Helper()
		d.run(sql)
		all := d.pending()
		for _, s := range all {
			if s.change == "deleted" {
				delete(set, s.resource.Key)
			} else {
				set[s.resource.Key] = s.resource
			}
		}
		follow(known, all)
		d.run("DELETE FROM rs_pending")
		if err := errors.Join(sameSet(t, set, p), sameURIs(t, known, p)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	do("INSERT INTO things SELECT n, n * n FROM generate_series(1, 5) n")
	do("UPDATE things SET id = id + 1")
	do("UPDATE things SET id = 9 - id")
	// Another trigger partly undoes the statement.
	d.run(`CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF pg_trigger_depth() > 1 THEN RETURN NULL; END IF;
			IF TG_OP = 'DELETE' THEN INSERT INTO things VALUES (5, 50); END IF;
			IF TG_OP = 'UPDATE' AND NEW.id = 13 THEN DELETE FROM things WHERE id = 14; END IF;
			IF TG_OP = 'UPDATE' AND NEW.id = 14 THEN UPDATE things SET id = 99 WHERE id = 15; END IF;
			RETURN NULL; END $$`,
		"CREATE TRIGGER a_undo AFTER UPDATE OR DELETE ON things FOR EACH ROW EXECUTE FUNCTION undo()",
		"CREATE TRIGGER z_undo AFTER UPDATE ON things FOR EACH ROW EXECUTE FUNCTION undo()")
	do("DELETE FROM things WHERE id = 5")
	do("UPDATE things SET id = id + 10")
	do("WITH gone AS (DELETE FROM things WHERE id = 13 RETURNING id) INSERT INTO things SELECT id + 100, 1 FROM gone")
}

func TestPostgresCascadesAndCopy(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	d.run("CREATE TABLE owners (id int PRIMARY KEY)",
		"CREATE TABLE things (id int PRIMARY KEY, owner int REFERENCES owners ON DELETE CASCADE ON UPDATE CASCADE, parent int REFERENCES things ON DELETE CASCADE)",
		"INSERT INTO owners VALUES (1), (2)")
	table := things
	table.URI = "https://example.org/{owner}/{id}"
	d.journal(table, "papers")
	d.play([][2]string{
		{"INSERT INTO things VALUES (1, 1, NULL), (2, 2, 1), (3, 2, NULL)", "c:1 c:2 c:3"},
		{"UPDATE owners SET id = 7 WHERE id = 2", "d:2 c:2 d:3 c:3"},
		{"DELETE FROM owners WHERE id = 7", "d:2 d:3"},
		{"INSERT INTO things VALUES (2, 1, 1)", "c:2"},
		{"DELETE FROM things WHERE id = 1", "d:1 d:2"},
		{"INSERT INTO things VALUES (4, 1)", "c:4"},
		{"TRUNCATE owners CASCADE", "d:4"},
	}...)
	d.run("INSERT INTO owners VALUES (1)")
	conn, err := d.pg.Acquire(t.Context())
	must(t, err)
	defer conn.Release()
	_, err = conn.Conn().PgConn().CopyFrom(t.Context(), strings.NewReader("5\t1\n6\t1\n"), "COPY things (id, owner) FROM STDIN")
	must(t, err)
	d.play([2]string{"SELECT 1", "c:5 c:6"})
}

// TestPostgresConcurrent has writers that block each other.
func TestPostgresConcurrent(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	d.makeArticles()
	d.journal(articles, "papers")
	var writers sync.WaitGroup
	for w := range uint64(6) {
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(w, 5))
			d.session(func(exec func(string) error) {
				for range 60 {
					if err := exec("BEGIN"); err != nil {
						t.Error(err)
						return
					}
					end := "COMMIT"
					if rnd.IntN(4) == 0 {
						end = "ROLLBACK"
					}
					for range 1 + rnd.IntN(3) {
						if exec(d.deed(rnd)) != nil { // a deadlock or a constraint
							end = "ROLLBACK"
							break
						}
					}
					if err := exec(end); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
	writers.Wait()
	all := d.pending()
	known := map[string]resourcesync.Resource{}
	follow(known, all)
	if err := errors.Join(sameSet(t, replay(all), d.provider(articles)), sameURIs(t, known, d.provider(articles))); err != nil {
		t.Error(err)
	}
	if len(all) < 100 {
		t.Errorf("%d changes: too few to tell", len(all))
	}
}

func TestTriggersRefusals(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, d *database) {
		d.run("CREATE TABLE loose (id {int}, k {plain} NOT NULL)", "CREATE VIEW v AS SELECT * FROM loose", "CREATE TABLE tight (id {int} NOT NULL PRIMARY KEY)")
		for _, tt := range []struct {
			table Table
			want  string
		}{
			{Table{Name: "nothing", Key: "id", URI: "https://example.org/{id}"}, "no such table"},
			{Table{Name: "v", Key: "id", URI: "https://example.org/{id}"}, "give its table"},
			{Table{Query: "SELECT 1", Key: "id", URI: "https://example.org/{id}"}, "give the Name"},
			{Table{Name: "loose", Key: "id", URI: "https://example.org/{id}"}, "NOT NULL"},
			{Table{Name: "loose", Key: "k", URI: "https://example.org/{id}"}, "CREATE UNIQUE INDEX"},
			{Table{Name: "tight", Key: "id", URI: "https://example.org/{id}", Where: "nonsense = 1"}, "nonsense"},
		} {
			_, err := d.triggers().Create(t.Context(), tt.table, "papers")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: %v, want %q", tt.table, err, tt.want)
			}
		}
	})
	t.Run("inheritance", func(t *testing.T) {
		d := postgresDatabase(t)
		d.run("CREATE TABLE things (id int PRIMARY KEY)", "CREATE TABLE child () INHERITS (things)")
		if _, err := d.triggers().Create(t.Context(), things, "papers"); err == nil || !strings.Contains(err.Error(), "inherit") {
			t.Error(err)
		}
	})
	t.Run("attached", func(t *testing.T) {
		pool, err := sqlitex.NewPool("file::memory:", sqlitex.PoolOptions{PoolSize: 1, PrepareConn: func(c *sqlite.Conn) error {
			return errors.Join(execSQLite(c, "ATTACH ':memory:' AS side"), execSQLite(c, "CREATE TABLE side.things (id INTEGER PRIMARY KEY)"))
		}})
		must(t, err)
		defer pool.Close()
		if _, err := SQLiteTriggers(pool).Create(t.Context(), things, "papers"); err == nil || !strings.Contains(err.Error(), "attached") {
			t.Error(err)
		}
	})
}

// TestNewPartitions: a partition that PostgreSQL has created with its triggers does not
// restart the journal, and TRUNCATE of it is journalled. A table that was attached may have
// brought rows.
func TestNewPartitions(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	w := &watched{database: d, table: Table{Name: "papers", Key: "id", URI: "https://example.org/{id}", Length: "size"}}
	w.run("CREATE TABLE papers (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, size bigint NOT NULL DEFAULT 7, more text) PARTITION BY RANGE (id)",
		"CREATE TABLE p0 PARTITION OF papers FOR VALUES FROM (0) TO (10)")
	papers := w.open(t)
	before := since(t, papers)
	for n, step := range []struct {
		sql      []string
		truncate string
		anew     bool
	}{
		{[]string{"CREATE TABLE p1 PARTITION OF papers FOR VALUES FROM (10) TO (20)"}, "p1", false},
		{[]string{"CREATE TABLE p2 PARTITION OF papers FOR VALUES FROM (20) TO (30)", "INSERT INTO papers (id) VALUES (21)", "VACUUM FREEZE p2", "ANALYZE p2"}, "p2", false},
		{[]string{"CREATE TABLE p3 PARTITION OF papers FOR VALUES FROM (30) TO (50) PARTITION BY RANGE (id)", "CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (30) TO (40)"}, "p31", false},
		{[]string{"CREATE TABLE p4 PARTITION OF papers FOR VALUES FROM (50) TO (60)", "INSERT INTO papers (id) VALUES (51)", "TRUNCATE p4"}, "p4", true},
		{[]string{"CREATE TABLE p5 (LIKE papers INCLUDING ALL)", "INSERT INTO p5 (id) VALUES (61)", "ALTER TABLE papers ATTACH PARTITION p5 FOR VALUES FROM (60) TO (70)"}, "p5", true},
		{[]string{"BEGIN; CREATE TABLE p6 (LIKE papers INCLUDING ALL); INSERT INTO p6 (id) VALUES (71); ALTER TABLE papers ATTACH PARTITION p6 FOR VALUES FROM (70) TO (80); COMMIT"}, "p6", true},
		{[]string{"ALTER TABLE papers DETACH PARTITION p1", "DELETE FROM p1", "ALTER TABLE papers ATTACH PARTITION p1 FOR VALUES FROM (10) TO (20)"}, "p1", true},
		{[]string{"BEGIN; CREATE TABLE p8 (LIKE papers) PARTITION BY RANGE (id); CREATE TABLE p81 PARTITION OF p8 FOR VALUES FROM (80) TO (90); INSERT INTO p81 (id, size) VALUES (81, 1); ALTER TABLE papers ATTACH PARTITION p8 FOR VALUES FROM (80) TO (90); COMMIT"}, "p81", true},
	} {
		w.session(func(exec func(string) error) {
			for _, s := range step.sql {
				must(t, exec(s))
			}
		})
		v, err := papers.watch.check(t.Context(), false, false)
		if err != nil || (v.reason != "") != step.anew {
			t.Errorf("%d: %+v, %v", n, v, err)
		}
		if at := since(t, papers); at.After(before) != step.anew {
			t.Errorf("%d: the journal begins at %v, not %v", n, at, before)
		}
		before = since(t, papers)
		w.run("DELETE FROM rs_pending", fmt.Sprintf("INSERT INTO papers (id) SELECT 10 * %d + 8", []int{1, 2, 3, 5, 6, 7, 1, 8}[n]), "TRUNCATE "+step.truncate)
		if got := w.take(); !strings.HasPrefix(got, "c:") || !strings.Contains(got, "d:") {
			t.Errorf("%d: %s", n, got)
		}
		if v, err := papers.watch.check(t.Context(), false, false); err != nil || v != (verdict{}) {
			t.Errorf("%d, again: %+v, %v", n, v, err)
		}
	}
}

// TestUnlogged: a crash empties an unlogged table without running triggers, so it has no
// journal.
func TestUnlogged(t *testing.T) {
	t.Parallel()
	d := postgresDatabase(t)
	w := newWatched(t, d)
	papers := w.open(t)
	w.run("ALTER TABLE papers SET UNLOGGED")
	if v, err := papers.watch.check(t.Context(), false, false); !errors.Is(err, ErrUnproven) || !strings.Contains(err.Error(), "SET LOGGED") {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := papers.Since(t.Context()); !errors.Is(err, ErrUnproven) {
		t.Error(err)
	}
	if _, err := w.triggers().Create(t.Context(), w.table, "papers"); err == nil || !strings.Contains(err.Error(), "SET LOGGED") {
		t.Error(err)
	}
	w.run("ALTER TABLE papers SET LOGGED")
	if v, err := papers.watch.check(t.Context(), false, false); err != nil || v.reason == "" {
		t.Errorf("%+v, %v", v, err)
	}
}
