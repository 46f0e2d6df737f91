package rowdb_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// each runs a test on an empty database of every engine. open returns another handle of
// the same database, as another process would have.
func each(t *testing.T, test func(t *testing.T, open func() rowdb.DB)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "test.db")
		test(t, func() rowdb.DB {
			db, err := sqlitedb.Open(t.Context(), path, 6)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			return db
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES")
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		schema := "Rowdb_" + strings.ToLower(rand.Text())
		admin := connect(t, dsn)
		if _, err := admin.Exec(t.Context(), fmt.Sprintf("CREATE SCHEMA %q", schema)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { admin.Exec(context.Background(), fmt.Sprintf("DROP SCHEMA %q CASCADE", schema)) })
		q := u.Query()
		q.Set("search_path", fmt.Sprintf("%q", schema))
		u.RawQuery = q.Encode()
		test(t, func() rowdb.DB {
			db, err := pgdb.New(t.Context(), connect(t, u.String()))
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("%q", schema); db.Schema() != want {
				t.Errorf("the schema is %s, expected %s", db.Schema(), want)
			}
			return db
		})
	})
}

func connect(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// table makes a table of numbers.
func table(t *testing.T, db rowdb.DB) {
	t.Helper()
	err := db.Update(t.Context(), func(c rowdb.Conn) error {
		return c.Script(t.Context(), "CREATE TABLE numbers (n BIGINT, name VARCHAR(100))")
	})
	if err != nil {
		t.Fatal(err)
	}
}

func insert(c rowdb.Conn, n int) error {
	_, err := c.Exec(context.Background(), "INSERT INTO numbers (n) VALUES ($1)", n)
	return err
}

func numbers(t *testing.T, db rowdb.DB) []int64 {
	t.Helper()
	all, err := rowdb.All(t.Context(), db, rowdb.Int, "SELECT n FROM numbers ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestValues(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		blob := "bytea"
		if db.Dialect() == rowdb.SQLite {
			blob = "BLOB"
		}
		err := db.Do(t.Context(), func(c rowdb.Conn) error {
			return c.Script(t.Context(), "CREATE TABLE v (i bigint, s text, b "+blob+")")
		})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("long", 5000)
		rows := [][]any{
			{1, "text", []byte("\x00\xff")},
			{int64(-1 << 62), "", []byte{}},
			{nil, nil, nil},
			{3, long, []byte(long)},
		}
		err = db.Update(t.Context(), func(c rowdb.Conn) error {
			return c.ExecEach(t.Context(), "INSERT INTO v (i, s, b) VALUES ($1, $2, $3)", len(rows), func(i int) []any { return rows[i] })
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = db.Do(t.Context(), func(c rowdb.Conn) error {
			return c.Query(t.Context(), "SELECT i, s, b, i IS NULL FROM v", func(r rowdb.Row) error {
				got = append(got, fmt.Sprint(r.Int(0), rowdb.String(r, 1), string(r.Append([]byte("+"), 2)), r.Null(0), r.Null(1), r.Null(2), r.Int(3)))
				return nil
			})
		})
		want := []string{
			fmt.Sprint(1, "text", "+\x00\xff", false, false, false, 0),
			fmt.Sprint(int64(-1<<62), "", "+", false, false, false, 0),
			fmt.Sprint(0, "", "+", true, true, true, 1),
			fmt.Sprint(3, long, "+"+long, false, false, false, 0),
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%.1000q, %v, expected %.1000q", got, err, want)
		}
		err = db.Do(t.Context(), func(c rowdb.Conn) error { return c.Query(t.Context(), "SELECT $1", nil, 1.5) })
		if err == nil || !strings.Contains(err.Error(), "float64") {
			t.Errorf("a number with a fraction as an argument: %v", err)
		}
	})
}

// TestEach runs a statement more often than fits into one batch.
func TestEach(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		table(t, db)
		const n = 2500
		err := db.Update(t.Context(), func(c rowdb.Conn) error {
			return c.ExecEach(t.Context(), "INSERT INTO numbers (n) VALUES ($1)", n, func(i int) []any { return []any{i} })
		})
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		err = db.Do(t.Context(), func(c rowdb.Conn) error {
			return c.QueryEach(t.Context(), "SELECT CAST($1 AS bigint)", n,
				func(i int) []any { return []any{i} },
				func(i int, r rowdb.Row) error {
					if i != next || r.Int(0) != int64(i) {
						t.Errorf("row %d of run %d, after run %d", r.Int(0), i, next-1)
					}
					next++
					return nil
				})
		})
		if err != nil || next != n {
			t.Errorf("%d rows, %v", next, err)
		}
		stop := errors.New("stop")
		err = db.Do(t.Context(), func(c rowdb.Conn) error {
			err := c.Query(t.Context(), "SELECT n FROM numbers", func(rowdb.Row) error { return stop })
			if err != stop {
				t.Errorf("stopped by %v", err)
			}
			return insert(c, -1) // the connection is as good as new
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db, other := open(), open()
		table(t, db)
		fail := errors.New("fail")
		err := db.Update(t.Context(), func(c rowdb.Conn) error { return errors.Join(insert(c, 1), fail) })
		if !errors.Is(err, fail) {
			t.Errorf("failed by %v", err)
		}
		func() {
			defer func() { recover() }()
			db.Update(t.Context(), func(c rowdb.Conn) error {
				insert(c, 2)
				panic("in a transaction")
			})
		}()
		ctx, cancel := context.WithCancel(t.Context())
		err = db.Update(ctx, func(c rowdb.Conn) error {
			err := insert(c, 3)
			cancel()
			return err
		})
		if err != context.Canceled {
			t.Errorf("canceled: %v", err)
		}
		if got := numbers(t, db); got != nil {
			t.Errorf("left are %v", got)
		}

		// One at a time, and each sees the results of the previous ones.
		var wg sync.WaitGroup
		const n = 20
		for i := range 2 * n {
			wg.Go(func() {
				err := []rowdb.DB{db, other}[i%2].Update(context.Background(), func(c rowdb.Conn) error {
					next := 0
					err := c.Query(context.Background(), "SELECT count(*) FROM numbers", func(r rowdb.Row) error { next = int(r.Int(0)); return nil })
					return errors.Join(err, insert(c, next))
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, got := range numbers(t, db) {
			if got != int64(i) {
				t.Fatalf("number %d is %d", i, got)
			}
		}
	})
}

func TestSnapshot(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		table(t, db)
		err := db.Snapshot(t.Context(), func(c rowdb.Conn) error {
			for range 2 {
				n := 0
				err := c.Query(t.Context(), "SELECT n FROM numbers", func(rowdb.Row) error { n++; return nil })
				if err != nil || n != 0 {
					t.Errorf("%d numbers, %v", n, err)
				}
				if err := db.Do(t.Context(), func(c rowdb.Conn) error { return insert(c, 1) }); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		if err != nil || len(numbers(t, db)) != 2 {
			t.Errorf("%v, %v", numbers(t, db), err)
		}
	})
}

// TestStop: a stopped query returns an error, even if its context is done.
func TestStop(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		for name, query := range map[string]func(context.Context, func(rowdb.Row) error) error{
			"query": func(ctx context.Context, each func(rowdb.Row) error) error { return db.Query(ctx, "SELECT 1", each) },
			"snapshot": func(ctx context.Context, each func(rowdb.Row) error) error {
				return db.Snapshot(ctx, func(c rowdb.Conn) error { return c.Query(ctx, "SELECT 1", each) })
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			err := query(ctx, func(rowdb.Row) error { cancel(); return rowdb.ErrStop })
			if err != rowdb.ErrStop {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestSession(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		fail := errors.New("fail")
		for range 3 {
			err := db.Session(t.Context(), func(c rowdb.Conn) error {
				err := c.Script(t.Context(), "CREATE TEMP TABLE mine (n BIGINT); BEGIN; INSERT INTO mine (n) VALUES (1)")
				return errors.Join(err, fail)
			})
			if !errors.Is(err, fail) || strings.Contains(err.Error(), "mine") {
				t.Error(err)
			}
		}
	})
}

func TestTryLock(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db, other := open(), open()
		try := func(db rowdb.DB, n int32) bool {
			t.Helper()
			got, err := db.TryLock(t.Context(), n, func(context.Context) error { return nil })
			if err != nil {
				t.Error(err)
			}
			return got
		}
		fail := errors.New("fail")
		got, err := db.TryLock(t.Context(), 7, func(context.Context) error {
			if try(db, 7) || try(other, 7) {
				t.Error("a lock was taken twice")
			}
			if !try(other, 8) {
				t.Error("another lock is taken too")
			}
			// An idle session that holds a lock is ended after 2 s, unless it stays alive.
			time.Sleep(3 * time.Second)
			if try(other, 7) {
				t.Error("the lock was lost")
			}
			return fail
		})
		if !got || err != fail {
			t.Errorf("%t, %v", got, err)
		}
		if !try(other, 7) {
			t.Error("the lock was not given back")
		}
	})
}

// TestTryLockNamed checks that a lock with a name excludes the same name alone.
func TestTryLockNamed(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db, other := open(), open()
		try := func(name string, during func(context.Context) error) bool {
			t.Helper()
			got, err := other.TryLockNamed(t.Context(), name, during)
			if err != nil {
				t.Error(err)
			}
			return got
		}
		nothing := func(context.Context) error { return nil }
		const name = "s3://site/it's/ at http://127.0.0.1"
		got, err := db.TryLockNamed(t.Context(), name, func(context.Context) error {
			if try(name, nothing) {
				t.Error("a lock was taken twice")
			}
			if !try(name+"/", nothing) {
				t.Error("another lock is taken too")
			}
			return nil
		})
		if !got || err != nil {
			t.Errorf("%t, %v", got, err)
		}
		if !try(name, nothing) {
			t.Error("the lock was not given back")
		}
	})
}

func TestListen(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db, other := open(), open()
		table(t, db)
		ctx, cancel := context.WithCancel(t.Context())
		woken := make(chan struct{}, 100)
		ended := make(chan error)
		go func() { ended <- other.Listen(ctx, func() { woken <- struct{}{} }) }()
		<-woken // to begin with
		for i := range 3 {
			err := db.Update(t.Context(), func(c rowdb.Conn) error { return errors.Join(insert(c, i), c.Notify(t.Context())) })
			if err != nil {
				t.Fatal(err)
			}
			<-woken
		}
		cancel()
		if err := <-ended; err != context.Canceled {
			t.Errorf("Listen returned %v", err)
		}
	})
}

var errBroken = errors.New("broken")

func TestMigrate(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		files := fstest.MapFS{}
		add := func(name, script string) {
			files["migrations/"+name] = &fstest.MapFile{Data: []byte(script)}
		}
		add("0001_first.sql", "CREATE TABLE numbers (n BIGINT);\n-- a comment\nINSERT INTO numbers (n) VALUES (1);\n")
		for range 2 {
			if err := rowdb.Migrate(t.Context(), db, files, nil); err != nil {
				t.Fatal(err)
			}
		}
		add("0002_second.sql", "INSERT INTO numbers (n) VALUES (2)")
		add("0003_broken.sql", "INSERT INTO numbers (n) VALUES (3); NO SQL")
		if err := rowdb.Migrate(t.Context(), db, files, nil); err == nil || !strings.Contains(err.Error(), "0003_broken.sql") {
			t.Errorf("a broken script: %v", err)
		}
		add("0003_broken.sql", "INSERT INTO numbers (n) VALUES (4)")
		if err := rowdb.Migrate(t.Context(), db, files, nil); err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, db); !slices.Equal(got, []int64{1, 2, 4}) {
			t.Errorf("got %v", got)
		}
		add("0004_step.sql", "INSERT INTO numbers (n) VALUES (5)")
		steps := map[int]func(context.Context, rowdb.Conn) error{4: func(ctx context.Context, c rowdb.Conn) error {
			_, err := c.Exec(ctx, "INSERT INTO numbers (n) VALUES (6)")
			return errors.Join(err, errBroken)
		}}
		if err := rowdb.Migrate(t.Context(), db, files, steps); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "0004_step.sql") {
			t.Errorf("a broken step: %v", err)
		}
		steps[4] = func(ctx context.Context, c rowdb.Conn) error {
			_, err := c.Exec(ctx, "UPDATE numbers SET n = 7 WHERE n = 5")
			return err
		}
		for range 2 {
			if err := rowdb.Migrate(t.Context(), db, files, steps); err != nil {
				t.Fatal(err)
			}
		}
		if got := numbers(t, db); !slices.Equal(got, []int64{1, 2, 4, 7}) {
			t.Errorf("after a step: %v", got)
		}
		add("0006_gap.sql", "SELECT 1")
		if err := rowdb.Migrate(t.Context(), db, files, nil); err == nil || !strings.Contains(err.Error(), "number 5") {
			t.Errorf("a gap: %v", err)
		}
		delete(files, "migrations/0006_gap.sql")
		delete(files, "migrations/0004_step.sql")
		if err := rowdb.Migrate(t.Context(), db, files, nil); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("tables of a newer program: %v", err)
		}
	})
}

