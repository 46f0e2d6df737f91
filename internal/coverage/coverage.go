// Package coverage keeps, with a journal that triggers write, what the triggers cover and
// what proves that the journal is complete. Package sqltable makes the proof; package
// sqlstore has the journal. A program may reach the table and the store by different
// connections, so both use the functions of this package.
package coverage

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A Cover is the row of a journal in rs_cover. The zero value stands for a journal without
// triggers.
type Cover struct {
	Set       int64     // the id of the journal
	Made      string    // the number of the statements that made the triggers; "" if they were dropped by ours
	Covers    string    // what the triggers cover, in the words of sqltable
	Proof     string    // triggers and database when the journal was complete; "" if it never was
	Restarted time.Time // when the journal started over; zero if never
	Reason    string    // why
	Last      time.Time // the newest change, or when the journal moved without one
}

// Read returns the Cover of the journal with this name.
func Read(ctx context.Context, q rowdb.Querier, name string) (Cover, error) {
	return rowdb.One(ctx, q, func(r rowdb.Row) Cover {
		c := Cover{Set: r.Int(0), Made: rowdb.String(r, 1), Covers: rowdb.String(r, 2), Proof: rowdb.String(r, 3), Reason: rowdb.String(r, 5), Last: time.UnixMicro(r.Int(6)).UTC()}
		if at := r.Int(4); at != 0 {
			c.Restarted = time.UnixMicro(at).UTC()
		}
		return c
	}, `SELECT s.id, coalesce(c.made, ''), coalesce(c.covers, ''), coalesce(c.proof, ''), coalesce(c.restarted, 0), coalesce(c.reason, ''), s.last
		FROM rs_set s LEFT JOIN rs_cover c ON c.set_id = s.id WHERE s.name = $1`, name)
}

// Has reports whether the journal still has the changes up to seen, which a reader saw as
// the time of its newest change. If it does not, the database was restored from an earlier
// time.
func Has(ctx context.Context, q rowdb.Querier, set int64, seen time.Time) (bool, error) {
	found, err := rowdb.One(ctx, q, rowdb.Int, `SELECT 1 FROM rs_set s WHERE s.id = $1 AND (s.last = $2 OR s.since >= $2
		OR EXISTS (SELECT 1 FROM rs_change c WHERE c.set_id = $1 AND c.at = $2) OR EXISTS (SELECT 1 FROM rs_cover v WHERE v.set_id = $1 AND v.moved = $2))`,
		set, seen.UnixMicro())
	return found == 1, err
}

// Prove records the proof that the journal is complete.
func Prove(ctx context.Context, c rowdb.Conn, set int64, proof string) error {
	_, err := c.Exec(ctx, "UPDATE rs_cover SET proof = $1 WHERE set_id = $2", proof, set)
	return err
}

// Restart starts a journal over: it is complete from the returned time on, which is later
// than each change and each time that a reader may have seen, the last of which is seen. It
// must be called in a [rowdb.DB.Update]. Changes that are pending come after that time.
func Restart(ctx context.Context, c rowdb.Conn, set int64, now, seen time.Time, reason string) (since time.Time, err error) {
	last, err := rowdb.One(ctx, c, rowdb.Int, "SELECT last FROM rs_set WHERE id = $1", set)
	if err != nil {
		return time.Time{}, err
	}
	at := max(now.UnixMicro(), last+1)
	if !seen.IsZero() {
		at = max(at, seen.UnixMicro()+1)
	}
	if _, err = c.Exec(ctx, "UPDATE rs_set SET since = $1, last = $1 WHERE id = $2", at, set); err == nil {
		_, err = c.Exec(ctx, "UPDATE rs_cover SET restarted = $1, reason = $2 WHERE set_id = $3", at, reason, set)
	}
	if err == nil {
		err = c.Notify(ctx)
	}
	return time.UnixMicro(at).UTC(), err
}
