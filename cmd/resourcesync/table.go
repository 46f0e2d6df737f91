package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A tableConfig is the configuration of a set of the rows of a table.
type tableConfig struct {
	setSettings
	tableSettings
	witness string // the file of a journal's witness; "" for none
}

func (c *tableConfig) flags(flags *flag.FlagSet) {
	setDefault(flags, "dumps", "false")
	c.tableFlags(flags)
	flags.StringVar(&c.witness, "witness", "", "")
}

func (c *tableConfig) required() []requirement { return c.requiredOfTable(true) }

func (c *tableConfig) check(*siteConfig) error {
	if err := c.checkTable(); err != nil {
		return usageError{err}
	}
	if c.dumps {
		return usagef("--dumps: a table has no content to send in packages; leave it out")
	}
	if c.set == "" {
		c.set = c.table.Name
	}
	return nil
}

func (c *tableConfig) stateName() string { return "rows" }

func (c *tableConfig) checkOwner(ctx context.Context, _ *siteConfig, set *sqlstore.Set) (origin, error) {
	return c.checkSource(ctx, set, c.place())
}

// place names the table, for people.
func (c *tableConfig) place() string {
	name := c.table.Name
	if c.table.Schema != "" {
		name = c.table.Schema + "." + name
	}
	return "table " + name + " of " + placeOf(c.db)
}

// defaultState implements [stateDefaulter].
func (c *tableConfig) defaultState() (string, error) {
	if !isPostgres(c.db) && !isMySQL(c.db) {
		if _, err := realPath(c.db); err != nil {
			return "", usagef("--db %q: %w", c.db, reason(err))
		}
	}
	path, err := cacheFile(c.table.Name, placeOf(c.db)+"\x00"+c.table.Schema+"\x00"+c.table.Name)
	if err != nil {
		return "", usagef("no place to keep state in by default: %w; give one, as in --state /var/lib/resourcesync/%s.db", err, c.table.Name)
	}
	return path, nil
}

// A tableSet is a set of the rows of a table.
type tableSet struct {
	*member
	*tableConfig
	db      *tableDB
	listing *sqltable.Listing
	outbox  *sqltable.Outbox                     // nil if there is none
	unseen  atomic.Pointer[sqltable.UnseenError] // the last that was logged
	trouble atomic.Pointer[error]                // of the last attempt to drain it
}

func (c *tableConfig) open(ctx context.Context, m *member) (_ *content, err error) {
	s := &tableSet{member: m, tableConfig: c}
	if s.db, err = openTableDB(ctx, c.db, sameFile(c.db, s.daemon.state.place)); err != nil {
		return nil, usageError{ofDatabase(err)}
	}
	content, err := s.open(ctx)
	if err != nil {
		s.db.close()
		return nil, usagef("table: %w", ofDatabase(err))
	}
	content.from, content.unit = slog.String("table", c.place()), "row"
	release := content.close // of the journal, if there is one
	content.close = func() error {
		var err error
		if release != nil {
			err = release()
		}
		return errors.Join(err, s.db.close())
	}
	return content, nil
}

func (s *tableSet) open(ctx context.Context) (*content, error) {
	shares, err := s.sharesState(ctx)
	if err != nil {
		return nil, err
	}
	if s.db.mysql == nil {
		journalled, err := s.journalled(ctx, shares)
		if err != nil {
			return nil, err
		}
		if journalled != nil {
			s.log.Info("changes are journalled by triggers", "journal", s.tableConfig.set)
			return &content{
				set:    rshttp.Set{Provider: journalled},
				status: statusOfJournal(journalled),
				health: healthOfJournal(journalled),
				notes:  notesOfJournal(journalled),
				close:  journalled.Close,
			}, nil
		}
	}
	if shares {
		if err := s.member.set.TakeOver(ctx, s.tableConfig.set); err != nil {
			return nil, err
		}
	}
	if s.listing, err = s.db.list(ctx, s.table, &sqltable.ListingOptions{Logger: s.log}); err != nil {
		return nil, err
	}
	content := &content{list: s.list, total: s.total, current: s.currentURIs(s.table.URI), notes: s.notes}
	s.outbox, err = s.listing.Outbox(ctx, s.tableConfig.set)
	switch unseen, _ := errors.AsType[*sqltable.UnseenError](err); {
	case err == nil:
		s.log.Info("changes are recorded by triggers", "journal", s.tableConfig.set)
		content.watch, content.health = s.watch, s.health
	case unseen != nil:
		s.logUnseen(unseen)
		s.log.Info("changes are found by comparison", "every", s.rescan, "triggers", "none that this user can see")
	case errors.Is(err, sqltable.ErrNoTriggers):
		s.log.Info("changes are found by comparison", "every", s.rescan, "triggers", "none for the set "+s.tableConfig.set)
	default:
		return nil, err
	}
	return content, nil
}

