package main

import (
	"bytes"
	"cmp"
	cryptorand "crypto/rand"
	gosql "database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// journalEngines runs test with each engine whose triggers write a journal.
func journalEngines(t *testing.T, test func(t *testing.T, e *tableEngine)) {
	tableEngines(t, func(t *testing.T, e *tableEngine) {
		if e.name == "mysql" {
			t.Skip("MariaDB and MySQL have no journal")
		}
		test(t, e)
	})
}

// journalArgs are the arguments of table that publish posts from its journal.
func (e *tableEngine) journalArgs(more ...string) []string {
	return append(e.args("--state", e.state, "--base-url", "https://rs.example.org/"), more...)
}

// list returns the entries of a list of a table that is published at another address.
func (e *tableEngine) list(s *served, capability string) string {
	var all []string
	d := s.document(strings.Replace(s.site+"resourcesync/"+capability+".xml", "https://rs.example.org/", s.site, 1), capability)
	for _, l := range d.Entries {
		all = append(all, strings.TrimSpace(l.Metadata.Change+" "+s.key(l.Loc)))
	}
	return strings.Join(all, ", ")
}

// TestTableOtherCondition: rows that a new --where excludes leave the lists at once; their
// deletions are held until they are confirmed.
func TestTableOtherCondition(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	journalEngines(t, func(t *testing.T, e *tableEngine) {
		for id := range 6 {
			e.exec(t, fmt.Sprintf("INSERT INTO posts VALUES (%d, 'p%d', %d, 0)", id, id, id))
		}
		if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
			t.Fatal(stderr)
		}
		s := startTable(t, e.journalArgs()...)
		if got := e.list(s, "resourcelist"); got != "p0, p1, p2, p3, p4, p5" {
			t.Fatal(got)
		}
		s.stop()
		narrow := e.journalArgs("--where", "size<2", "--max-delete-hold", "0", "--status", "127.0.0.1:0")
		for range 2 {
			s = startTable(t, narrow...)
			if got := e.list(s, "resourcelist") + "; " + e.list(s, "changelist"); got != "p0, p1; " {
				t.Error(got)
			}
			if res, body := s.get("resourcesync/healthz"); res.StatusCode != 503 || !strings.Contains(body, "confirm-deletions") {
				t.Errorf("healthz: %s %s", res.Status, body)
			}
			s.stop()
		}
		s = startTable(t, narrow...)
		var out, errs bytes.Buffer // of the command on the status page
		if status := run(t.Context(), s.shownCommand("4 rows have been missing"), &out, &errs); status != 0 || !strings.Contains(out.String(), "4 rows") {
			t.Fatal(status, &out, &errs)
		}
		s.until("deletions", func() bool { return e.list(s, "changelist") == "deleted p2, deleted p3, deleted p4, deleted p5" })
		if res, body := s.get("resourcesync/healthz"); res.StatusCode != 200 {
			t.Errorf("healthz: %s %s", res.Status, body)
		}
	})
}

// TestTableRestart: the journal starts over only when triggers are missing or an operator
// requests it. The program does not fall back to comparisons.
func TestTableRestart(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	journalEngines(t, func(t *testing.T, e *tableEngine) {
		e.exec(t, "INSERT INTO posts VALUES (1, 'a', 10, 0), (2, 'b', 20, 0)")
		if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
			t.Fatal(stderr)
		}
		from := func() string {
			s := startTable(t, e.journalArgs()...)
			defer s.stop()
			return s.document(s.site+"resourcesync/changelist.xml", "changelist").Metadata.From
		}
		first := from()
		if again := from(); again != first {
			t.Errorf("a restart: from %s to %s", first, again)
		}
		e.dropTriggers(t)
		e.exec(t, "DELETE FROM posts WHERE id = 1")
		second := from()
		if second <= first {
			t.Errorf("without triggers: from %s to %s", first, second)
		}
		e.checkNotes(t, "the journal started over at ", "because a trigger is missing")
		if status, stdout, stderr := runTriggersCommand(t, "--db", e.flag, "--table", "posts", "--restart"); status != 0 || !strings.Contains(stdout, "starts over") {
			t.Fatal(stdout, stderr)
		}
		if third := from(); third <= second {
			t.Errorf("--restart: from %s to %s", second, third)
		}
	})
}

