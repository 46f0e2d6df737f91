package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	crand "crypto/rand"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A ledger writes to a set, and knows the bytes of every version.
type ledger struct {
	resourcesync.Provider
	set scan.Stored

	mu    sync.Mutex
	bytes map[string][]byte // by digest
	rnd   *rand.Rand
	there map[string]string // contents by URI
	count int
}

func (l *ledger) OpenChange(_ context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	content, ok := l.bytes[c.Resource.Hashes[0].Digest]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// write makes n changes, in writes of up to a hundred.
func (l *ledger) write(t *testing.T, n int) {
	t.Helper()
	for n > 0 {
		var all []resourcesync.Resource
		key := fmt.Sprint(l.rnd.IntN(500))
		uri := resource(key).URI
		if _, found := l.there[uri]; found && l.rnd.IntN(3) == 0 {
			if err := l.set.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			delete(l.there, uri)
			n--
			continue
		}
		for range min(n, 1+l.rnd.IntN(100)) {
			l.count++
			content := fmt.Sprint("version ", l.count)
			r := describe(fmt.Sprint(l.rnd.IntN(500)), []byte(content))
			l.mu.Lock()
			l.bytes[r.Hashes[0].Digest] = []byte(content)
			l.mu.Unlock()
			all = append(all, r)
			l.there[r.URI] = content
			n--
		}
		if err := l.set.Put(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
	}
}

// unevenClock returns a clock that often stops, and often stands exactly at the
// boundary of a window of an hour.
func unevenClock() func() time.Time {
	var n, micros atomic.Int64
	return func() time.Time {
		now := time.UnixMicro(newYear.UnixMicro() + micros.Load())
		switch i := n.Add(1); {
		case i%400 == 0:
			micros.Store(now.Truncate(time.Hour).Add(time.Hour).UnixMicro() - newYear.UnixMicro())
		case i%3 == 0:
			micros.Add(int64(time.Second / time.Microsecond))
		}
		return now
	}
}

// ledgers runs test with each of our own stores.
func ledgers(t *testing.T, test func(t *testing.T, l *ledger)) {
	begin := func(set scan.Stored) *ledger {
		return &ledger{Provider: set, set: set, bytes: map[string][]byte{}, rnd: rand.New(rand.NewPCG(1, 1)), there: map[string]string{}}
	}
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, begin(memory.New(&memory.Options{Window: time.Hour, Now: unevenClock(), Retain: -1})))
	})
	sql := func(t *testing.T, store *sqlstore.Store) {
		set, err := store.Set(t.Context(), "papers", nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- store.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		test(t, begin(set))
	}
	opts := func() *sqlstore.Options {
		return &sqlstore.Options{Window: time.Hour, Now: unevenClock(), Retain: -1, Logger: slog.New(slog.DiscardHandler)}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlitestore.OpenFile(t.Context(), filepath.Join(t.TempDir(), "state.db"), opts())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		sql(t, store)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store, err := pgstore.Open(t.Context(), postgresPool(t), opts())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		sql(t, store)
	})
}

// A follower is a Destination that applies documents one after the other. It
// continues after the until of the document before, or from that time on.
type follower struct {
	strict   bool
	position time.Time
	copy     map[string]string // what it takes a version for, by URI
	applied  int
}

func (f *follower) isNew(at time.Time) bool {
	return at.After(f.position) || !f.strict && at.Equal(f.position)
}

// apply applies a document whose entries are versions. content returns the bytes of
// each.
func (f *follower) apply(head *rsxml.Head, entries []rsxml.Entry, content func(*rsxml.Entry) string) {
	position := f.position
	for i := range entries {
		e := &entries[i]
		if !f.isNew(e.Metadata.Datetime) {
			continue
		}
		f.applied++
		position = e.Metadata.Datetime
		if e.Metadata.Change == resourcesync.Deleted {
			delete(f.copy, e.Loc)
		} else {
			f.copy[e.Loc] = content(e)
		}
	}
	if f.position = position; !head.Metadata.Until.IsZero() {
		f.position = head.Metadata.Until
	}
}

func followers() []*follower {
	return []*follower{{strict: true, copy: map[string]string{}}, {copy: map[string]string{}}}
}

// check compares the copies with the ledger, by their digests if digests is true.
func (l *ledger) check(t *testing.T, all []*follower, digests bool) {
	t.Helper()
	want := maps.Clone(l.there)
	for uri, content := range want {
		if digests {
			want[uri] = describe("", []byte(content)).Hashes[0].Digest
		}
	}
	for _, f := range all {
		if !maps.Equal(f.copy, want) {
			t.Errorf("strict %t: the copy has %d resources after %d changes, the Source %d", f.strict, len(f.copy), f.applied, len(want))
		}
		// Most changes are overwritten by later ones, so the copies alone would hide a
		// change that is lost at a cut.
		if n := rounds * eachRound; f.applied < n || f.strict && f.applied > n {
			t.Errorf("strict %t: %d changes applied, of %d", f.strict, f.applied, n)
		}
	}
}

func digestOf(e *rsxml.Entry) string { return e.Metadata.Hashes[0].Digest }

// A wire gets documents over a connection.
type wire struct {
	t      *testing.T
	server *httptest.Server
}

func newWire(t *testing.T, src http.Handler) wire {
	w := wire{t, httptest.NewServer(src)}
	t.Cleanup(w.server.Close)
	return w
}

func (w wire) get(loc string) []byte {
	w.t.Helper()
	res, err := w.server.Client().Get(w.server.URL + strings.TrimPrefix(loc, "https://example.org"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		w.t.Fatalf("%s: %s %v", loc, res.Status, err)
	}
	return body
}

func (w wire) decode(loc string) (rsxml.Head, []rsxml.Entry) {
	w.t.Helper()
	head, entries, err := rsxml.Decode(bytes.NewReader(w.get(loc)))
	if err != nil {
		w.t.Fatalf("%s: %v", loc, err)
	}
	return head, entries
}

// contiguous checks that each interval begins where the previous one ends.
func contiguous(t *testing.T, from time.Time, entries []rsxml.Entry) {
	t.Helper()
	for i, e := range entries {
		if i > 0 && !e.Metadata.From.Equal(from) || e.Metadata.Until.IsZero() && i < len(entries)-1 || !e.Metadata.Until.IsZero() && !e.Metadata.Until.After(e.Metadata.From) {
			t.Fatalf("interval %d is from %v until %v; the one before it ends at %v", i, e.Metadata.From, e.Metadata.Until, from)
		}
		from = e.Metadata.Until
	}
}

// unpack returns the manifest of a package, and the contents that it lists.
func (w wire) unpack(loc string) (head rsxml.Head, changes []rsxml.Entry, content func(*rsxml.Entry) string) {
	w.t.Helper()
	body := w.get(loc)
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		w.t.Fatalf("%s: %v", loc, err)
	}
	files := map[string]string{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			w.t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			w.t.Fatal(err)
		}
		files["/"+f.Name] = string(b)
	}
	head, changes, err = rsxml.Decode(strings.NewReader(files["/manifest.xml"]))
	if err != nil {
		w.t.Fatalf("%s: %v", loc, err)
	}
	return head, changes, func(e *rsxml.Entry) string { return files[e.Metadata.Path] }
}

// postgresPool returns connections to a schema of the test's own, if tests have
// PostgreSQL.
func postgresPool(t *testing.T) *pgxpool.Pool {
	t.Helper()
	dsn := needs.Variable(t, "RESOURCESYNC_TEST_POSTGRES")
	schema := "rshttp_" + strings.ToLower(crand.Text())
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return pool
}
