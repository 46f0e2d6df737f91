// Package sqlstore keeps sets of resources and the journals of their changes in
// SQLite, embedded and without set-up, or in PostgreSQL, for any number of
// processes.
//
// A [Set] is a [resourcesync.Provider] with every upgrade that does not need the
// resources' bytes. It is filled by [Set.Scan] from a listing in any order, by
// [Set.Put] and [Set.Delete], or by [Journal.Record] from within a transaction of
// the host's own. A host whose own table is a Provider already takes a
// [Journal] alone:
//
//	rshttp.Set{Provider: papers, Changer: journal, Stater: journal}
//
// # Nothing lost, nothing twice
//
// Record only inserts a row that says what has happened, in the host's
// transaction: commit and journal are one act. Order and time are decided later,
// by the sequencer, which runs inside [Store.Run]: it takes up what has been
// committed, in batches, and gives each change its place in the journal and a
// datetime later than that of every change before it, whatever the clock says.
// Only then is a change visible. So a transaction that commits late, a clock that
// steps back and a process that dies at any point cannot put a change behind one
// that a Destination has seen. One sequencer works at a time; in PostgreSQL the
// others take over within seconds of its death.
//
// A change is visible a few hundredths of a second after its commit: PostgreSQL
// wakes the sequencer, and SQLite is looked at every 20 ms.
//
// Changes of one key are taken in the order in which they were recorded, if they
// come to be committed together. Record after the write that it tells of, when
// the host's transaction has its row, so that the order is the same.
//
// # Triggers
//
// What is written in other languages is journalled by triggers, which insert into
// rs_pending as Record does:
//
//	INSERT INTO rs_pending (set_id, change, key, uri, lastmod, length, type, encoding, hash)
//	VALUES ((SELECT id FROM rs_set WHERE name = 'papers'), 'updated', …)
//
// The change is created, updated or deleted; created and updated are the same,
// for the store knows which it is, except in a Journal. The key is bytes: in
// PostgreSQL convert_to(id::text, 'UTF8'), in SQLite CAST(id AS BLOB). Mandatory
// beside it is the uri, of a deletion only in a Journal. lastmod is in
// microseconds since 1970, length in bytes, and hash is written as in a document.
// The set must have been opened once, by [Store.Set] or [Store.Journal]; until
// then set_id is NULL and the insert fails. PostgreSQL wakes the sequencer by a
// trigger of rs_pending itself.
//
// # Engines
//
// Rows are read natively, in key order from tables clustered by key, one string
// for each; see package rowdb for what was measured. PostgreSQL keeps rows where
// they were inserted, so the first scan of a set should list it in about the order
// of its keys, as a walk over a folder does.
//
// In SQLite the store writes to the host's file beside the host, for moments. The
// host's own connections must be ready to wait: a busy timeout of some seconds,
// and transactions that begin IMMEDIATE.
//
// PostgreSQL must be of version 14 or later. Besides those of the pool, a store
// uses one connection per process while it runs, one for the sequencer, and two
// for each scan. Through a pooler, sessions must be pooled, not transactions.
package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/wake"
)

//go:embed migrations
var embedded embed.FS

// Options configure a [Store]. The zero value is a reasonable default. All
// processes that share a database should have the same.
type Options struct {
	// Retain is how long changes stay in the journal. They are dropped by
	// whole windows when a later change is made, together with the memory
	// of the deletions among them. If zero, 90 days is used; if negative,
	// no change is ever dropped.
	Retain time.Duration

	// Archive is how long [Journal.Archive] keeps changes that are no longer in the
	// journal, counted from when they were made: Retain or more. If zero, they are
	// deleted when the journal drops them; if negative, never.
	Archive time.Duration

	// Window is the span of time of one Change List, a microsecond or more;
	// windows begin at multiples of it, in UTC. If zero, 24 hours is used.
	Window time.Duration

	// Now returns the time of day. If nil, time.Now is used.
	Now func() time.Time

	// Logger takes note of what goes wrong in the background. If nil,
	// slog.Default() is used.
	Logger *slog.Logger
}

// A Store holds sets and journals in a database. All methods are safe for
// concurrent use, by any number of processes.
type Store struct {
	db        rowdb.DB
	close     func() error
	now       func() time.Time
	retain    time.Duration
	archive   time.Duration
	window    time.Duration
	log       *slog.Logger
	failures  health.Failures // of background work
	discarded atomic.Bool     // a damaged row, by a transaction that may not be committed yet
	bell      wake.Bell       // something may have been committed
	idle      idleCheck

	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// OpenSQLite opens the SQLite database file at path, and makes it if there is
// none, with the settings that a store needs. opts may be nil. Files whose names
// begin with path lie beside it; they belong to the database. Close closes it.
//
// One process should write to a file at a time, although several may.
func OpenSQLite(ctx context.Context, path string, opts *Options) (*Store, error) {
	pool, err := rowdb.OpenPool(path, poolSize())
	if err != nil {
		return nil, fmt.Errorf("sqlstore: open %s: %w", path, err)
	}
	s, err := SQLite(ctx, pool, opts)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	s.close = pool.Close
	return s, nil
}

// poolSize is the number of connections that a store of its own has: some for what
// keeps one, and some for those who read.
func poolSize() int { return 8 + 2*runtime.GOMAXPROCS(0) }

// SQLite returns the store in the database of pool, which must be a file in
// journal mode WAL. How durable a commit is, its synchronous pragma says: FULL
// is advised. The pool should have ten connections or more; it is the caller's
// to close, after the store. opts may be nil.
func SQLite(ctx context.Context, pool *sqlitex.Pool, opts *Options) (*Store, error) {
	db, err := rowdb.NewSQLite(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return open(ctx, db, opts)
}

// Postgres returns the store in the database of pool, in the schema that comes
// first in its search path. The pool is the caller's to close. opts may be nil.
func Postgres(ctx context.Context, pool *pgxpool.Pool, opts *Options) (*Store, error) {
	db, err := rowdb.NewPostgres(ctx, pool)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return open(ctx, db, opts)
}

func open(ctx context.Context, db rowdb.DB, opts *Options) (*Store, error) {
	s := &Store{
		db:       db,
		close:    func() error { return nil },
		watchers: map[*watcher]struct{}{},
	}
	if err := s.configure(opts); err != nil {
		db.Close()
		return nil, err
	}
	migrations, err := fs.Sub(embedded, "migrations")
	if err == nil {
		err = rowdb.Migrate(ctx, db, migrations)
	}
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("sqlstore: %w", err)
	}
	return s, nil
}

func (s *Store) configure(opts *Options) error {
	var o Options
	if opts != nil {
		o = *opts
	}
	s.now, s.retain, s.archive, s.window, s.log = o.Now, o.Retain, o.Archive, o.Window, o.Logger
	if s.now == nil {
		s.now = time.Now
	}
	if s.retain == 0 {
		s.retain = 90 * 24 * time.Hour
	}
	if s.window == 0 {
		s.window = 24 * time.Hour
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.window < time.Microsecond {
		return fmt.Errorf("sqlstore: Window %v: must be a microsecond or more", s.window)
	}
	if s.archive > 0 && (s.retain < 0 || s.archive < s.retain) {
		return fmt.Errorf("sqlstore: Archive %v: must be at least Retain, after which changes are archived", s.archive)
	}
	return nil
}

// Close gives back what the store keeps of its pool, and closes what OpenSQLite
// opened. [Store.Run] must have returned, and the store is not used any more.
func (s *Store) Close() error {
	s.idle.close()
	s.db.Close()
	return s.close()
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
