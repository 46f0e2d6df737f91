// Package state keeps the state of a Destination in an SQLite file: the
// resources that the copy has, the changes that are noted and not yet applied, and how far
// each set has been read. A process that ends at any moment continues from there.
package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/internal/fault"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/sqlitedb"
)

// A State is an open state. Its methods are not safe for concurrent use.
type State struct {
	path string
	conn *sqlite.Conn
	max  int64    // bytes
	sets []string // that the Source has now, or nil

	packages int64 // the greatest ID of a package

	// folder is a folder, folded, that is not the path of a copy, and not inside of one. It is
	// empty if none is known.
	folder string

	before  string // the former URL of the Source, or ""
	moves   []Move // the newest first
	renamed int64

	reserved reservations
	unsure   bool // placing may have rows

	hook  fault.Hook
	trace func(sql string) // is called with each statement in tests, otherwise nil
}

// ErrInUse means that another process uses the state.
var ErrInUse = errors.New("another process uses this copy; wait until it has ended")

// A FullError means that the state would exceed its limit, or that the disk is full.
type FullError struct {
	Max  int64
	Disk bool // it is the disk: the state is much smaller than its limit
}

func (e *FullError) Error() string {
	if e.Disk {
		return "the disk of the state of the copy is full: make room"
	}
	return fmt.Sprintf("the state of the copy is full: the Source lists more than fits into the limit of %d bytes for it, or the disk is full", e.Max)
}

// Open opens the state at path, and creates it if there is none. It belongs to one Source and
// to one process at a time, and has at most max bytes. If mayMove is set, the Source can be a
// different one; Before then returns the former one. The hook is nil, except in tests.
func Open(path, source string, mayMove bool, max int64, hook fault.Hook) (*State, error) {
	if err := sqlitedb.MakePrivate(path); err != nil {
		return nil, err
	}
	sqlitedb.KeepHeap()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	s := &State{path: path, conn: conn, max: max, hook: hook}
	if err := s.explain(s.prepare(source, mayMove)); err != nil {
		conn.Close()
		if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
			err = ErrInUse
		}
		return nil, err
	}
	return s, nil
}

func (s *State) prepare(source string, mayMove bool) error {
	s.conn.SetBusyTimeout(0)
	for _, pragma := range []string{"locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL", "cache_size = -2000", "temp_store = FILE"} {
		if err := sqlitex.ExecuteTransient(s.conn, "PRAGMA "+pragma, nil); err != nil {
			return err
		}
	}
	size, err := s.int("PRAGMA page_size")
	if err != nil {
		return err
	}
	// SQLite does not go below the present number of pages.
	if _, err := s.int(fmt.Sprintf("PRAGMA max_page_count = %d", max(s.max/size, 1))); err != nil {
		return err
	}
	if err := sqlitex.ExecScript(s.conn, auditSchema+stagedSchema); err != nil {
		return err
	}
	s.unsure = true
	return s.Write(context.Background(), func() error {
		isNew, err := s.upgrade()
		if err != nil {
			return err
		}
		return s.belongs(source, isNew, mayMove)
	})
}

// Close closes the state.
func (s *State) Close() error { return s.conn.Close() }

// Write calls f in a transaction, which is rolled back if f returns an error.
func (s *State) Write(ctx context.Context, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.transaction(f)
	if err != nil {
		s.folder = "" // a path that was freed may be taken by now
	}
	return s.explain(err)
}

func (s *State) transaction(f func() error) (err error) {
	end, err := sqlitex.ImmediateTransaction(s.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	if err = f(); err == nil {
		err = s.hook.Before("commit", "state")
	}
	return err
}

// explain returns an error of SQLite as one that says what to do.
func (s *State) explain(err error) error {
	if _, full := errors.AsType[*FullError](err); !full && sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull {
		const near = 64 << 20 // more than a transaction adds
		count, _ := s.int("PRAGMA page_count")
		size, _ := s.int("PRAGMA page_size")
		return &FullError{Max: s.max, Disk: count*size < s.max-near}
	}
	if _, known := errors.AsType[*DamagedError](err); !known && isDamage(err) {
		return &DamagedError{s.path, err}
	}
	return err
}

func (s *State) exec(sql string, args ...any) error {
	return s.query(sql, nil, args...)
}

func (s *State) query(sql string, row func(*sqlite.Stmt) error, args ...any) error {
	if s.trace != nil {
		s.trace(sql)
	}
	if s.hook != nil && s.conn.AutocommitEnabled() {
		if err := s.hook.Before("statement", "state"); err != nil {
			return err
		}
	}
	return s.explain(sqlitex.Execute(s.conn, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: row}))
}

func (s *State) int(sql string, args ...any) (n int64, err error) {
	err = s.query(sql, func(row *sqlite.Stmt) error {
		n = row.ColumnInt64(0)
		return nil
	}, args...)
	return n, err
}

// nanos returns t for the database. Times that cannot be expressed are unknown.
func nanos(t time.Time) int64 {
	if t.IsZero() || t.Year() < 1679 || t.Year() > 2261 {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

const unknownLength = math.MinInt64