// logUnseen logs that nobody may drain the outbox of the table, once for each change that is
// the first to wait.
func (s *tableSet) logUnseen(unseen *sqltable.UnseenError) {
	if before := s.unseen.Load(); before != nil && before.Since.Equal(unseen.Since) && before.Hidden == unseen.Hidden {
		return
	}
	s.unseen.Store(unseen)
	level := slog.LevelWarn
	if unseen.Hidden { // there may be no triggers
		level = slog.LevelInfo
	}
	s.log.Log(context.Background(), level, "changes that triggers record are not read", "outbox", unseen.Outbox, "because", unseen.Error())
}

// sharesState reports whether the state is in the database of the table.
func (s *tableSet) sharesState(ctx context.Context) (bool, error) {
	state := s.daemon.state
	switch {
	case s.db.postgres != nil && state.database != "":
		database, err := identify(ctx, s.db.postgres)
		return database == state.database, err
	case s.db.sqlite != nil:
		return sameFile(s.tableConfig.db, state.place), nil
	}
	return false, nil
}

// journalled returns the table with the journal that its triggers write, or nil if there
// are no triggers.
func (s *tableSet) journalled(ctx context.Context, shares bool) (*sqltable.Journalled, error) {
	triggers, err := s.db.triggers(ctx)
	if err != nil {
		return nil, err
	}
	if !shares {
		found, err := triggers.Found(ctx, s.table, s.tableConfig.set)
		if err == nil && found {
			err = fmt.Errorf("triggers journal the table for the set %q, but the state is not in their database: give --state the address of --db%s; or drop the triggers, or give another --set, to find changes by comparison", s.tableConfig.set, s.stateOfTable())
		}
		return nil, err
	}
	installed, err := triggers.Installed(ctx, s.table, s.tableConfig.set)
	if err != nil || !installed {
		return nil, err
	}
	p, err := s.db.open(ctx, s.table)
	if err != nil {
		return nil, err
	}
	limits := s.tableConfig.storeOptions()
	return p.Journalled(ctx, s.daemon.state.Store, s.tableConfig.set, &sqltable.JournalledOptions{
		Logger: s.log, Witness: s.witness, MaxDelete: limits.MaxDelete, MaxDeleteHold: limits.MaxDeleteHold,
	})
}

// stateOfTable names what the addresses of a table and of its state must have in common.
func (s *tableSet) stateOfTable() string {
	if s.db.postgres != nil {
		return ", with the same schema first in the search path"
	}
	return ""
}

// statusOfJournal returns the function that adds the proof of a journal to a status.
func statusOfJournal(j *sqltable.Journalled) func(*setStatus) {
	return func(s *setStatus) {
		ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
		defer cancel()
		if p, err := j.Proof(ctx); err == nil { // health has the error
			s.Journal = &p
		}
		if pending, err := j.Pending(ctx); err == nil && !pending.IsZero() {
			s.Pending = new(max(0, time.Since(pending).Seconds()))
		}
		if kept, err := j.Kept(ctx); err == nil && kept.Held > 0 {
			s.Held = &heldStatus{kept.Held, kept.Since, kept.Until, false}
		}
	}
}

