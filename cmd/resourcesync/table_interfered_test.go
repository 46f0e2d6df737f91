package main

import (
	"context"
	cryptorand "crypto/rand"
	gosql "database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// interfere is an environment variable with the statements that TestTableInterferer
// runs.
const interfere = "RESOURCESYNC_TEST_INTERFERE"

// TestTableInterferer is not a test. It is the other process of TestTableInterfered.
func TestTableInterferer(t *testing.T) {
	script := os.Getenv(interfere)
	if script == "" {
		t.Skip("only a process of TestTableInterfered")
	}
	engine, statements, _ := strings.Cut(script, "\n")
	db, err := gosql.Open(map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}[engine], os.Getenv(stormDSN))
	must(t, err)
	defer db.Close()
	for _, s := range strings.Split(statements, ";;") {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// An interfered is a published table that other programs interfere with, and a
// Destination.
type interfered struct {
	*tableEngine
	t       *testing.T
	rnd     *rand.Rand
	listen  string // the address of the program
	website *httptest.Server
	where   string
	witness string
	copy    string
	size    int    // of the next row: each version has its own
	backup  string // a copy of the database; "" if there is none
	saved   int64  // when the state of the journal in the copy last moved
	columns int    // that were added
	s       *served
}

func newInterfered(t *testing.T, e *tableEngine, seed uint64) *interfered {
	i := &interfered{
		tableEngine: e, t: t, rnd: rand.New(rand.NewPCG(seed, 23)), listen: needs.Address(t),
		where: "hidden = 0", witness: filepath.Join(t.TempDir(), "witness"), copy: filepath.Join(t.TempDir(), "copy"),
	}
	i.website = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var size int
		err := i.db.QueryRowContext(r.Context(), "SELECT size FROM posts WHERE slug = "+map[bool]string{true: "?", false: "$1"}[i.mysql()], strings.TrimPrefix(r.URL.Path, "/")).Scan(&size)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Write([]byte(strings.Repeat("x", size)))
	}))
	t.Cleanup(i.website.Close)
	return i
}

func (i *interfered) mysql() bool { return i.name == "mysql" }

// flags describe the table, for triggers and table alike.
func (i *interfered) flags(more ...string) []string {
	return append([]string{"--db", i.flag, "--table", "posts", "--key", "id", "--uri", i.website.URL + "/{slug}", "--length", "size", "--where", i.where}, more...)
}

