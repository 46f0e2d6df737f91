// Package sqlstore keeps sets of resources and the journals of their changes in
// PostgreSQL or SQLite. Packages pgstore and sqlitestore open a [Store].
//
// A [Set] is a [resourcesync.Provider] with every upgrade that does not need the
// content of resources. [Set.Scan] fills it from a listing in any order, [Set.Put] and
// [Set.Delete] change it, and [Journal.Record] does so within a transaction of the
// host. A host whose own table is the Provider needs only a [Journal]. Package sqltable
// writes it by triggers; otherwise set it beside the Provider:
//
//	rshttp.Set{Provider: papers, Changer: journal}
//
// Set the Store as rshttp.Options.Store. The Source then runs it, and the Store also keeps
// notifications and subscriptions.
//
// # Nothing lost, nothing twice
//
// Record inserts one row per change in the host's transaction, so a change is recorded
// if and only if the transaction commits. The sequencer, a part of [Store.Run], orders
// the changes after their commit: it reads committed rows in batches, and gives each
// change its place in the journal and a datetime later than that of every change
// before it, even if the clock has stepped back. Only then is the change visible. So
// neither a transaction that commits late, nor a clock that steps back, nor a process
// that dies can put a change before one that a Destination has seen. One sequencer
// runs at a time; in PostgreSQL another process takes over within seconds of its
// death.
//
// A change becomes visible some hundredths of a second after its commit: PostgreSQL
// wakes the sequencer, and in SQLite it polls every 20 ms.
//
// Changes of one key that are committed together keep the order in which they were
// recorded. Call Record after the write: the row is then locked, so journal and table
// have the same order.
//
// # Triggers
//
// For writes by programs in other languages, triggers insert into rs_pending as Record
// does; package sqltable creates such triggers:
//
//	INSERT INTO rs_pending (set_id, change, key, uri, lastmod, length, type, encoding, hash)
//	VALUES ((SELECT id FROM rs_set WHERE name = 'papers'), 'updated', …)
//
// The change is created, updated or deleted. A Set treats created and updated alike,
// because it knows which one applies; a Journal publishes what was recorded. The key
// is bytes: convert_to(id::text, 'UTF8') in PostgreSQL, CAST(id AS BLOB) in SQLite. The
// uri is mandatory, except for a deletion from a Set. lastmod is in microseconds since
// 1970, length in bytes, and hash has the syntax of documents. The set must have been
// opened once, by [Store.Set] or [Store.Journal]; until then set_id is NULL and the
// insert fails. In PostgreSQL, rs_pending has a trigger that wakes the sequencer.
//
// # Engines
//
// Each engine has its own package, so that a program links only the driver that it uses:
// pgstore opens a store in PostgreSQL, and sqlitestore in SQLite.
//
// Rows are read with the driver's own API, in key order, with one allocation for each;
// docs/design/stores.md has the measurements. PostgreSQL keeps rows in the order of their
// insertion, so the first scan of a set should list it roughly in key order, as walking
// a folder does.
package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/health"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/sqllog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// Options configure a [Store]. The zero value is a reasonable default. All processes
// that share a database should use the same Options.
type Options struct {
	// Retain is how long changes stay in the journal. Each new change can drop older
	// ones: complete windows, together with the records of resources that were deleted
	// in them. If zero, 90 days is used; if negative, changes are never dropped.
	Retain time.Duration

	// Archive is how long [Journal.Archive] keeps changes that the journal has dropped,
	// counted from their datetime; it must be Retain or more. If zero, they are deleted
	// when the journal drops them; if negative, they are never deleted.
	Archive time.Duration

	// Window is the time span of one Change List, a microsecond or more. Windows begin
	// at multiples of it, in UTC. If zero, 24 hours is used.
	Window time.Duration

	// Now returns the current time. If nil, time.Now is used.
	Now func() time.Time

	// Logger receives the failures of background work. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// A Store holds sets and journals in a database. All methods are safe for concurrent
// use. Any number of processes can share the database.
type Store struct {
	db        rowdb.DB
	now       func() time.Time
	retain    time.Duration
	archive   time.Duration
	window    time.Duration
	maxSeen   int // keys that a scan keeps in memory
	log       *slog.Logger
	failures  health.Failures // of background work
	discarded atomic.Bool     // a transaction, perhaps not committed yet, has discarded a damaged row
	bell      background.Bell // rings when something may have been committed
	idle      idleCheck
	survival  survival
	standby   *standby // nil if there is none
	places    places

	mu      sync.Mutex
	watched map[int64]*watched // by the id of the set
}

// openStore returns the store in db, as [seam.OpenStore] says.
func openStore(ctx context.Context, db rowdb.DB, files fs.FS, opts *Options) (*Store, error) {
	s := &Store{db: db, maxSeen: maxSeen, idle: idleCheck{timeout: idleTimeout}, watched: map[int64]*watched{}}
	err := s.configure(opts)
	if err == nil {
		err = rowdb.Migrate(ctx, db, files, migrationSteps)
	}
	if err == nil {
		s.places, err = readPlaces(ctx, db)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: %w", errors.Join(err, db.Close()))
	}
	return s, nil
}

func (s *Store) configure(opts *Options) error {
	var o Options
	if opts != nil {
		o = *opts
	}
	s.now, s.archive = o.Now, o.Archive
	if s.now == nil {
		s.now = time.Now
	}
	s.retain = cmp.Or(o.Retain, 90*24*time.Hour)
	s.window = cmp.Or(o.Window, 24*time.Hour)
	s.log = cmp.Or(o.Logger, slog.Default())
	if s.window < time.Microsecond {
		return fmt.Errorf("the Window %v is shorter than a microsecond", s.window)
	}
	if s.archive > 0 && (s.retain < 0 || s.archive < s.retain) {
		return fmt.Errorf("the Archive %v is shorter than Retain, after which changes are archived", s.archive)
	}
	return nil
}

// Close returns the connections that the store keeps to the pool, and closes a
// database that the store opened itself. [Store.Run] must have returned, and no
// method may be called later.
func (s *Store) Close() error {
	s.idle.close()
	s.leave()
	return s.db.Close()
}

// File implements [scan.FileStore]: it returns the absolute path of the database file of SQLite,
// or "" in PostgreSQL.
func (s *Store) File() string { return s.db.File() }

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// Log returns the log of notifications of this name, and creates it if there is none. Each
// Source needs its own log. [Store.Run] must be running in this process.
func (s *Store) Log(ctx context.Context, name string) (topiclog.Log, error) {
	l, err := sqllog.Open(ctx, s.db, &s.bell, s.now, name)
	if err != nil {
		return topiclog.Log{}, err
	}
	return pushlog.Seal(l).(topiclog.Log), nil
}
