package main

import (
	"bytes"
	"context"
	gosql "database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

func runTriggersCommand(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"triggers"}, args...), &out, &errs)
	return status, out.String(), errs.String()
}

// pending summarizes the journal in the SQLite file at path.
func pending(t *testing.T, path string) string {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	defer conn.Close()
	var words []string
	must(t, sqlitex.ExecuteTransient(conn, "SELECT change, uri FROM rs_pending ORDER BY id", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			words = append(words, stmt.ColumnText(0)+" "+stmt.ColumnText(1))
			return nil
		},
	}))
	return strings.Join(words, ", ")
}

func TestTriggersSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cms.db")
	sql(t, path, `CREATE TABLE "my.articles" (id INTEGER PRIMARY KEY, title TEXT)`)
	args := []string{"--db", path, "--set", "papers", "--table", `"my.articles"`, "--key", "id", "--uri", "https://example.org/{title}/{id}"}
	status, script, stderr := runTriggersCommand(t, args...)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, %q", status, stderr)
	}
	// Nothing has been written.
	sql(t, path, `INSERT INTO "my.articles" VALUES (1, 'a')`)
	for range 2 {
		if status, _, stderr := runTriggersCommand(t, append(args, "--apply")...); status != 0 {
			t.Fatal(stderr)
		}
	}
	sql(t, path, `INSERT INTO "my.articles" VALUES (2, 'a b')`)
	// The printed statements are applied.
	sql(t, path, strings.NewReplacer("BEGIN;\nDROP", "DROP", "\nCOMMIT;", "").Replace(script))
	sql(t, path, `DELETE FROM "my.articles" WHERE id = 1`)
	for range 2 {
		if status, _, stderr := runTriggersCommand(t, "--db", path, "--set", "papers", "--table", `"my.articles"`, "--drop"); status != 0 {
			t.Fatal(stderr)
		}
	}
	sql(t, path, `DELETE FROM "my.articles"`)
	if got := pending(t, path); got != "created https://example.org/a%20b/2, deleted https://example.org/a/1" {
		t.Error(got)
	}
}

func TestTriggersPostgres(t *testing.T) {
	dsn := needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES")
	conn, err := pgx.Connect(t.Context(), dsn)
	must(t, err)
	defer conn.Close(t.Context())
	exec := func(format string, a ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), fmt.Sprintf(format, a...), pgx.QueryExecModeSimpleProtocol)
		must(t, err)
	}
	store, cms := fmt.Sprintf("triggers_%d", os.Getpid()), fmt.Sprintf("cms.%d", os.Getpid())
	exec(`CREATE SCHEMA %q; CREATE SCHEMA %q; CREATE TABLE %q.articles (id int PRIMARY KEY)`, store, cms, cms)
	defer exec(`DROP SCHEMA %q CASCADE; DROP SCHEMA %q CASCADE`, store, cms)
	u, err := url.Parse(dsn)
	must(t, err)
	q := u.Query()
	q.Set("search_path", store)
	u.RawQuery = q.Encode()
	args := []string{"--db", u.String(), "--set", "papers", "--table", fmt.Sprintf(`"%s".articles`, cms), "--key", "id", "--uri", "https://example.org/{id}"}
	if status, _, stderr := runTriggersCommand(t, append(args, "--apply")...); status != 0 {
		t.Fatal(stderr)
	}
	status, script, stderr := runTriggersCommand(t, args...)
	if status != 0 {
		t.Fatal(stderr)
	}
	exec("%s", script)
	exec("INSERT INTO %q.articles VALUES (7); TRUNCATE %[1]q.articles", cms)
	if status, _, stderr := runTriggersCommand(t, append(args, "--drop")...); status != 0 {
		t.Fatal(stderr)
	}
	exec("INSERT INTO %q.articles VALUES (8)", cms)
	var got string
	must(t, conn.QueryRow(t.Context(), fmt.Sprintf("SELECT string_agg(change || ' ' || uri, ', ' ORDER BY id) FROM %q.rs_pending", store)).Scan(&got))
	if got != "created https://example.org/7, deleted https://example.org/7" {
		t.Error(got)
	}
}

// mysqlURL creates a database. It returns its --db, the database, and a function that
// runs statements in it.
func mysqlURL(t *testing.T) (address string, db *gosql.DB, exec func(statements ...string)) {
	t.Helper()
	dsn := needs.Variable(t, "RESOURCESYNC_TEST_MYSQL")
	config, err := mysql.ParseDSN(dsn)
	must(t, err)
	config.MultiStatements = true
	connector, err := mysql.NewConnector(config)
	must(t, err)
	admin := gosql.OpenDB(connector)
	config.DBName = fmt.Sprintf("resourcesync_%d_%d", os.Getpid(), time.Now().UnixNano())
	_, err = admin.ExecContext(t.Context(), "CREATE DATABASE "+config.DBName+" CHARACTER SET utf8mb4")
	must(t, err)
	connector, err = mysql.NewConnector(config)
	must(t, err)
	db = gosql.OpenDB(connector)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+config.DBName)
		must(t, errors.Join(err, db.Close(), admin.Close()))
	})
	u := url.URL{Scheme: "mysql", User: url.UserPassword(config.User, config.Passwd), Host: config.Addr, Path: "/" + config.DBName}
	return u.String(), db, func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			_, err := db.ExecContext(t.Context(), s)
			must(t, err)
		}
	}
}