// notesOfJournal returns the function that reports why a journal began anew, and what the
// lists omit.
func notesOfJournal(j *sqltable.Journalled) func() []string {
	return func() (all []string) {
		ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
		defer cancel()
		if p, err := j.Proof(ctx); err == nil && !p.Restarted.IsZero() { // health has the error
			because, _, _ := strings.Cut(p.Reason, ":")
			all = append(all, "the journal began anew at "+p.Restarted.Format(time.RFC3339)+", because "+because)
		}
		return append(all, omittedNotes(j.Omitted())...)
	}
}

func omittedNotes(n sqltable.Omitted) (all []string) {
	if n.Rows > 0 {
		all = append(all, fmt.Sprintf("%d rows are left out, because no document can list them; the log names the first", n.Rows))
	}
	if n.Fields > 0 {
		all = append(all, fmt.Sprintf("%d lengths or times of rows are left out, because no document can state them; the log names the first", n.Fields))
	}
	return all
}

// notes reports what the lists omit, and an outbox that nobody may drain.
func (s *tableSet) notes() []string {
	all := omittedNotes(s.listing.Omitted())
	if unseen := s.unseen.Load(); unseen != nil && !unseen.Hidden {
		all = append(all, "triggers record changes that are not read; the log names their outbox")
	}
	return all
}

// healthOfJournal returns the function that reports deletions that a journal holds. The
// Source reports what else is wrong with it.
func healthOfJournal(j *sqltable.Journalled) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
		defer cancel()
		kept, err := j.Kept(ctx)
		if err == nil && kept.Held > 0 {
			err = fmt.Errorf(`%w: %d rows have left the lists since %s, because the condition of the table has changed, and are not published as deleted. They are published as deleted %s, or at once by "resourcesync confirm-deletions"`,
				errHeld, kept.Held, kept.Since.Format(time.RFC3339), releaseTime(kept))
		}
		return err
	}
}

func (s *tableSet) list(ctx context.Context) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		if s.unseen.Load() != nil {
			_, err := s.listing.Outbox(ctx, s.tableConfig.set)
			if unseen, ok := errors.AsType[*sqltable.UnseenError](err); ok {
				s.logUnseen(unseen)
			}
		}
		s.listing.Resources(ctx)(yield)
		s.scanner.skipped.Store(s.listing.Omitted().Rows)
	}
}

func (s *tableSet) total(ctx context.Context) (rows, bytes int64, err error) {
	rows, err = s.listing.Count(ctx)
	return rows, 0, err
}

// watchRetry is the delay after a failure of the database.
const watchRetry = 5 * time.Second

// watch drains the outbox until ctx ends. Changes that cannot be read or applied stay in the
// outbox.
func (s *tableSet) watch(ctx context.Context, changed func(paths []string)) error {
	drain := func() error {
		result, err := s.outbox.Drain(ctx, s.member.set)
		if errors.Is(err, resourcesync.ErrScanning) || errors.Is(err, resourcesync.ErrNotReady) {
			return nil // the next poll drains it
		}
		if !s.scanner.tookPart(result) {
			changed(nil)
		}
		return err
	}
	for {
		err := s.outbox.Watch(ctx, func() {
			s.note(ctx, "changes that triggers have recorded cannot be applied; they stay recorded", drain())
		})
		for err != nil {
			s.note(ctx, "changes that triggers have recorded cannot be read", err)
			if err := background.Sleep(ctx, watchRetry); err != nil {
				return err
			}
			err = drain()
		}
		s.note(ctx, "", nil)
	}
}

// note logs a failure to drain the outbox, and its end, and keeps it for health.
func (s *tableSet) note(ctx context.Context, message string, err error) {
	if ctx.Err() != nil {
		return
	}
	before := s.trouble.Swap(&err)
	switch known := before != nil && *before != nil; {
	case err == nil && known:
		s.log.Info("changes that triggers have recorded are applied again")
	case err != nil && (!known || (*before).Error() != err.Error()): // a repeated error is logged once
		s.log.Error(message, "error", err)
	}
}

// health returns the error of the last attempt to drain the outbox.
func (s *tableSet) health() error {
	if err := s.trouble.Load(); err != nil {
		return *err
	}
	return nil
}
