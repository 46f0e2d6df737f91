// Package sqllog keeps a [pushlog.Log] in SQLite or PostgreSQL, so that several processes
// can share it and it survives restarts. The migrations of package sqlstore create its
// tables.
package sqllog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// leaderLock minus the id of a log is the number of the lock that the leader of the log
// holds. Other numbers are those of other locks of the store.
const leaderLock = -2

// A Log is a [pushlog.Log] in a database. It stores the secrets of subscriptions in plain
// text, because signing needs them.
type Log struct {
	db   rowdb.DB
	bell *background.Bell
	now  func() time.Time
	id   int64
	dialect
}

// A dialect is the SQL that differs between engines.
type dialect struct {
	clock     string // the time of day by the database's clock, in microseconds
	lock      string // makes a query lock the rows p, except those that others have locked
	forUpdate string // makes a query lock the rows that it returns
	among     string // tests whether a value is among the ids in an argument
	ids       string // the brackets around those ids
}

var dialects = map[rowdb.Dialect]dialect{
	rowdb.Postgres: {
		clock:     "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)",
		lock:      " FOR UPDATE OF p SKIP LOCKED",
		forUpdate: " FOR UPDATE",
		among:     " = ANY (CAST(%s AS bigint[]))",
		ids:       "{}",
	},
	rowdb.SQLite: { // in which only one transaction writes
		clock: "CAST(unixepoch('subsec') * 1000000 AS bigint)",
		among: " IN (SELECT value FROM json_each(%s))",
		ids:   "[]",
	},
}

// Open returns the log with this name in db, and creates it if there is none. now
// returns the time of day. bell must ring when another process may have committed a
// change of the database. The log rings it for its own commits.
func Open(ctx context.Context, db rowdb.DB, bell *background.Bell, now func() time.Time, name string) (*Log, error) {
	l := &Log{db: db, bell: bell, now: now, dialect: dialects[db.Dialect()]}
	find := func(c rowdb.Conn) error {
		return c.Query(ctx, "SELECT id FROM rs_log WHERE name = $1", func(r rowdb.Row) error { l.id = r.Int(0); return nil }, name)
	}
	err := db.Do(ctx, find)
	if err == nil && l.id == 0 {
		err = db.Write(ctx, func(c rowdb.Conn) error {
			if _, err := c.Exec(ctx, "INSERT INTO rs_log (name, requests) VALUES ($1, 0) ON CONFLICT (name) DO NOTHING", name); err != nil {
				return err
			}
			return find(c)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("sqlstore: log %q: %w", name, err)
	}
	return l, nil
}

func fail(what string, err error) error {
	var limit *pushlog.LimitError
	if err == nil || err == pushlog.ErrMoved || err == pushlog.ErrStale || errors.As(err, &limit) {
		return err
	}
	return fmt.Errorf("sqlstore: log: %s: %w", what, err)
}

// write runs f in a transaction. If f reports news, write wakes the watchers.
func (l *Log) write(ctx context.Context, f func(c rowdb.Conn) (news bool, err error)) error {
	news := false
	err := l.db.Write(ctx, func(c rowdb.Conn) (err error) {
		if news, err = f(c); err != nil || !news {
			return err
		}
		return c.Notify(ctx)
	})
	if err == nil && news {
		l.bell.Ring()
	}
	return err
}

// Lead implements [pushlog.Log].
func (l *Log) Lead(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
	return l.db.TryLock(ctx, int32(leaderLock-l.id), f)
}

// Watch implements [pushlog.Log].
func (l *Log) Watch(ctx context.Context, wake func()) error {
	return l.bell.Listen(ctx, wake)
}