func (i *interfered) start() {
	needs.AwaitFree(i.t, i.listen)
	i.s = &served{t: i.t, stdout: newOutput(i.t), stderr: newOutput(i.t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(i.t.Context()))
	status := make(chan int, 1)
	s := i.s
	more := []string{"--witness", i.witness}
	if i.mysql() {
		more = []string{"--ping-token", "pong"}
	}
	go func() {
		status <- run(ctx, append([]string{"table", "--listen", i.listen, "--base-url", "http://" + i.listen + "/"},
			i.flags(append(more, "--state", i.state, "--max-delete", "100%", "--hub", "none")...)...), s.stdout, s.stderr)
	}()
	s.stop = func() {
		cancel()
		if status := <-status; status != 0 {
			i.t.Errorf("status %d:\n%s", status, s.stderr)
		}
	}
	s.awaitListening()
	s.stdout.await("Ready")
}

func (i *interfered) stop() {
	if i.s != nil {
		i.s.stop()
		i.s = nil
	}
}

// others runs statements in another process.
func (i *interfered) others(statements ...string) {
	i.t.Helper()
	program, err := os.Executable()
	must(i.t, err)
	c := exec.CommandContext(i.t.Context(), program, "-test.run=^TestTableInterferer$")
	c.Env = append(os.Environ(), interfere+"="+i.name+"\n"+strings.Join(statements, ";;"), stormDSN+"="+i.dsn[1])
	if out, err := c.CombinedOutput(); err != nil {
		i.t.Fatalf("%v: %s", err, out)
	}
}

// writes returns statements that change some rows.
func (i *interfered) writes() (all []string) {
	for range 1 + i.rnd.IntN(8) {
		id := i.rnd.IntN(30)
		i.size++
		switch i.rnd.IntN(4) {
		case 0:
			all = append(all, fmt.Sprintf("DELETE FROM posts WHERE id = %d", id))
		case 1:
			all = append(all, fmt.Sprintf("UPDATE posts SET hidden = 1 - hidden, size = %d WHERE id = %d", i.size, id))
		default:
			conflict := "ON CONFLICT (id) DO UPDATE SET size = excluded.size"
			if i.mysql() {
				conflict = "ON DUPLICATE KEY UPDATE size = VALUES(size)"
			}
			all = append(all, fmt.Sprintf("INSERT INTO posts (id, slug, size) VALUES (%d, 'p%[1]d', %d) %s", id, i.size, conflict))
		}
	}
	return all
}

// triggerNames returns the names of the triggers on posts, as DROP TRIGGER needs them.
func (i *interfered) triggerNames() (names []string, on string) {
	sql := "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'posts'"
	switch i.name {
	case "mysql":
		sql = "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = 'posts'"
	case "postgres":
		sql, on = "SELECT tgname FROM pg_trigger WHERE tgrelid = 'posts'::regclass AND NOT tgisinternal", " ON posts"
	}
	rows, err := i.db.QueryContext(i.t.Context(), sql)
	must(i.t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		must(i.t, rows.Scan(&name))
		names = append(names, name)
	}
	must(i.t, rows.Err())
	return names, on
}

// interrupt does something that may hide changes from the journal, and changes rows
// meanwhile. It reports whether the journal must start over.
func (i *interfered) interrupt() (name string, anew bool) {
	if i.mysql() {
		return i.interruptMySQL(), true
	}
	names, on := i.triggerNames()
	i.rnd.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	var all []string
	name = "some triggers dropped"
	switch n := i.rnd.IntN(5); {
	case n == 0:
		name = "the table made again"
		all = append(all, "DROP TABLE posts", createPosts)
	case n == 1 && i.name == "postgres":
		name = "triggers disabled for a while"
		all = append(all, "ALTER TABLE posts DISABLE TRIGGER ALL")
		all = append(append(all, i.writes()...), "ALTER TABLE posts ENABLE TRIGGER ALL")
	case n == 2:
		name = "our triggers dropped and made again"
		before := i.rows()
		args := []string{"--db", i.flag, "--table", "posts", "--drop"}
		if status, _, stderr := runTriggersCommand(i.t, args...); status != 0 {
			i.t.Fatal(stderr)
		}
		i.others(i.writes()...)
		if status, _, stderr := runTriggersCommand(i.t, i.flags("--apply")...); status != 0 {
			i.t.Fatal(stderr)
		}
		return name, !maps.Equal(i.rows(), before) // the changes may be of rows that are not listed
	default:
		for _, trigger := range names[:1+i.rnd.IntN(len(names))] {
			all = append(all, "DROP TRIGGER "+trigger+on)
		}
	}
	i.others(append(all, i.writes()...)...)
	return name, true
}

// leave does something that hides no changes.
func (i *interfered) leave() string {
	i.columns++
	switch i.rnd.IntN(6) {
	case 4:
		for _, args := range [][]string{{"--db", i.flag, "--table", "posts", "--drop"}, i.flags("--apply")} {
			if status, _, stderr := runTriggersCommand(i.t, args...); status != 0 {
				i.t.Fatal(stderr)
			}
		}
		return "our triggers dropped and applied again"
	case 0:
		i.others(fmt.Sprintf("CREATE INDEX posts_%d ON posts (size)", i.columns))
		return "an index"
	case 1:
		i.others(fmt.Sprintf("ALTER TABLE posts ADD COLUMN more%d INT", i.columns))
		return "a column"
	case 2:
		i.others(fmt.Sprintf("CREATE TABLE other%d (id INT)", i.columns), fmt.Sprintf("DROP TABLE other%d", i.columns))
		return "another table"
	case 3:
		if status, _, stderr := runTriggersCommand(i.t, i.flags("--apply")...); status != 0 {
			i.t.Fatal(stderr)
		}
		return "our triggers applied again"
	}
	return "nothing"
}

// newest returns the time at which the state of the journal last changed.
func (i *interfered) newest() (at int64) {
	i.t.Helper()
	if !i.mysql() {
		must(i.t, i.db.QueryRowContext(i.t.Context(), "SELECT last FROM rs_set WHERE name = 'posts'").Scan(&at))
	}
	return at
}

// save copies the database, which no process uses now.
func (i *interfered) save() {
	i.saved = i.newest()
	switch i.name {
	case "mysql":
		i.saveMySQL()
		return
	case "sqlite":
		i.backup = i.flag + ".backup"
		os.Remove(i.backup)
		i.exec(i.t, "VACUUM INTO '"+i.backup+"'")
		return
	}
	i.backup = i.databaseName() + "_backup"
	i.admin("DROP DATABASE IF EXISTS "+i.backup, "CREATE DATABASE "+i.backup+" TEMPLATE "+i.databaseName())
}

// restore puts the copy in place of the database.
func (i *interfered) restore() {
	switch i.name {
	case "mysql":
		i.restoreMySQL()
		return
	case "sqlite":
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(i.flag + suffix)
		}
		text, err := os.ReadFile(i.backup)
		must(i.t, err)
		must(i.t, os.WriteFile(i.flag, text, 0o600))
		i.exec(i.t, "PRAGMA journal_mode=wal")
		return
	}
	i.admin("DROP DATABASE "+i.databaseName()+" WITH (FORCE)", "CREATE DATABASE "+i.databaseName()+" TEMPLATE "+i.backup)
}