// TestMigrateNew: a new database gets the tables of new.sql, and one that has tables the scripts that it lacks.
func TestMigrateNew(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		files := fstest.MapFS{
			"migrations/0001_first.sql":  {Data: []byte("CREATE TABLE numbers (n BIGINT); INSERT INTO numbers (n) VALUES (1)")},
			"migrations/0002_second.sql": {Data: []byte("INSERT INTO numbers (n) VALUES (2)")},
			"migrations/new.sql":         {Data: []byte("CREATE TABLE numbers (n BIGINT); NO SQL")},
		}
		db := open()
		if err := rowdb.Migrate(t.Context(), db, files, nil); err == nil || !strings.Contains(err.Error(), "new.sql") {
			t.Errorf("a broken script: %v", err)
		}
		files["migrations/new.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE numbers (n BIGINT); INSERT INTO numbers (n) VALUES (3); INSERT INTO rs_migration (number) VALUES (1), (2)")}
		for want, add := range []string{"", "INSERT INTO numbers (n) VALUES (4)"} {
			if add != "" {
				files["migrations/0003_third.sql"] = &fstest.MapFile{Data: []byte(add)}
			}
			for range 2 {
				if err := rowdb.Migrate(t.Context(), db, files, nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := numbers(t, db); !slices.Equal(got, []int64{3, 4}[:want+1]) {
				t.Errorf("got %v", got)
			}
		}
	})
}

