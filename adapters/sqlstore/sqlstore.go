// Package sqlstore keeps sets of resources and the journals of their changes in
// PostgreSQL or SQLite. Packages pgstore and sqlitestore open a [Store].
//
// A [Set] is a [resourcesync.Provider] with every upgrade that does not need the
// resources' bytes. It is filled by [Set.Scan] from a listing in any order, by
// [Set.Put] and [Set.Delete], or by [Journal.Record] from within a transaction of
// the host's own. A host whose own table is a Provider already takes a
// [Journal] alone:
//
//	rshttp.Set{Provider: papers, Changer: journal}
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
// Each engine has a package of its own, so that a program links only the driver
// that it uses: pgstore opens a store in PostgreSQL, and sqlitestore in SQLite.
//
// Rows are read natively, in key order from tables clustered by key, one string
// for each; see package rowdb for what was measured. PostgreSQL keeps rows where
// they were inserted, so the first scan of a set should list it in about the order
// of its keys, as a walk over a folder does.
package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/wake"
)

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

// New returns the store in db. files has its migrations for the engine of db, in the
// folder "migrations". Closing the store closes db, as does an error of New. opts may
// be nil. New is for the packages of the engines, pgstore and sqlitestore.
func New(ctx context.Context, db rowdb.DB, files fs.FS, opts *Options) (*Store, error) {
	s := &Store{db: db, watchers: map[*watcher]struct{}{}}
	err := s.configure(opts)
	if err == nil {
		err = rowdb.Migrate(ctx, db, files)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlstore: %w", err), db.Close())
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
		return fmt.Errorf("Window %v: must be a microsecond or more", s.window)
	}
	if s.archive > 0 && (s.retain < 0 || s.archive < s.retain) {
		return fmt.Errorf("Archive %v: must be at least Retain, after which changes are archived", s.archive)
	}
	return nil
}

// Close returns the connections that the store keeps to the pool, and closes a
// database that the store opened itself. [Store.Run] must have returned, and no
// method may be called later.
func (s *Store) Close() error {
	s.idle.close()
	return s.db.Close()
}

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }
