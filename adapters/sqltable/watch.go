package sqltable

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/coverage"
	"github.com/resourcesync-go/resourcesync/scan"
)

// proveInterval is the time between two proofs that a journal is complete.
const proveInterval = 10 * time.Second

// A watch proves from time to time that a journal is complete.
type watch struct {
	log   *slog.Logger
	title string

	checking sync.Mutex // held for a check
	prover   prover

	mu     sync.Mutex
	proven time.Time // when the journal was proven last
	failed error     // of the last check
}

func newWatch(db engine.JournalDB, rel *relation, journal *sqlstore.Journal, o *JournalOptions) (*watch, error) {
	if o == nil {
		o = &JournalOptions{}
	}
	w := &watch{log: o.Logger, title: rel.title}
	if w.log == nil {
		w.log = slog.Default()
	}
	w.prover = prover{db: db, table: rel.table, title: rel.title, set: journal.Name(), log: w.log, journal: journal}
	w.prover.limits = scan.SetOptions{MaxDelete: o.MaxDelete, MaxDeleteHold: o.MaxDeleteHold}
	var err error
	w.prover.witness, err = openWitness(o.Witness, rel.title+" "+journal.Name())
	return w, err
}

// check proves that the journal is complete, or makes it start over, and logs which. start
// and force are as in [prover.check].
func (w *watch) check(ctx context.Context, start, force bool) (verdict, error) {
	w.checking.Lock()
	defer w.checking.Unlock()
	v, err := w.prover.check(ctx, start, force)
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	w.mu.Lock()
	before := w.failed
	if w.failed = err; err == nil {
		w.proven = time.Now()
	}
	w.mu.Unlock()
	log := w.log.With("table", w.title, "journal", w.prover.set)
	switch {
	case err != nil && !start && (before == nil || before.Error() != err.Error()):
		message := "the database cannot be asked whether the journal is complete; it is asked again"
		if errors.Is(err, ErrUnproven) {
			message = "the journal cannot be proven complete"
		}
		log.ErrorContext(ctx, message, "error", err)
	case err == nil && before != nil:
		log.InfoContext(ctx, "the journal can be proven complete again")
	}
	if err == nil && v.difference != (difference{}) {
		log.WarnContext(ctx, "the condition of the table has changed: rows leave and enter the set", "leave", v.left, "enter", v.entered)
		if v.held > 0 {
			log.ErrorContext(ctx, "deletions are held: too many rows leave the set", "rows", v.held, "confirm", "resourcesync confirm-deletions, or Journal.ConfirmDeletions")
		}
	}
	switch {
	case err != nil:
	case v.first:
		log.InfoContext(ctx, "the journal begins", "since", v.since)
	case v.reason != "":
		log.WarnContext(ctx, "the journal starts over, because changes may have been missed: every Destination compares its copy", "because", v.reason, "since", v.since)
	case v.made:
		log.InfoContext(ctx, "the triggers of the journal were made again; nothing was missed")
	case start:
		log.InfoContext(ctx, "the journal has seen every change")
	}
	return v, err
}

// err returns the error of the last check.
func (w *watch) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// unproven returns the error of the last check if changes may be missing from the journal.
func (w *watch) unproven() error {
	err := w.err()
	if errors.Is(err, ErrUnproven) {
		return err
	}
	return nil
}

// Run proves every ten seconds that the journal is complete, until ctx ends, and then
// returns nil. Source.Run of package rshttp calls it. One process that runs it is enough.
func (j *Journalled) Run(ctx context.Context) error {
	for background.Sleep(ctx, proveInterval) == nil {
		j.prove(ctx)
	}
	return nil
}

// prove proves that the journal is complete, and publishes deletions that have been held for long enough.
func (j *Journalled) prove(ctx context.Context) {
	_, err := j.watch.check(ctx, false, false) // logged, and kept for Health
	if err != nil && !errors.Is(err, ErrUnproven) {
		return // the database does not answer
	}
	switch n, err := j.Journal.ReleaseDeletions(ctx, &j.watch.prover.limits); {
	case err != nil && ctx.Err() == nil:
		j.watch.log.ErrorContext(ctx, "held deletions cannot be read or published", "error", err)
	case n > 0:
		j.watch.log.InfoContext(ctx, "held deletions are published", "rows", n)
	}
}

// Close numbers the last changes and records in the witness, if there is one, that this process has
// published nothing later. Call it when the process no longer serves requests. Without it, the journal starts
// over if the next process finds a new timeline of PostgreSQL. It also closes the Set.
func (j *Journalled) Close() error {
	j.watch.checking.Lock()
	defer j.watch.checking.Unlock()
	return errors.Join(j.watch.prover.close(), j.Set.Close())
}

// Health returns why the journal could not be proven complete, or nil.
func (j *Journalled) Health(context.Context) error { return j.Set.fail("journal", j.watch.err()) }

// Kept describes the deletions of rows that a new condition has taken out of the set, and
// that are held because there are too many. [sqlstore.Journal.ConfirmDeletions] publishes
// them. Rows that come back in the meantime are not deleted.
func (j *Journalled) Kept(ctx context.Context) (scan.Kept, error) {
	return j.Journal.Kept(ctx, &j.watch.prover.limits)
}

// Stat implements [resourcesync.Stater]. It fails while changes may be missing from the
// journal and it cannot start over, so that no document is silently wrong.
func (j *Journalled) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if err := j.watch.unproven(); err != nil {
		return resourcesync.Stat{}, j.Set.fail("journal", err)
	}
	return j.Journal.Stat(ctx, r)
}

// Since implements [resourcesync.Changer]. It fails as Stat does.
func (j *Journalled) Since(ctx context.Context) (time.Time, error) {
	if err := j.watch.unproven(); err != nil {
		return time.Time{}, j.Set.fail("journal", err)
	}
	return j.Journal.Since(ctx)
}

// A Proof says how complete a journal is.
type Proof struct {
	// Since is the time from which on the journal is complete.
	Since time.Time `json:"since"`

	// Proven is when this process last proved that the journal has seen every change since
	// Since.
	Proven time.Time `json:"proven"`

	// Restarted is when the journal last started over, in any process, and Reason why. They are
	// zero if it never did. The Reason names objects of the database only after its first
	// colon.
	Restarted time.Time `json:"restarted,omitzero"`
	Reason    string    `json:"reason,omitempty"`
}

// Proof returns how complete the journal is.
func (j *Journalled) Proof(ctx context.Context) (Proof, error) {
	w := j.watch
	w.mu.Lock()
	p := Proof{Proven: w.proven}
	w.mu.Unlock()
	cover, err := coverage.Read(ctx, w.prover.db, w.prover.set)
	if err == nil {
		p.Since, err = j.Since(ctx)
	}
	p.Restarted, p.Reason = cover.Restarted, cover.Reason
	return p, j.Set.fail("proof", err)
}