// TestMigrateInTwoSteps: programs that need not know what a script has added use the tables beside
// newer ones, until a later script removes what they use.
func TestMigrateInTwoSteps(t *testing.T) {
	each(t, func(t *testing.T, open func() rowdb.DB) {
		db := open()
		scripts := []string{"CREATE TABLE numbers (n BIGINT)", "INSERT INTO numbers (n) VALUES (2)",
			"-- programs: 2\nINSERT INTO numbers (n) VALUES (3)", "-- programs: 2\nINSERT INTO numbers (n) VALUES (4)",
			"-- programs: 3\nINSERT INTO numbers (n) VALUES (5)", "INSERT INTO numbers (n) VALUES (6)"}
		program := func(knows int) error { // starts a program
			files := fstest.MapFS{}
			for i, script := range scripts[:knows] {
				files[fmt.Sprintf("migrations/%04d_x.sql", i+1)] = &fstest.MapFile{Data: []byte(script)}
			}
			return rowdb.Migrate(t.Context(), db, files, nil)
		}
		for _, step := range []struct {
			start, oldest int // the program that starts, and the oldest one that may start after it
		}{{2, 2}, {3, 2}, {4, 2}, {5, 3}, {6, 6}} {
			for range 2 {
				if err := program(step.start); err != nil {
					t.Fatal(err)
				}
			}
			for knows := 1; knows <= step.start; knows++ {
				err := program(knows)
				if refused := errors.Is(err, rowdb.ErrNewer); refused != (knows < step.oldest) || !refused && err != nil {
					t.Errorf("after program %d, program %d: %v", step.start, knows, err)
				}
			}
		}
		if got := numbers(t, db); !slices.Equal(got, []int64{2, 3, 4, 5, 6}) {
			t.Errorf("got %v", got)
		}
		// Programs of early versions compare this with the number of their scripts.
		if n, err := rowdb.One(t.Context(), db, rowdb.Int, "SELECT max(number) FROM rs_migration"); err != nil || n != 6 {
			t.Errorf("the greatest number is %d, %v", n, err)
		}
	})
}
