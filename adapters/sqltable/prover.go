package sqltable

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/internal/seam"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A prover proves that the journal of a table has seen every change, or makes it start over.
// It is not safe for concurrent use.
type prover struct {
	db    engine.JournalDB
	table Table
	title string
	set   string
	log   *slog.Logger

	journal *sqlstore.Journal
	limits  scan.SetOptions // of the guard

	witness *witness

	mine  *definition // that the journal has, unless another process has changed it
	doubt string      // why changes can have been missed, since the journal could not start over
	proof string      // that the journal had when it was read last
}

// An unprovenError means that changes may be missing from the journal, and that it could not
// start over.
type unprovenError struct{ error }

// ErrUnproven means that changes may be missing from the journal of a table, and that it
// could not start over. The documents of the set are not available then.
var ErrUnproven = errors.New("the journal of a table cannot be proven complete")

// Is reports whether target is ErrUnproven.
func (e unprovenError) Is(target error) bool { return target == ErrUnproven }

func (e unprovenError) Unwrap() error { return e.error }

// errOther means that another process has given the journal another definition. This one
// must not give its own back, or the two would take turns.
var errOther = unprovenError{errors.New("another process has opened the table with another condition or other columns: restart this process with the same ones")}

// errDropped means that the triggers were dropped on purpose.
var errDropped = unprovenError{errors.New("its triggers were dropped by the statements of Triggers.Drop: create them again, or restart this process")}

// A verdict is the result of a prover.
type verdict struct {
	reason string    // why the journal has started over; "" if nothing was missed
	since  time.Time // from when it is complete, if it has started over
	first  bool      // it has started over because it was not proven before
	made   bool      // the triggers were made
	difference
}

// check proves that nothing was missed since the last proof. It reads a few rows of the
// catalog, and writes only if something is different. At the start, and with force, it also
// gives the journal the definition of this process.
func (p *prover) check(ctx context.Context, start, force bool) (v verdict, err error) {
	if start {
		if err := p.define(ctx); err != nil {
			return v, err
		}
	}
	cover, err := coverage.Read(ctx, p.db, p.set)
	if err != nil {
		return v, err
	}
	signs, err := p.db.Signs(ctx, p.db, p.mine.journalled)
	if err != nil {
		return v, err
	}
	if cover.Proof != p.proof { // another process has mended it
		p.doubt, p.proof = "", cover.Proof
	}
	before, stored := parseProof(&cover), parseDefinition(&cover)
	reason, err := p.missed(ctx, p.db, &cover, signs)
	if err != nil {
		return v, err
	}
	same := stored.Columns == p.mine.Columns
	switch {
	case !start && cover.Made == "" && cover.Covers != "":
		return v, errDropped
	case !start && !same:
		return v, errOther
	case reason == "" && same && !force && before.sameTime(signs) && len(before.added(signs)) == 0 && (!start || stored.Digest == p.mine.Digest):
		if err := p.mine.journalled.Try(ctx, p.db); err != nil {
			return v, fmt.Errorf("the table cannot be read as it was opened; if a column has another name, the triggers refuse writes: drop them, name the columns as they are now, and restart: %w", err)
		}
		return v, p.witness.saw(cover.Last)
	}
	// The table may have other columns or indexes.
	if err := p.define(ctx); err != nil {
		return v, p.unproven(reason, err)
	}
	lost := p.incomparable(ctx, stored)
	err = p.db.Update(ctx, func(c rowdb.Conn) error {
		v, err = p.repair(ctx, c, force, lost)
		return err
	})
	if err == nil {
		p.doubt = ""
		if cover, err = coverage.Read(ctx, p.db, p.set); err == nil {
			err = p.witness.saw(cover.Last)
		}
		return v, err
	}
	return v, p.unproven(reason, err)
}

// missed returns why changes can have been missed, or "".
func (p *prover) missed(ctx context.Context, q rowdb.Querier, cover *coverage.Cover, signs *engine.Signs) (string, error) {
	seen, exact := p.witness.seen(p.journal)
	found := false
	if !seen.IsZero() {
		var err error
		if found, err = coverage.Has(ctx, q, cover.Set, seen); err != nil {
			return "", err
		}
		if !found {
			return "the database was restored: it lacks the change of " + timetext.Of(seen) + ", which was published", nil
		}
	}
	return cmp.Or(parseProof(cover).interrupted(cover.Made, signs, found && exact), p.doubt), nil
}

// unproven adds to an error that changes can have been missed.
func (p *prover) unproven(reason string, err error) error {
	if err == nil || reason == "" {
		return err
	}
	p.doubt = reason
	return unprovenError{fmt.Errorf("changes may be missing, because %s; and its triggers cannot be made again: %w", reason, err)}
}

