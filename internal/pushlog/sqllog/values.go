package sqllog

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

func moment(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// nanos returns t as it is stored: in nanoseconds since 1970, nil for the zero time.
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

// number returns 1 if b is true, otherwise 0.
func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// legible returns s without invalid UTF-8 and NUL, which PostgreSQL rejects in text.
func legible(s string) string {
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
