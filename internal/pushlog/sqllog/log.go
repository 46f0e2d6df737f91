// Package sqllog keeps a [pushlog.Log] in SQLite or PostgreSQL, so that several processes
// can share it and it survives restarts. The migrations of package sqlstore create its
// tables.
package sqllog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// leaderLock minus the id of a log is the number of the lock that the leader of the log
// holds. Other locks of the store have other numbers.
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
	among     string // tests whether a value is among the ids in $2
	ids       string // the brackets around those ids
}

var dialects = map[rowdb.Dialect]dialect{
	rowdb.Postgres: {
		clock:     "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)",
		lock:      " FOR UPDATE OF p SKIP LOCKED",
		forUpdate: " FOR UPDATE",
		among:     " = ANY (CAST($2 AS bigint[]))",
		ids:       "{}",
	},
	rowdb.SQLite: { // in which only one transaction writes
		clock: "CAST(unixepoch('subsec') * 1000000 AS bigint)",
		among: " IN (SELECT value FROM json_each($2))",
		ids:   "[]",
	},
}

// Open returns the log with this name in db, and creates it if there is none. now
// returns the time of day. bell must ring when another process may have committed a
// change of the database. The log rings it for its own commits.
func Open(ctx context.Context, db rowdb.DB, bell *background.Bell, now func() time.Time, name string) (*Log, error) {
	l := &Log{db: db, bell: bell, now: now, dialect: dialects[db.Dialect()]}
	find := func(c rowdb.Querier) (err error) {
		l.id, err = rowdb.One(ctx, c, rowdb.Int, "SELECT id FROM rs_log WHERE name = $1", name)
		return err
	}
	err := find(db)
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

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// nanos returns t for the database: in nanoseconds since 1970, nil for the zero time.
func nanos(t time.Time) (any, error) {
	switch {
	case t.IsZero():
		return nil, nil
	case t.Before(time.Unix(0, math.MinInt64)) || t.After(time.Unix(0, math.MaxInt64)):
		return nil, fmt.Errorf("the time %v is not between the years 1678 and 2262", t)
	}
	return t.UnixNano(), nil
}

func nanosAt(r rowdb.Row, column int) time.Time {
	if r.Null(column) {
		return time.Time{}
	}
	return time.Unix(0, r.Int(column)).UTC()
}

// readCursor returns the cursor in a column and those after it: taken, failures,
// failing_since, last_error, retry.
func readCursor(r rowdb.Row, column int) pushlog.Cursor {
	return pushlog.Cursor{
		Taken:        r.Int(column),
		Failures:     int(r.Int(column + 1)),
		FailingSince: moment(r.Int(column + 2)),
		LastError:    rowdb.String(r, column+3),
		Retry:        moment(r.Int(column + 4)),
	}
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// bytesAt returns the bytes in a column, nil if it is NULL.
func bytesAt(r rowdb.Row, column int) []byte {
	if r.Null(column) {
		return nil
	}
	return r.Append([]byte{}, column)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// validText returns s without invalid UTF-8 and NUL, which PostgreSQL rejects in text.
func validText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// digest returns the key of a callback in indexes: the callback itself may be too long.
func digest(callback string) []byte {
	d := sha256.Sum256([]byte(callback))
	return d[:]
}

// later returns the SQL expression for the time d from now.
func (l *Log) later(d time.Duration) string {
	return fmt.Sprintf("%s + %d", l.clock, d.Microseconds())
}
