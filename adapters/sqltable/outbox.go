package sqltable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/scan"
)

// ErrNoTriggers means that a table has no triggers that record its changes.
var ErrNoTriggers = errors.New("the table has no triggers for this set")

// An UnseenError means that triggers may write to an outbox, but the role can see none, so
// that it cannot drain the outbox. It wraps ErrNoTriggers: changes can be found by
// comparison.
type UnseenError struct {
	Outbox string    // the table, qualified and quoted
	Hidden bool      // the role may not read it either, or know whether it exists
	Since  time.Time // when the oldest change in it was recorded; zero if there is none, or unknown
}

// Error implements error.
func (e *UnseenError) Error() string {
	const remedy = "grant TRIGGER on the table, and SELECT and DELETE on the outbox; or, if the outbox is no longer needed, drop the triggers"
	switch {
	case e.Hidden:
		return fmt.Sprintf("this user cannot see triggers, or whether there is an outbox %s, which grows until it is drained: %s", e.Outbox, remedy)
	case e.Since.IsZero():
		return fmt.Sprintf("there is an outbox %s, but no trigger can be seen: %s; if the triggers are gone, create them again", e.Outbox, remedy)
	}
	return fmt.Sprintf("the outbox %s has not been drained since %s, %v ago, but no trigger can be seen: %s",
		e.Outbox, timetext.Of(e.Since), time.Since(e.Since).Round(time.Second), remedy)
}

// Unwrap returns ErrNoTriggers.
func (e *UnseenError) Unwrap() error { return ErrNoTriggers }

// An Outbox is a table in which triggers record which rows of another table have changed.
// It is for MariaDB and MySQL, which cannot hold the journal itself. Draining it brings a
// stored set up to date at the cost of the changes alone:
//
//	articles, err := mysqltable.List(ctx, db, table, &sqltable.ListingOptions{Triggers: "articles"})
//	set, err := scan.Into(ctx, store, "articles", articles, nil)
//
// The triggers write the key of each changed row in the transaction of the host: what is
// rolled back leaves no trace. Drain reads committed keys, replaces the resources of these
// keys in the set with the current rows, and then removes exactly the keys that it has
// read. A process or server that dies in between leaves keys that are drained again, which
// changes nothing. The set takes one drain or scan at a time, and each reads the rows after
// the one before has ended. So the changes of each resource are published in the order of
// their commits. A resource that changes several times between two drains is published
// once, in its last state.
//
// Some changes fire no triggers: TRUNCATE, the cascades of foreign keys, changes of a
// partition as a whole, and writes while the triggers are dropped. A scan of the
// [Listing] finds them, so run one at the start and from time to time.
type Outbox struct {
	list       *Listing
	db         engine.OutboxDB
	name       string   // of the table, qualified and quoted
	base       string   // the names of its triggers begin with it
	statements []string // that make its triggers
}

// Outbox returns the outbox that the triggers for this set write; see [Triggers]. The
// error is ErrNoTriggers if there are none, and an [UnseenError] if the role cannot tell.
// If [Triggers].Create would create others for the Table of l, the error names the remedy.
func (l *Listing) Outbox(ctx context.Context, set string) (*Outbox, error) {
	rel := l.p.rel
	db, ok := l.p.db.(engine.OutboxDB)
	if !ok || !rel.IsTable {
		return nil, l.p.fail("outbox", ErrNoTriggers)
	}
	base := baseName(rel, set)
	found, _, err := compareTriggers(ctx, db, rel, base, nil)
	if err == nil && found == 0 {
		// A role that may not see the triggers may see the table that they write.
		name := db.Outbox(&rel.Relation, base)
		since, hidden, waitErr := db.Waiting(ctx, name)
		if err = ErrNoTriggers; waitErr == nil || hidden {
			err = &UnseenError{Outbox: name, Hidden: hidden, Since: since}
		}
	}
	if err != nil {
		return nil, l.p.fail("outbox", err)
	}
	statements, err := db.CreateTriggers(ctx, newJournalled(db, rel, set))
	if err != nil {
		return nil, l.p.fail("outbox", err)
	}
	_, current, err := compareTriggers(ctx, db, rel, base, statements)
	if err == nil && !current {
		err = fmt.Errorf("its triggers for the set %q are not those for the named columns: create them again, or drop them", set)
	}
	if err != nil {
		return nil, l.p.fail("outbox", err)
	}
	return &Outbox{l, db, db.Outbox(&rel.Relation, base), base, statements}, nil
}

// hasTriggers reports whether the triggers that write the outbox are still the ones that it was
// opened with.
func (o *Outbox) hasTriggers(ctx context.Context) (bool, error) {
	_, current, err := compareTriggers(ctx, o.db, o.list.p.rel, o.base, o.statements)
	return current, err
}

