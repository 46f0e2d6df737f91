package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// lines are the lines of the log.
type lines struct {
	mu  sync.Mutex
	all strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}

// recordAlone records a change in a transaction of its own.
func recordAlone(t *testing.T, db database, set *Set, key string) {
	t.Helper()
	tx, commit, _ := ways(db)[0].begin(t, db)
	change := resourcesync.Change{Type: resourcesync.Created, Resource: small(key, 1)}
	if err := errors.Join(set.Record(t.Context(), tx, change), commit()); err != nil {
		t.Fatal(err)
	}
}

// TestD12_StoreIsNotRun logs, without being asked, that no process runs the store, and
// then that one does, in this process or in another.
func TestD12_StoreIsNotRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		log := new(lines)
		store := db.open(t, &Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		store.idle.timeout = time.Second
		set := store.mustSet(t, "papers", nil)
		recordAlone(t, db, set, "a")
		if err := store.Health(t.Context()); err != nil {
			t.Errorf("at once: %v", err)
		}
		until(t, "it is logged", func() bool { return log.count("no process runs the store") == 1 })
		for range 2 {
			if err := store.Health(t.Context()); !errors.Is(err, errNotRun) {
				t.Errorf("%v", err)
			}
		}
		other := db.open(t, nil)
		run(t, other)
		until(t, "another process has taken it up", func() bool { return store.Health(t.Context()) == nil })
		recordAlone(t, db, set, "b")
		until(t, "it is in the set", func() bool { _, found, _ := set.Get(t.Context(), "b"); return found })
		time.Sleep(2 * store.idle.timeout) // what must not happen has had its time
		if log.count("no process runs the store") != 1 || log.count("has recovered") != 1 || store.Health(t.Context()) != nil {
			t.Errorf("%v, logged %s", store.Health(t.Context()), &log.all)
		}
	})
}

// TestD12_ClosedStoreLooksNoMore: Close leaves no timer behind.
func TestD12_ClosedStoreLooksNoMore(t *testing.T) {
	store, closeStore, err := newSQLite(t).connect(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	store.expectRun()
	closeStore()
	store.expectRun()
	if store.idle.timer.Stop() {
		t.Error("a timer is still set")
	}
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not true: %s", what)
		}
	}
}
