package main

import (
	"bytes"
	"context"
	gosql "database/sql"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
)

// A tableEngine is a database with a table "posts", for one test.
type tableEngine struct {
	name  string
	flag  string // --db
	state string // --state for the table with triggers
	db    *gosql.DB
	dsn   [2]string // driver and data source name of db
}

const createPosts = `CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, slug VARCHAR(100) NOT NULL, size BIGINT NOT NULL, hidden INT NOT NULL DEFAULT 0)`

// tableEngines runs test with each engine.
func tableEngines(t *testing.T, test func(t *testing.T, e *tableEngine)) {
	engines := map[string]func(t *testing.T) *tableEngine{
		"mysql": func(t *testing.T) *tableEngine {
			address, _, _ := mysqlURL(t)
			config, err := tabledb.MySQLConfig(address)
			must(t, err)
			return &tableEngine{flag: address, state: filepath.Join(t.TempDir(), "state.db"), dsn: [2]string{"mysql", config.FormatDSN()}}
		},
		"postgres": func(t *testing.T) *tableEngine {
			address := newPostgres(t)
			return &tableEngine{flag: address, state: address, dsn: [2]string{"pgx", address}}
		},
		"sqlite": func(t *testing.T) *tableEngine {
			path := filepath.Join(t.TempDir(), "cms.db")
			return &tableEngine{flag: path, state: path, dsn: [2]string{"sqlite", path + "?_pragma=busy_timeout(60000)&_txlock=immediate"}}
		},
	}
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			e.name = name
			var err error
			e.db, err = gosql.Open(e.dsn[0], e.dsn[1])
			must(t, err)
			t.Cleanup(func() { must(t, e.db.Close()) })
			e.exec(t, createPosts)
			test(t, e)
		})
	}
}

func (e *tableEngine) exec(t testing.TB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := e.db.ExecContext(context.WithoutCancel(t.Context()), s)
		must(t, err)
	}
}

// args are the flags that describe the table.
func (e *tableEngine) args(more ...string) []string {
	return append([]string{"--db", e.flag, "--table", "posts", "--key", "id", "--uri", publicURL + "{slug}", "--length", "size", "--where", "hidden = 0"}, more...)
}

// startTable publishes a table and waits until it is ready.
func startTable(t *testing.T, args ...string) *served {
	t.Helper()
	s := &served{t: t, stdout: newOutput(t), stderr: newOutput(t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"table", "--listen", "127.0.0.1:0"}, args...), s.stdout, s.stderr)
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if status := <-status; status != 0 {
			t.Errorf("status %d:\n%s", status, s.stderr)
		}
	})
	t.Cleanup(s.stop)
	s.awaitListening()
	s.stdout.await("Ready")
	return s
}

// TestTable: the changes of a table without triggers are found by comparison, at a ping and
// after a restart.
func TestTable(t *testing.T) {
	t.Parallel()
	tableEngines(t, func(t *testing.T, e *tableEngine) {
		e.exec(t, "INSERT INTO posts VALUES (1, 'a', 10, 0), (2, 'b c', 20, 0), (3, 'd', 30, 1)")
		args := e.args("--state", filepath.Join(t.TempDir(), "rows.db"), "--ping-token", "pong", "--rescan", "1h")
		s := startTable(t, args...)
		if got := s.listed(); got != "a b%20c" {
			t.Fatal(got)
		}
		e.exec(t, "UPDATE posts SET size = 11 WHERE id = 1", "DELETE FROM posts WHERE id = 2", "INSERT INTO posts VALUES (4, 'e', 1, 0)")
		req, err := http.NewRequest("POST", s.site+"resourcesync/ping", strings.NewReader(""))
		must(t, err)
		req.Header.Set("Authorization", "Bearer pong")
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		res.Body.Close()
		if res.StatusCode != http.StatusAccepted {
			t.Fatal(res.Status)
		}
		if got := strings.Join(s.awaitChanges(3), ", "); got != "updated a, created e, deleted b%20c" {
			t.Error(got)
		}
		s.stop()
		e.exec(t, "UPDATE posts SET hidden = 0 WHERE id = 3")
		s = startTable(t, args...)
		s.awaitChanges(4)
		if got := s.listed(); got != "a d e" {
			t.Error(got)
		}
		s.stop()

		// Rows that move to other URIs are deleted at the old ones.
		moved := append(args, "--uri", publicURL+"posts/{slug}")
		s = startTable(t, moved...)
		s.until("the rows have moved", func() bool { return s.listed() == "posts/a posts/d posts/e" && len(s.changes()) == 10 })
		s.stop()

		// The state of another table is refused.
		e.exec(t, strings.Replace(createPosts, "posts", "others", 1))
		var out, errs bytes.Buffer
		status := run(t.Context(), append([]string{"table", "--listen", "127.0.0.1:0"}, append(args, "--table", "others")...), &out, &errs)
		if status != 2 || !strings.Contains(errs.String(), "--moved") {
			t.Errorf("status %d, %s", status, &errs)
		}
	})
}