func TestTriggersMySQL(t *testing.T) {
	address, db, exec := mysqlURL(t)
	exec("CREATE TABLE posts (id INT NOT NULL PRIMARY KEY, size INT) ENGINE=InnoDB")
	args := []string{"--db", address, "--table", "posts", "--key", "id", "--uri", "https://example.org/{id}", "--length", "size"}
	status, script, stderr := runTriggersCommand(t, args...)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, %q", status, stderr)
	}
	exec("INSERT INTO posts VALUES (1, 1)")
	// The printed statements are applied.
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(script, "DELIMITER $$\n"), "DELIMITER ;\n"), "$$\n") {
		if statement != "" {
			exec(statement)
		}
	}
	exec("INSERT INTO posts VALUES (2, 1)")
	for range 2 {
		if status, stdout, stderr := runTriggersCommand(t, append(args, "--apply")...); status != 0 || stdout != "Table \"posts\" is journalled for set \"posts\".\n" {
			t.Fatal(stdout, stderr)
		}
	}
	exec("UPDATE posts SET size = 2", "DELETE FROM posts WHERE id = 1")
	var outbox, got string
	must(t, db.QueryRowContext(t.Context(), "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'rs%'").Scan(&outbox))
	must(t, db.QueryRowContext(t.Context(), "SELECT group_concat(row_key ORDER BY id) FROM "+outbox).Scan(&got))
	if got != "2,1,2,1" {
		t.Error(got)
	}
	if status, _, stderr := runTriggersCommand(t, append(args, "--drop")...); status != 0 {
		t.Fatal(stderr)
	}
	exec("INSERT INTO posts VALUES (4, 1)")
}

func TestTriggersRefusals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cms.db")
	sql(t, path, "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT)")
	full := func(more ...string) []string {
		return append([]string{"--db", path, "--set", "papers", "--table", "articles", "--key", "id", "--uri", "https://example.org/{id}"}, more...)
	}
	for name, test := range map[string]struct {
		args []string
		hint string
	}{
		"nothing":           {nil, "no --db given"},
		"no table":          {[]string{"--db", path, "--set", "papers"}, "no --table given"},
		"no key":            {[]string{"--db", path, "--set", "papers", "--table", "t"}, "no --key given"},
		"no URI":            {[]string{"--db", path, "--set", "papers", "--table", "t", "--key", "id"}, "no --uri given"},
		"apply and drop":    {full("--apply", "--drop"), "one of"},
		"argument":          {full("more"), `"more"`},
		"unknown flag":      {full("--more"), `"resourcesync triggers --help"`},
		"unit":              {full("--unit", "h"), "s, ms or us"},
		"table with dots":   {full("--table", "a.b.c"), "a schema, a dot and a table"},
		"open quote":        {full("--table", `"a`), "not closed"},
		"missing file":      {full("--db", path+"\n.none"), "there is no such file"},
		"other database":    {full("--db", "oracle://localhost/test"), "postgres://user@host/database"},
		"no MySQL database": {full("--db", "mysql://root@localhost"), "mysql://user@host/database"},
		"MySQL parameter":   {full("--db", "mysql://root@localhost/a?charset=latin1"), `"charset"`},
		"no MySQL server":   {full("--db", "mysql://me:secret@127.0.0.1:1/db"), "connection refused"},
		"no server":         {full("--db", "postgres://me:secret@127.0.0.1:1/db"), "connection refused"},
		"missing table":     {full("--table", "none"), "no such table"},
		"missing column":    {full("--lastmod", "at"), `--lastmod: there is no column "at"`},
		"hash column":       {full("--hash-column", "md5=sum"), `no column "sum"`},
		"bad condition":     {full("--where", "nonsense = 1"), "nonsense"},
		"bad template":      {full("--uri", "https://example.org/{id"), "without a }"},
		"relative template": {full("--uri", "/articles/{id}"), "not absolute"},
		"loose key":         {full("--key", "title"), "NOT NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := runTriggersCommand(t, test.args...)
			line, rest, ended := strings.Cut(stderr, "\n")
			want := exit.Usage
			if name == "no server" || name == "no MySQL server" { // which may pass
				want = exit.Failed
			}
			if status != want || stdout != "" || !ended || rest != "" || !strings.HasPrefix(line, "resourcesync: ") || !strings.Contains(line, test.hint) || strings.Contains(line, "secret") {
				t.Errorf("status %d, stdout %q, stderr %q, want %q", status, stdout, stderr, test.hint)
			}
		})
	}
	if _, err := os.Stat(path + "\n.none"); err == nil {
		t.Error("a database was made")
	}
}