// checkNotes looks for texts in the response of healthz, which names no table, and in the
// pages of the status.
func (e *tableEngine) checkNotes(t *testing.T, texts ...string) {
	t.Helper()
	s := startTable(t, e.journalArgs("--status", "127.0.0.1:0")...)
	defer s.stop()
	e.list(s, "resourcelist")
	res, body := s.get("resourcesync/healthz")
	if res.StatusCode != 200 || !strings.HasPrefix(body, "ok\n") || strings.Contains(body, "posts") {
		t.Errorf("healthz: %s %s", res.Status, body)
	}
	answers := []string{body}
	status := s.stderr.await(`url=(http://[^ \n]*)`)[1]
	for _, accept := range []string{"text/html", "application/json"} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", status, nil)
		must(t, err)
		r.Header.Set("Accept", accept)
		res, err := http.DefaultClient.Do(r)
		must(t, err)
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		must(t, err)
		answers = append(answers, string(page))
	}
	var printed bytes.Buffer
	if code := run(t.Context(), []string{"status", status}, &printed, &printed); code != 0 {
		t.Error(code)
	}
	for _, answer := range append(answers, strings.Join(strings.Fields(printed.String()), " ")) {
		for _, text := range texts {
			if !strings.Contains(answer, text) {
				t.Errorf("no %q in %s", text, answer)
			}
		}
	}
}

// TestTableOmitted: the status and healthz name rows that no document can list.
func TestTableOmitted(t *testing.T) {
	journalEngines(t, func(t *testing.T, e *tableEngine) {
		e.exec(t, "INSERT INTO posts VALUES (1, 'a', 9223372036854775807, 0), (2, 'b', 20, 0)")
		if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
			t.Fatal(stderr)
		}
		e.checkNotes(t, "1 lengths or times of rows are left out")
	})
}

// dropTriggers drops all triggers of posts, as another program would.
func (e *tableEngine) dropTriggers(t *testing.T) {
	t.Helper()
	sql := "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'posts'"
	on := ""
	if e.name == "postgres" {
		sql, on = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'posts'::regclass AND NOT tgisinternal", " ON posts"
	}
	rows, err := e.db.QueryContext(t.Context(), sql)
	must(t, err)
	var names []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	must(t, rows.Close())
	for _, name := range names {
		e.exec(t, "DROP TRIGGER "+name+on)
	}
}

// TestTableSameDatabase: the journal is used, whichever addresses of the database the table
// and the state have. Triggers whose journal is not used are an error, and so is an
// unreadable journal.
func TestTableSameDatabase(t *testing.T) {
	needs.Time(t)
	journalEngines(t, func(t *testing.T, e *tableEngine) {
		if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
			t.Fatal(stderr)
		}
		for _, other := range e.otherAddresses(t) {
			for _, addresses := range [][2]string{{e.flag, other}, {other, e.flag}} {
				s := startTable(t, e.args("--db", addresses[0], "--state", addresses[1], "--base-url", "https://rs.example.org/")...)
				if !strings.Contains(s.stderr.String(), "changes are journalled by triggers") {
					t.Errorf("%q: %s", addresses, s.stderr)
				}
				s.stop()
			}
		}
		refused := func(hint string, args ...string) {
			t.Helper()
			var out, errs bytes.Buffer // of the command on the status page
			args = append([]string{"table", "--listen", "127.0.0.1:0"}, args...)
			if status := run(t.Context(), args, &out, &errs); status != exit.Usage || !strings.Contains(errs.String(), hint) {
				t.Errorf("status %d, %s, want %q", status, &errs, hint)
			}
		}
		refused("the state is not in their database", e.args("--state", filepath.Join(t.TempDir(), "rows.db"))...)
		startTable(t, e.args("--state", filepath.Join(t.TempDir(), "rows.db"), "--set", "others")...).stop()
		e.exec(t, "ALTER TABLE rs_cover RENAME TO rs_uncovered")
		refused("rs_cover", e.journalArgs()...)
		e.exec(t, "ALTER TABLE rs_uncovered RENAME TO rs_cover")
	})
}

