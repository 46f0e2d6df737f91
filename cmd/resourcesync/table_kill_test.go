package main

import (
	"context"
	gosql "database/sql"
	"encoding/xml"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// storm is an environment variable that makes TestTableWriter write to a table. It has
// the form "ENGINE CHANGES"; stormDSN has the data source name.
const (
	storm    = "RESOURCESYNC_TEST_STORM"
	stormDSN = "RESOURCESYNC_TEST_STORM_DSN"

	stormWriters = 4
	stormRows    = 500
)

// createVersions makes the table that counts the committed changes of each row of posts,
// including its deletions.
const createVersions = `CREATE TABLE versions (id BIGINT NOT NULL PRIMARY KEY, version BIGINT NOT NULL)`

// TestTableWriter is not a test. It writes until it is killed or has made its changes.
func TestTableWriter(t *testing.T) {
	engine, number, _ := strings.Cut(os.Getenv(storm), " ")
	if engine == "" {
		t.Skip("only a process of TestTableKilled")
	}
	drivers := map[string]string{"mysql": "mysql", "postgres": "pgx", "sqlite": "sqlite"}
	db, err := gosql.Open(drivers[engine], os.Getenv(stormDSN))
	must(t, err)
	want, err := strconv.Atoi(number)
	must(t, err)
	var left atomic.Int64
	var done int64
	must(t, db.QueryRowContext(t.Context(), "SELECT coalesce(sum(version), 0) FROM versions").Scan(&done))
	left.Store(int64(want) - done)
	g, ctx := errgroup.WithContext(t.Context())
	for range stormWriters {
		g.Go(func() error {
			for left.Load() > 0 && ctx.Err() == nil {
				n, err := writeSome(ctx, db, engine)
				if err != nil && !isConflict(err) {
					return err
				}
				left.Add(int64(-n))
			}
			return ctx.Err()
		})
	}
	must(t, g.Wait())
}

// isConflict reports whether the database has rolled a transaction back for another one.
func isConflict(err error) bool {
	for _, text := range []string{"Deadlock", "deadlock", "Lock wait", "locked", "40P01", "40001"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// writeSome makes some changes in a transaction, which it rolls back at times. It returns
// the number of committed changes. Each change of a row has a version of its own: the
// first statement about a row locks it to the end of the transaction.
func writeSome(ctx context.Context, db *gosql.DB, engine string) (n int, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	mark := func(sql string) string {
		if engine != "mysql" {
			return sql
		}
		for i := range 3 {
			sql = strings.ReplaceAll(sql, "$"+strconv.Itoa(i+1), "?")
		}
		return sql
	}
	exec := func(sql string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, mark(sql), args...)
		}
	}
	for range 1 + rand.IntN(5) {
		id := rand.IntN(stormRows)
		exec("UPDATE versions SET version = version + 1 WHERE id = $1", id)
		var version int64
		if err == nil {
			err = tx.QueryRowContext(ctx, mark("SELECT version FROM versions WHERE id = $1"), id).Scan(&version)
		}
		switch rand.IntN(6) {
		case 0:
			exec("DELETE FROM posts WHERE id = $1", id)
		case 1: // a new row with the key of the former one
			exec("DELETE FROM posts WHERE id = $1", id)
			exec("INSERT INTO posts (id, slug, size) VALUES ($1, $2, $3)", id, "p"+strconv.Itoa(id), version)
		default:
			upsert := "INSERT INTO posts (id, slug, size) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET size = excluded.size"
			if engine == "mysql" {
				upsert = "INSERT INTO posts (id, slug, size) VALUES ($1, $2, $3) ON DUPLICATE KEY UPDATE size = VALUES(size)"
			}
			exec(upsert, id, "p"+strconv.Itoa(id), version)
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	if rand.IntN(5) == 0 {
		return 0, nil
	}
	return n, tx.Commit()
}

// A tableReplica is a Destination that follows the Change Lists of a table, and records
// violations.
type tableReplica struct {
	last     string            // the datetime of the newest change
	seen     map[string]bool   // datetimes
	newest   map[string]int64  // the versions of resources, also of deleted ones
	rows     map[string]int64  // the resources that exist
	entries  map[string]string // the last entry of each resource
	changes  int
	failures []string
}

func (f *tableReplica) fail(format string, args ...any) {
	if len(f.failures) < 10 {
		f.failures = append(f.failures, fmt.Sprintf(format, args...))
	}
}

// read reads the Change List, or the parts of an index that may have new changes.
func (f *tableReplica) read(get func(url string) (document, error)) error {
	d, err := get("resourcesync/changelist.xml")
	if err != nil {
		return err
	}
	all := d.Entries
	for i, part := range d.Parts {
		if i+1 < len(d.Parts) && d.Parts[i+1].Metadata.From <= f.last {
			continue
		}
		list, err := get(part.Loc)
		if err != nil {
			return err
		}
		all = append(all, list.Entries...)
	}
	newest := f.last
	for _, e := range all {
		at := e.Metadata.Datetime
		if f.seen[at] {
			continue
		}
		f.seen[at] = true
		f.changes++
		if at <= f.last {
			f.fail("%s %s of %s was published after a change of %s", e.Metadata.Change, e.Loc, at, f.last)
		}
		newest = max(newest, at)
		if entry := e.Metadata.Change + " " + e.Metadata.Length; e.Metadata.Change != "created" && f.entries[e.Loc] == entry {
			f.fail("%s %s is published twice", entry, e.Loc)
		} else {
			f.entries[e.Loc] = entry
		}
		if e.Metadata.Change == "deleted" {
			delete(f.rows, e.Loc)
			continue
		}
		version, _ := strconv.ParseInt(e.Metadata.Length, 10, 64)
		if version <= f.newest[e.Loc] {
			f.fail("version %d of %s was published after version %d", version, e.Loc, f.newest[e.Loc])
		}
		f.newest[e.Loc], f.rows[e.Loc] = version, version
	}
	f.last = newest
	return nil
}

// compare returns an error if the replica differs from the table.
func (f *tableReplica) compare(ctx context.Context, db *gosql.DB) error {
	rows, err := db.QueryContext(ctx, "SELECT slug, size FROM posts")
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var slug string
		var size int64
		if err := rows.Scan(&slug, &size); err != nil {
			return err
		}
		n++
		if f.rows[publicURL+slug] != size {
			return fmt.Errorf("the table has version %d of %s, the replica %d", size, slug, f.rows[publicURL+slug])
		}
	}
	if n != len(f.rows) {
		return fmt.Errorf("the table has %d rows, the replica %d", n, len(f.rows))
	}
	return rows.Err()
}

// A tableStorm is a table, processes that write to it, a process that publishes it, and
// a Destination that follows.
type tableStorm struct {
	t         *testing.T
	e         *tableEngine
	changes   int
	endless   bool // the writer does not end by itself
	program   string
	publisher *process
	writer    *exec.Cmd
	replica   *tableReplica
}

// startTableStorm creates the tables, and starts the publisher, which is ready, and the
// writer. An endless writer makes changes until it fails.
func startTableStorm(t *testing.T, e *tableEngine, changes int, endless bool) *tableStorm {
	t.Helper()
	e.exec(t, createVersions)
	var rows []string
	for id := range stormRows {
		rows = append(rows, fmt.Sprintf("(%d, 0)", id))
	}
	e.exec(t, "INSERT INTO versions VALUES "+strings.Join(rows, ", "))
	if status, _, stderr := runTriggersCommand(t, e.args("--apply")...); status != 0 {
		t.Fatal(stderr)
	}
	program, err := os.Executable()
	must(t, err)
	s := &tableStorm{
		t: t, e: e, changes: changes, endless: endless, program: program,
		publisher: &process{served: &served{t: t}},
		replica:   &tableReplica{seen: map[string]bool{}, newest: map[string]int64{}, rows: map[string]int64{}, entries: map[string]string{}},
	}
	s.publish()
	s.publisher.stdout.await("Ready") // so that the journal has everything
	s.write()
	return s
}

func (s *tableStorm) publish() {
	p := s.publisher
	p.stdout, p.stderr = newOutput(s.t), newOutput(s.t)
	args := s.e.args("--state", s.e.state, "--rescan", "20s", "--max-delete", "100%", "--base-url", "https://rs.example.org/")
	p.Cmd = exec.CommandContext(s.t.Context(), s.program, append([]string{"table", "--listen", "127.0.0.1:0"}, args...)...)
	p.Env = append(os.Environ(), beMain+"=1", "XDG_CACHE_HOME="+s.t.TempDir())
	p.Stdout, p.Stderr = p.stdout, p.stderr
	must(s.t, p.Start())
	p.awaitListening()
}

// write starts a writer for the remaining changes.
func (s *tableStorm) write() {
	changes := s.changes
	if s.endless {
		changes = math.MaxInt32
	}
	s.writer = exec.CommandContext(s.t.Context(), s.program, "-test.run=^TestTableWriter$")
	s.writer.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", storm, s.e.name, changes), stormDSN+"="+s.e.dsn[1])
	s.writer.Stderr = os.Stderr
	must(s.t, s.writer.Start())
}

// follow lets the replica follow for a random time, which grows with the number of
// changes.
func (s *tableStorm) follow() {
	spread := time.Duration(max(1, s.changes/10_000)) * time.Millisecond
	for end := time.Now().Add(time.Duration(200+rand.IntN(1300)) * spread); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		s.replica.read(s.get) // it may be starting
	}
}

func (s *tableStorm) get(url string) (document, error) {
	return tryDocument(strings.Replace(url, "https://rs.example.org/", s.publisher.site, 1), s.publisher.site)
}

// committed returns the number of changes that have been committed.
func (s *tableStorm) committed() (n int) {
	must(s.t, s.e.db.QueryRowContext(s.t.Context(), "SELECT sum(version) FROM versions").Scan(&n))
	return n
}

// finish waits until the replica equals the table.
func (s *tableStorm) finish() {
	t, f := s.t, s.replica
	t.Helper()
	must(t, s.writer.Wait())
	for until := time.Now().Add(20 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := f.read(s.get)
		if err == nil {
			err = f.compare(t.Context(), s.e.db)
		}
		if err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%v\n%s", err, s.publisher.stderr)
		}
	}
	committed := s.committed()
	t.Logf("%d changes committed, %d published, %d rows", committed, f.changes, len(f.rows))
	for _, failure := range f.failures {
		t.Error(failure)
	}
	if committed < s.changes {
		t.Errorf("%d changes were committed, of %d", committed, s.changes)
	}
}