func (i *interfered) databaseName() string {
	u, err := url.Parse(i.flag)
	must(i.t, err)
	return strings.TrimPrefix(u.Path, "/")
}

// admin runs statements about databases.
func (i *interfered) admin(statements ...string) {
	i.t.Helper()
	db, err := gosql.Open("pgx", needs.Variable(i.t, postgres))
	must(i.t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(context.WithoutCancel(i.t.Context()), s); err != nil {
			i.t.Fatalf("%s: %v", s, err)
		}
	}
}

// rows returns the sizes of the published rows.
func (i *interfered) rows() map[string]int {
	i.t.Helper()
	all := map[string]int{}
	rows, err := i.db.QueryContext(i.t.Context(), "SELECT slug, size FROM posts WHERE "+i.where)
	must(i.t, err)
	defer rows.Close()
	for rows.Next() {
		var slug string
		var size int
		must(i.t, rows.Scan(&slug, &size))
		all[slug] = size
	}
	must(i.t, rows.Err())
	return all
}

// compare runs the Destination once, when all changes are published, and returns the from of
// the Change List.
func (i *interfered) compare(round string) (from string) {
	t := i.t
	t.Helper()
	if i.mysql() {
		i.awaitList()
	} else {
		i.s.until("no change waits", func() bool {
			var n int
			return i.db.QueryRowContext(t.Context(), "SELECT count(*) FROM rs_pending").Scan(&n) == nil && n == 0
		})
	}
	if status, stdout, stderr := runMirror(t, i.s.site, i.copy, "--max-delete", "100%", "--allow-addresses", "127.0.0.0/8", "--rate", "100000"); status != 0 {
		t.Fatalf("%s: status %d: %s%s", round, status, stdout, stderr)
	}
	want := map[string]string{}
	for slug, size := range i.rows() {
		want[slug] = strings.Repeat("x", size)
	}
	got := map[string]string{}
	for name, text := range contents(t, i.copy) {
		got[filepath.Base(name)] = text
	}
	if !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: the copy has %d bytes of %s, and the table %d", round, len(got[name]), name, len(want[name]))
			}
		}
		t.Fatalf("%s: the copy has %d resources, and the table %d:\n%s", round, len(got), len(want), i.s.stderr)
	}
	return i.s.document(i.s.site+"resourcesync/changelist.xml", "changelist").Metadata.From
}