// otherAddresses returns further addresses of the database.
func (e *tableEngine) otherAddresses(t *testing.T) (all []string) {
	if e.name == "sqlite" {
		link := filepath.Join(t.TempDir(), "link.db")
		must(t, os.Symlink(e.flag, link))
		t.Chdir(filepath.Dir(e.flag))
		return []string{link, filepath.Base(e.flag), "./" + filepath.Base(e.flag)}
	}
	address := func(edit func(u *url.URL, q url.Values)) {
		u, err := url.Parse(e.flag)
		must(t, err)
		q := u.Query()
		edit(u, q)
		u.RawQuery = q.Encode()
		all = append(all, u.String())
	}
	u, err := url.Parse(e.flag)
	must(t, err)
	t.Setenv("PGUSER", u.User.Username())
	t.Setenv("PGHOST", u.Hostname())
	t.Setenv("PGPORT", u.Port())
	if password, given := u.User.Password(); given {
		t.Setenv("PGPASSWORD", password)
	}
	address(func(u *url.URL, _ url.Values) { u.Host = u.Hostname() })
	address(func(u *url.URL, _ url.Values) { u.User, u.Host = nil, "" })
	address(func(u *url.URL, q url.Values) {
		u.Scheme, u.Host = "postgresql", ""
		q.Set("host", u.Hostname()+"127.0.0.1")
	})
	var folders string
	must(t, e.db.QueryRowContext(t.Context(), "SHOW unix_socket_directories").Scan(&folders))
	for folder := range strings.FieldsFuncSeq(folders, func(r rune) bool { return r == ',' || r == ' ' }) {
		if _, err := os.Stat(filepath.Join(folder, ".s.PGSQL."+cmp.Or(u.Port(), "5432"))); err == nil {
			address(func(u *url.URL, q url.Values) { u.Host = ""; q.Set("host", folder) })
		}
	}
	return all
}

// TestTableOfPlainRole: a role that may not run functions about the server has a journal.
func TestTableOfPlainRole(t *testing.T) {
	e := &tableEngine{name: "postgres", dsn: [2]string{"pgx", needs.Variable(t, postgres)}}
	var err error
	e.db, err = gosql.Open("pgx", e.dsn[1])
	must(t, err)
	own(t, e)
	role := "plain_" + strings.ToLower(cryptorand.Text())
	e.exec(t, "CREATE ROLE "+role+" LOGIN PASSWORD 'pw'", "ALTER TABLE posts OWNER TO "+role, "GRANT CREATE ON SCHEMA public TO "+role,
		"REVOKE EXECUTE ON FUNCTION pg_control_system(), pg_walfile_name(pg_lsn) FROM PUBLIC")
	t.Cleanup(func() { e.exec(t, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	u, err := url.Parse(e.flag)
	must(t, err)
	u.User = url.UserPassword(role, "pw")
	e.flag, e.state = u.String(), u.String()
	if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
		t.Fatal(stderr)
	}
	var froms []string
	for range 2 {
		s := startTable(t, e.journalArgs()...)
		if !strings.Contains(s.stderr.String(), "changes are journalled by triggers") {
			t.Error(s.stderr)
		}
		froms = append(froms, s.document(s.site+"resourcesync/changelist.xml", "changelist").Metadata.From)
		s.stop()
	}
	if froms[0] != froms[1] {
		t.Error(froms)
	}
}

// TestTableUnseenOutbox: a role that may only read publishes the table by comparison. The log
// names the outbox that no process drains, and its age.
func TestTableUnseenOutbox(t *testing.T) {
	tableEngines(t, func(t *testing.T, e *tableEngine) {
		if e.name != "mysql" {
			t.Skip("the journal needs no privileges of its own")
		}
		if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
			t.Fatal(stderr)
		}
		e.exec(t, "INSERT INTO posts VALUES (1, 'a', 1, 0)")
		u, err := url.Parse(e.flag)
		must(t, err)
		user := "rs_" + strings.ToLower(cryptorand.Text())[:20]
		e.exec(t, "CREATE USER "+user+"@'%' IDENTIFIED BY 'pw'", "GRANT SELECT ON "+strings.TrimPrefix(u.Path, "/")+".* TO "+user+"@'%'")
		t.Cleanup(func() { e.exec(t, "DROP USER "+user+"@'%'") })
		u.User = url.UserPassword(user, "pw")
		s := startTable(t, e.args("--db", u.String(), "--state", e.state)...)
		if log := s.stderr.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "rs_posts_") || !strings.Contains(log, "has not been drained since") {
			t.Error(log)
		}
		if got := s.listed(); got != "a" {
			t.Error(got)
		}
	})
}