// checkOutbox returns an error if the outbox for rel and the set was created for another URI
// template.
func checkOutbox(ctx context.Context, db engine.OutboxDB, rel *relation, set string) error {
	template, err := db.OutboxTemplate(ctx, &rel.Relation, baseName(rel, set))
	if err != nil || template == "" || template == rel.table.URI {
		return err
	}
	return fmt.Errorf("its triggers for the set %q are for the URIs %s, and not for %s: give the former URIs again; or, if the resources have moved, drop the triggers first, so that the next comparison publishes the deletion of each former URI",
		set, template, rel.table.URI)
}

const (
	// drained is the number of rows of the outbox that are read and removed at a time. A
	// bulk load that changes a row several times costs one lookup for those among them.
	drained = 5000

	// applied is the number of resources that are replaced at a time.
	applied = 1000

	// pollInterval is how often Watch looks for changes.
	pollInterval = 500 * time.Millisecond
)

// Drain applies the recorded changes to the set, and removes them from the outbox. It returns
// when the outbox was empty. If the result has held deletions, only a scan of the Listing can
// publish or release them. While another scan of the set runs in another process, or the
// set awaits its first scan, Drain returns the error of ScanRanges, and removes nothing.
func (o *Outbox) Drain(ctx context.Context, set scan.Stored) (resourcesync.ScanResult, error) {
	var sum resourcesync.ScanResult
	for {
		ids, keys, err := o.read(ctx, drained)
		if err != nil || len(ids) == 0 {
			return sum, o.list.p.fail("outbox", err)
		}
		for some := range slices.Chunk(keys, applied) {
			ranges, resources := o.list.Part(ctx, some)
			result, err := set.ScanRanges(ctx, ranges, resources)
			addResult(&sum, result)
			if err != nil {
				return sum, err
			}
		}
		// The set has the changes: only now may they be forgotten here.
		if err := o.db.Remove(ctx, o.name, ids); err != nil {
			return sum, o.list.p.fail("outbox", err)
		}
		if len(ids) < drained {
			return sum, nil
		}
	}
}

// read returns the first n rows of the outbox that are committed: their ids, and the
// different keys in them, in ascending order.
//
// The ids do not have the order of the commits, so a row may become visible before
// another one that has been read and removed. Nothing may depend on their order.
func (o *Outbox) read(ctx context.Context, n int) (ids []int64, keys []string, err error) {
	different := map[string]bool{}
	var key []byte
	err = o.db.Query(ctx, fmt.Sprintf("SELECT id, row_key FROM %s ORDER BY id LIMIT %d", o.name, n), func(row rowdb.Row) (err error) {
		ids = append(ids, row.Int(0))
		switch key, err = o.list.key(key[:0], row); {
		case err != nil: // no document lists the row
		case len(key) > 0:
			different[string(key)] = true
		}
		return nil
	})
	return ids, slices.Sorted(maps.Keys(different)), err
}

// key appends the key in a row of the outbox, which is text.
func (l *Listing) key(dst []byte, row rowdb.Row) ([]byte, error) {
	k := *l.p.rel.key()
	k.Unsigned = k.Kind == engine.Integer
	return k.appendKey(dst, row, 1)
}

// Watch calls wake, in its own goroutine, while there are changes to drain. It looks twice
// a second, with a query that reads one row. It returns only when ctx is done, with its
// error, or when the outbox cannot be read.
func (o *Outbox) Watch(ctx context.Context, wake func()) error {
	for {
		ids, _, err := o.read(ctx, 1)
		if err != nil {
			return o.list.p.fail("outbox", err)
		}
		if len(ids) > 0 {
			wake()
		}
		if err := background.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// addResult adds the changes of one scan to a sum. The last scan states all held deletions.
func addResult(sum *resourcesync.ScanResult, r resourcesync.ScanResult) {
	sum.Created += r.Created
	sum.Updated += r.Updated
	sum.Deleted += r.Deleted
	sum.Unchanged += r.Unchanged
	sum.Unreadable += r.Unreadable
	if r.Held > 0 {
		sum.Held, sum.HeldSince = r.Held, r.HeldSince
	}
}

// compareTriggers returns the number of triggers on rel whose names begin with base, and
// whether they are those that statements make.
func compareTriggers(ctx context.Context, db engine.TriggerDB, rel *relation, base string, statements []string) (n int, current bool, err error) {
	var found []string
	current = true
	err = db.TriggersOn(ctx, &rel.Relation, func(name, sql string) {
		if !strings.HasPrefix(name, base) {
			return
		}
		found = append(found, sql)
		current = current && slices.ContainsFunc(statements, func(s string) bool { return strings.Contains(s, sql) })
	})
	// In PostgreSQL all triggers share functions. Elsewhere each has its own text.
	for _, s := range statements {
		if strings.HasPrefix(s, "CREATE TRIGGER ") {
			current = current && slices.Contains(found, s)
		}
	}
	return len(found), current && len(found) > 0, err
}