// TestTableTriggers: with triggers, changes are published at once.
func TestTableTriggers(t *testing.T) {
	t.Parallel()
	tableEngines(t, func(t *testing.T, e *tableEngine) {
		e.exec(t, "INSERT INTO posts VALUES (1, 'a', 10, 0), (2, 'b', 20, 0)")
		if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
			t.Fatal(stderr)
		}
		args := e.args("--state", e.state, "--rescan", "1h")
		if e.name == "postgres" { // where the state belongs to a site
			args = append(args, "--base-url", "https://rs.example.org/")
		}
		s := startTable(t, args...)
		at := func(uri string) string { return strings.Replace(uri, "https://rs.example.org/", s.site, 1) }
		list := func(capability string) (all []string) {
			for _, l := range s.document(at(s.site+"resourcesync/"+capability+".xml"), capability).Entries {
				all = append(all, strings.TrimSpace(l.Metadata.Change+" "+s.key(l.Loc)))
			}
			return all
		}
		if got := strings.Join(list("resourcelist"), ", "); got != "a, b" {
			t.Fatal(got)
		}
		e.exec(t, "UPDATE posts SET size = 11 WHERE id = 1")
		await := func(want ...string) {
			t.Helper()
			s.until(strings.Join(want, ", "), func() bool { return strings.Join(list("changelist"), ", ") == strings.Join(want, ", ") })
		}
		await("updated a")
		e.exec(t, "UPDATE posts SET hidden = 1 WHERE id = 2")
		await("updated a", "deleted b")
		e.exec(t, "INSERT INTO posts VALUES (3, 'c', 1, 0)")
		await("updated a", "deleted b", "created c")
		if got := strings.Join(list("resourcelist"), ", "); got != "a, c" {
			t.Error(got)
		}
		s.stop()
		// Changes while the program is stopped are found at the next start.
		e.exec(t, "DELETE FROM posts WHERE id = 1")
		s = startTable(t, args...)
		await("updated a", "deleted b", "created c", "deleted a")
	})
}

func TestTableRefusals(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cms.db")
	sql(t, path, createPosts)
	full := func(more ...string) []string {
		return append([]string{"--listen", "127.0.0.1:0", "--state", filepath.Join(t.TempDir(), "rows.db"), "--db", path, "--table", "posts", "--key", "id", "--uri", "https://example.org/{slug}"}, more...)
	}
	for name, test := range map[string]struct {
		args []string
		hint string
	}{
		"nothing":        {nil, "no --db given"},
		"no table":       {[]string{"--db", path}, "no --table given"},
		"no key":         {[]string{"--db", path, "--table", "posts"}, "no --key given"},
		"no URI":         {[]string{"--db", path, "--table", "posts", "--key", "id"}, "no --uri given"},
		"dumps":          {full("--dumps"), "no content"},
		"missing file":   {full("--db", path+".none"), "there is no such file"},
		"missing table":  {full("--table", "none"), `--table "none": there is no such table or view`},
		"missing column": {full("--lastmod", "at"), `--lastmod "at": there is no column "at"`},
		"loose key":      {full("--key", "slug"), "create a view in which one column joins them"},
		"no server":      {full("--db", "mysql://me:secret@127.0.0.1:1/db"), "connection refused"},
		"state of host":  {full("--state", path), "is a database of another program"},
	} {
		var out, errs bytes.Buffer
		status := run(t.Context(), append([]string{"table"}, test.args...), &out, &errs)
		want := exit.Usage
		if name == "no server" { // which may pass
			want = exit.Failed
		}
		if status != want || !strings.Contains(errs.String(), test.hint) || strings.Contains(errs.String(), "secret") {
			t.Errorf("%s: status %d, %s, want %q", name, status, &errs, test.hint)
		}
	}
}

func TestMySQLConfig(t *testing.T) {
	for address, want := range map[string]string{
		"mysql://cms:p%40ss@db.example.org/cms":                          "cms:p@ss@tcp(db.example.org:3306)/cms",
		"mariadb://cms@[::1]:3307/cms":                                   "cms@tcp([::1]:3307)/cms",
		"mysql://cms@/cms?socket=" + url.QueryEscape("/run/mysqld.sock"): "cms@unix(/run/mysqld.sock)/cms",
	} {
		config, err := tabledb.MySQLConfig(address)
		if err != nil || !strings.HasPrefix(config.FormatDSN(), want) {
			t.Errorf("%s: %v, %v", address, config, err)
		}
	}
	for address, hint := range map[string]string{
		"mysql://cms@/cms":    "give the server",
		"mysql://cms@host/":   "give the database",
		"mysql://cms@host/%z": "percent-encoded",
	} {
		if _, err := tabledb.MySQLConfig(address); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, port := range []string{"", ":3306"} {
		if got := tabledb.PlaceOf("mysql://cms:secret@host" + port + "/cms?tls=true"); got != "mysql://host/cms" {
			t.Error(got)
		}
	}
}