// TestTableKilled kills both the writers of a table and the program that publishes it, at
// random moments, while a Destination follows. In the end, the copy equals the table, and
// nothing has been published twice or out of order. RESOURCESYNC_KILLS and
// RESOURCESYNC_TORTURE are the numbers of kills and changes.
func TestTableKilled(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	kills, changes := sizeFrom("RESOURCESYNC_KILLS", 2), sizeFrom("RESOURCESYNC_TORTURE", needs.Size(200, 400))
	tableEngines(t, func(t *testing.T, e *tableEngine) {
		s := startTableStorm(t, e, changes, false)
		for i := range kills {
			s.follow()
			if i%2 == 0 {
				s.publisher.kill()
				s.publish()
			} else {
				s.writer.Process.Kill()
				s.writer.Wait()
				s.write()
			}
		}
		s.finish()
	})
}

// sizeFrom returns the number in an environment variable.
func sizeFrom(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// tryDocument gets a document of a Source that may be down.
func tryDocument(url, site string) (d document, err error) {
	if !strings.Contains(url, "://") {
		url = site + url
	}
	res, err := http.Get(url)
	if err != nil {
		return d, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return d, fmt.Errorf("%s: %s", url, res.Status)
	}
	return d, xml.NewDecoder(res.Body).Decode(&d)
}