// TestTableInterfered has another process drop, alter and restore triggers, tables and
// databases at random, while the program starts and stops. After each round and one run of a
// Destination, the copy equals the table. The journal has started over only if it could have
// missed changes, and never in MariaDB, where comparisons find them. RESOURCESYNC_ROUNDS is
// the number of rounds.
func TestTableInterfered(t *testing.T) {
	needs.Time(t)
	rounds := sizeFrom("RESOURCESYNC_ROUNDS", needs.Size(3, 5))
	seed := rand.Uint64()
	tableEngines(t, func(t *testing.T, e *tableEngine) {
		t.Parallel() // most of the time is spent waiting for the next proof
		t.Logf("seed %d", seed)
		if e.name == "postgres" {
			own(t, e)
		}
		e.db.SetMaxIdleConns(0) // so that the database can be restored
		i := newInterfered(t, e, seed)
		i.others(i.writes()...)
		i.applyTriggers()
		defer i.stop()
		i.start()
		from := i.compare("the start")
		interrupted := 0
		for round := range rounds {
			i.others(i.writes()...)
			running := i.rnd.IntN(3) > 0
			name, anew := "", false
			switch n := i.rnd.IntN(10); {
			case n < 4:
				if !running {
					i.stop()
				}
				name = i.leave()
			case n == 4:
				i.stop()
				i.where = map[string]string{"hidden = 0": "hidden = 0 AND id < 15", "hidden = 0 AND id < 15": "hidden = 0"}[i.where]
				name = "another condition"
			case n < 7 && i.backup != "":
				i.compare("before a restore") // so that the Destination has what is lost
				i.stop()
				name, anew = "a backup restored", e.name == "postgres" || i.newest() != i.saved // or nothing is lost
				i.restore()
				i.backup = ""
			default:
				if !running {
					i.stop()
				}
				name, anew = i.interrupt()
			}
			missed := anew
			anew = anew && !i.mysql()
			switch itself := i.s != nil && missed && i.rnd.IntN(2) == 0; {
			case itself && i.mysql():
				i.ping()
			case itself: // the program notices by itself
				i.s.until("the journal starts over", func() bool {
					return i.s.document(i.s.site+"resourcesync/changelist.xml", "changelist").Metadata.From > from
				})
			default:
				i.stop()
			}
			if i.s == nil {
				i.start()
			}
			i.others(i.writes()...)
			label := fmt.Sprintf("round %d, %s, running %v", round, name, running)
			now := i.compare(label)
			t.Log(label, now > from)
			if (now > from) != anew {
				t.Errorf("%s: from was %s, and is %s", label, from, now)
			}
			from = now
			if missed {
				interrupted++
			}
			if i.backup == "" && i.rnd.IntN(2) == 0 {
				i.stop()
				i.save()
				i.start()
			}
		}
		t.Logf("%d rounds, in %d of which something could be missed", rounds, interrupted)
	})
}

// own gives the test a database of its own, which can be restored.
func own(t *testing.T, e *tableEngine) {
	t.Helper()
	server := needs.Variable(t, postgres)
	u, err := url.Parse(server)
	must(t, err)
	name := "interfered_" + strings.ToLower(cryptorand.Text())
	i := &interfered{t: t, tableEngine: e}
	i.admin("CREATE DATABASE " + name)
	u.Path = "/" + name
	e.flag, e.state, e.dsn[1] = u.String(), u.String(), u.String()
	must(t, e.db.Close())
	e.db, err = gosql.Open("pgx", e.dsn[1])
	must(t, err)
	t.Cleanup(func() {
		i.admin("DROP DATABASE IF EXISTS "+name+"_backup", "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
	})
	e.exec(t, createPosts)
}