// closeTime is how long a journal may take to number its last changes.
const closeTime = 5 * time.Second

// close gives the witness the newest change. Lists may have shown rows whose changes have no number
// yet, and without these a restored database could not be recognized.
func (p *prover) close() error {
	if p.witness.path == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := p.db.Update(ctx, func(c rowdb.Conn) error { return seam.Number(ctx, p.journal, c) })
	var cover coverage.Cover
	if err == nil {
		cover, err = coverage.Read(ctx, p.db, p.set)
	}
	if err != nil {
		p.log.WarnContext(ctx, "the witness does not know the last changes, so it may not recognize a restored database", "table", p.title, "journal", p.set, "error", err)
		cover.Last = time.Time{}
	}
	return p.witness.close(p.journal, cover.Last)
}

// define makes the definition of the journal from the current table.
func (p *prover) define(ctx context.Context) error {
	rel, err := describe(ctx, p.db, &p.table)
	if err != nil {
		return err
	}
	if err := rel.checkUnique(ctx, p.db); err != nil {
		return err
	}
	templates, err := journalledURIs(ctx, p.db, rel)
	if err == nil {
		err = checkTemplate(templates, rel, p.set)
	}
	if err != nil {
		return err
	}
	mine, err := newDefinition(ctx, p.db, rel, p.set)
	if err == nil {
		p.mine = mine
	}
	return err
}

// repair creates the triggers again if they differ from p.mine, or with force. If changes can
// have been missed, the journal starts over. If the table now lists other rows, the
// difference is journalled, unless lost states why it cannot be found. It runs in an
// Update.
func (p *prover) repair(ctx context.Context, c rowdb.Conn, force bool, lost string) (v verdict, err error) {
	cover, err := coverage.Read(ctx, c, p.set)
	if err != nil {
		return v, err
	}
	signs, err := p.db.Signs(ctx, c, p.mine.journalled)
	if err != nil {
		return v, err
	}
	number := cover.Made
	if force || !p.mine.made(number, signs) {
		if err := p.db.Lock(ctx, c, p.mine.journalled.Relation); err != nil {
			return v, err
		}
		if signs, err = p.db.Signs(ctx, c, p.mine.journalled); err != nil { // final, because the triggers cannot be altered until the transaction ends
			return v, err
		}
		number, v.made = rand.Text(), true
	}
	before := parseProof(&cover)
	if v.reason, err = p.missed(ctx, c, &cover, signs); err != nil {
		return v, err
	}
	v.first = v.reason != "" && before == nil
	if v.reason == droppedReason && v.made && cover.Made == "" && before.Idle != "" && parseDefinition(&cover).Columns == p.mine.Columns {
		now, err := fingerprint(ctx, c, p.mine)
		if err != nil {
			return v, err
		}
		if now == before.Idle {
			v.reason = ""
		}
	}
	if v.reason == "" {
		v.reason = lost
	}
	if v.reason == "" && signs.Schema != before.Schema && !v.made {
		p.log.InfoContext(ctx, "the schema of the database has changed, and the journal goes on; if its triggers were dropped and created again, restart it by Restart, or by resourcesync triggers --restart",
			"table", p.title, "journal", p.set)
	}
	if former := parseDefinition(&cover); v.reason == "" && !former.lists(p.mine) {
		if v.difference, err = p.publishDifference(ctx, c, &cover, former); err != nil {
			return v, err
		}
	}
	if v.made {
		for _, s := range p.mine.stamped(number) {
			if err := c.Script(ctx, s); err != nil {
				return v, err
			}
		}
		if signs, err = p.db.Signs(ctx, c, p.mine.journalled); err != nil {
			return v, err
		}
		if !p.mine.made(number, signs) {
			return v, fmt.Errorf("there are other triggers whose names begin with %s: drop them", p.mine.journalled.Base)
		}
	}
	if v.reason != "" {
		// Changes that were recorded before are older than missed ones: after the new
		// beginning, they would be taken for the newest states of their rows.
		if err := seam.Number(ctx, p.journal, c); err != nil {
			return v, err
		}
		seen, _ := p.witness.seen(p.journal)
		if v.since, err = coverage.Restart(ctx, c, cover.Set, time.Now(), seen, v.reason); err != nil {
			return v, err
		}
	}
	text, err := newProof(number, signs).text()
	if err == nil {
		err = coverage.Prove(ctx, c, cover.Set, text)
	}
	return v, err
}
