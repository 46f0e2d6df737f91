package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// TestMigrations: any number of processes may migrate at the same time, repeatedly, and
// a program does not touch the tables of a newer one.
func TestMigrations(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s, closeStore, err := db.connect(t.Context(), nil)
				if err != nil {
					t.Error(err)
					return
				}
				defer closeStore()
				if _, err := s.Set(t.Context(), "papers", nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := db.open(t, nil)
		if n := count(t, s, "SELECT count(*) FROM rs_set"); n != 1 {
			t.Errorf("%d sets were made", n)
		}
		if _, err := newWriter(t, db).db.Exec("INSERT INTO rs_migration (number) VALUES (1000)"); err != nil {
			t.Fatal(err)
		}
		if _, _, err := db.connect(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "newer") {
			t.Errorf("tables of a newer program: %v", err)
		}
	})
}

// TestSets: a store returns the names of its sets, but not of its journals.
func TestSets(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		s := db.open(t, nil)
		for _, name := range []string{"reports", "papers"} {
			if _, err := s.Set(t.Context(), name, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Journal(t.Context(), "log"); err != nil {
			t.Fatal(err)
		}
		if names, err := s.Sets(t.Context()); err != nil || !slices.Equal(names, []string{"papers", "reports"}) {
			t.Errorf("%q, %v", names, err)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	if _, err := OpenFile(t.Context(), filepath.Join(t.TempDir(), "missing", "state.db"), nil); err == nil {
		t.Error("a file in a folder that does not exist was opened")
	}
	db := newSQLite(t)
	if _, _, err := db.connect(t.Context(), &Options{Window: 1}); err == nil || !strings.Contains(err.Error(), "Window") {
		t.Errorf("a window of a nanosecond: %v", err)
	}
	if err := os.WriteFile(string(db), []byte(strings.Repeat("this is not a database", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.connect(t.Context(), nil); err == nil {
		t.Error("a text was opened as a database")
	}
}

// TestRun: changes that another connection commits become visible, watchers of all
// processes are woken, and Run ends when it is told to.
func TestRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store, other := db.open(t, nil), db.open(t, nil)
		run(t, store)
		run(t, other)
		set := store.mustSet(t, "articles", nil)
		host := newWriter(t, db)
		woken := make(chan struct{}, 1)
		for _, s := range []*Store{store, other} {
			watched := s.mustSet(t, "articles", nil)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- watched.Watch(ctx, func() { background.Signal(woken) }) }()
			<-woken // to begin with
			for version := range 3 {
				err := host.transaction(t.Context(), func(tx *sql.Tx) error {
					return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Updated, "a", version+1))
				})
				if err != nil {
					t.Fatal(err)
				}
				eventually(t, func() error {
					<-woken
					if got := articlesOf(t, watched)["a"]; got != small("a", version+1).Type {
						return context.DeadlineExceeded
					}
					return nil
				})
			}
			cancel()
			if err := <-ended; err != context.Canceled {
				t.Errorf("Watch returned %v", err)
			}
		}
		if err := store.Health(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// awaitTakeover waits for a key that only the next process can number, and fails if no process
// takes over for 5 s. A busy machine is allowed more: ordinary is the time that numbering a
// change has just taken.
func awaitTakeover(t *testing.T, set *Set, key string, ordinary time.Duration) {
	t.Helper()
	left := time.Now()
	eventually(t, func() error { return awaitKey(t, set, key) })
	if took := time.Since(left); took > 5*time.Second+10*ordinary {
		t.Errorf("taken over within %v", took)
	}
}

// TestReadOnly: a store that cannot be written to reports this, and can still be read.
func TestReadOnly(t *testing.T) {
	const poolSize = 12
	db := newSQLite(t)
	rows, err := sqlitedb.Open(t.Context(), string(db), poolSize)
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStore(t.Context(), rows, os.DirFS("sqlitestore"), &Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	set := store.mustSet(t, "articles", nil)
	if err := set.Put(t.Context(), small("a", 1), small("b", 1)); err != nil {
		t.Fatal(err)
	}
	queryOnly := func(on string, connections int) {
		t.Helper()
		// As if the file system had been mounted read-only, because root may write to
		// everything.
		var take func(n int) error
		take = func(n int) error {
			if n == 0 {
				return nil
			}
			return store.db.Do(t.Context(), func(c rowdb.Conn) error {
				return errors.Join(c.Script(t.Context(), "PRAGMA query_only = "+on), take(n-1))
			})
		}
		if err := take(connections); err != nil {
			t.Fatal(err)
		}
	}
	queryOnly("ON", poolSize)
	if err := set.Put(t.Context(), small("c", 1)); err == nil || !strings.Contains(err.Error(), "readonly") {
		t.Errorf("a put: %v", err)
	}
	host := newWriter(t, db)
	record := func() {
		t.Helper()
		err := host.transaction(t.Context(), func(tx *sql.Tx) error {
			return set.Record(t.Context(), SQLTx(tx), change(resourcesync.Created, "d", 1))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	record()
	run(t, store)
	eventually(t, func() error {
		if err := store.Health(t.Context()); err == nil || !strings.Contains(err.Error(), "readonly") {
			return context.DeadlineExceeded
		}
		return nil
	})
	if got := articlesOf(t, set); len(got) != 2 {
		t.Errorf("the set has %v", got)
	}
	if cuts, err := set.Cuts(t.Context(), nil, 1); err != nil || len(cuts) != 2 {
		t.Errorf("cuts: %v, %v", cuts, err)
	}
	if windows, err := set.Windows(t.Context(), 1); err != nil || len(windows) != 2 {
		t.Errorf("windows: %v, %v", windows, err)
	}
	queryOnly("OFF", poolSize-1) // one listens
	eventually(t, func() error { return awaitKey(t, set, "d") })
	eventually(t, func() error { return store.Health(t.Context()) })
}

// brokenDB is a database whose connections fail.
type brokenDB struct {
	rowdb.DB
	broken atomic.Bool
}

func (db *brokenDB) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	return db.Do(ctx, func(c rowdb.Conn) error { return c.Query(ctx, sql, each, args...) })
}

func (db *brokenDB) Do(ctx context.Context, f func(rowdb.Conn) error) error {
	if db.broken.Load() {
		return errors.New("broken")
	}
	return db.DB.Do(ctx, f)
}

// TestWorksAgain: failed work is retried until it succeeds, even without further
// changes, and the log has both events.
func TestWorksAgain(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	store := newSQLite(t).open(t, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	set := store.mustSet(t, "articles", nil)
	db := &brokenDB{DB: store.db}
	store.db = db
	woken := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- set.Watch(ctx, func() { background.Signal(woken) }) }()
	<-woken
	db.broken.Store(true)
	run(t, store)
	lines := func(words string, want int) func() error {
		return func() error {
			for _, work := range []string{"sequencing", "watching", "following"} {
				if got := strings.Count(log.String(), words+`" work=`+work); got != want {
					return fmt.Errorf("%d lines say that %s %s, expected %d:\n%s", got, work, words, want, log.String())
				}
			}
			return nil
		}
	}
	const failed, works = "background work of the store has failed and is retried", "background work of the store has recovered"
	eventually(t, lines(failed, 1))
	db.broken.Store(false)
	eventually(t, lines(works, 1))
	if err := store.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if err := lines(failed, 1)(); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
