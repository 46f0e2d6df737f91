package origin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A tableConfig is the configuration of a set of the rows of a table.
type tableConfig struct {
	Common
	tabledb.Settings
	witness string // the file of a journal's witness; "" for none
}

func (t *tableConfig) Declare(c *settings.Catalog) {
	t.Settings.Declare(c)
	c.Add(settings.Setting{Name: "witness", Value: settings.Text(&t.witness), Group: settings.State, Offer: completion.Files,
		Text: `A file outside of the database with the time of the newest published change. It
			shows a database that was restored while the program was stopped, and a replica of PostgreSQL
			that has lost nothing is not mistaken for one. It is created if it does not exist. Only for tables with
			triggers in PostgreSQL and SQLite.`})
	c.Change(settings.Setting{Name: "dumps", Default: "false",
		Text: "Not available: a table has no content to send in packages."})
	c.Change(settings.Setting{Name: "rescan",
		Text: `The interval at which the whole table is compared with the state. It finds what no trigger has
			recorded.`})
	c.Change(settings.Setting{Name: "state", Without: "a file in the cache folder of this user",
		Text: `The file, or the PostgreSQL database, that keeps the published resources, their changes, and
			subscriptions. If it is the same database as --db, in PostgreSQL or SQLite, and "resourcesync
			triggers" has created triggers there, the table itself is published, without a copy of its rows
			and without comparisons. With such triggers, another database is an error.`})
}

func (c *tableConfig) Check(string) error {
	var f settings.Faults
	f.Add(c.Settings.Check())
	f.If(c.Dumps, "dumps", "a table has no content to send in packages; leave it out")
	c.Set = cmp.Or(c.Set, c.Table.Name)
	return f.Err()
}

func (c *tableConfig) Question() string {
	return fmt.Sprintf("Does the table %s have all of its rows?", c.Table)
}

func (c *tableConfig) StateName() string { return "rows" }

func (c *tableConfig) Identity(string) (scan.Identity, error) {
	return scan.Identity{Name: c.place()}, nil
}

// place names the table, for people.
func (c *tableConfig) place() string {
	name := c.Table.Name
	if c.Table.Schema != "" {
		name = c.Table.Schema + "." + name
	}
	return "table " + name + " of " + tabledb.PlaceOf(c.DB)
}

// DefaultState implements [stateDefaulter].
func (c *tableConfig) DefaultState() (string, error) {
	if !tabledb.IsPostgres(c.DB) && !tabledb.IsMySQL(c.DB) {
		if _, err := paths.Real(c.DB); err != nil {
			return "", settings.Errorf("--db %q: %w", c.DB, paths.Reason(err))
		}
	}
	path, err := state.CacheFile(c.Table.Name, tabledb.PlaceOf(c.DB)+"\x00"+c.Table.Schema+"\x00"+c.Table.Name)
	if err != nil {
		return "", settings.Errorf("no place to keep state in by default: %w; give one, as in --state /var/lib/resourcesync/%s.db", err, c.Table.Name)
	}
	return path, nil
}

// A tableSet is a set of the rows of a table.
type tableSet struct {
	*Set
	*tableConfig
	db      *tabledb.DB
	listing *sqltable.Listing
}

func (c *tableConfig) Open(ctx context.Context, m *Set) (_ *Content, err error) {
	s := &tableSet{Set: m, tableConfig: c}
	if s.db, err = tabledb.Open(ctx, c.DB, tabledb.SameFile(c.DB, s.State.Place)); err != nil {
		return nil, settings.Errorf("%w", exit.OfDatabase(err))
	}
	content, err := s.open(ctx)
	if err != nil {
		s.db.Close()
		return nil, tabledb.Refuse("table", err)
	}
	content.From, content.Unit = slog.String("table", c.place()), "row"
	release := content.Close // of the journal, if there is one
	content.Close = func() error {
		var err error
		if release != nil {
			err = release()
		}
		return errors.Join(err, s.db.Close())
	}
	return content, nil
}

func (s *tableSet) open(ctx context.Context) (*Content, error) {
	shares, err := s.sharesState(ctx)
	if err != nil {
		return nil, err
	}
	if s.db.Mysql == nil {
		journalled, err := s.journalled(ctx, shares)
		if err != nil {
			return nil, err
		}
		if journalled != nil {
			s.Log.Info("changes are journalled by triggers", "journal", s.tableConfig.Set)
			return &Content{
				Set:    rshttp.Set{Provider: journalled},
				Status: statusOfJournal(journalled),
				Health: healthOfJournal(journalled),
				Notes:  notesOfJournal(journalled),
				Close:  journalled.Close,
			}, nil
		}
	}
	if shares {
		if err := s.Stored.TakeOver(ctx, s.tableConfig.Set); err != nil {
			return nil, err
		}
	}
	if s.listing, err = s.db.List(ctx, s.Table, &sqltable.ListingOptions{Triggers: s.tableConfig.Set, Name: s.place(), Logger: s.Log}); err != nil {
		return nil, err
	}
	return &Content{Origin: s.listing, Notes: s.notes}, nil
}

// sharesState reports whether the state is in the database of the table.
func (s *tableSet) sharesState(ctx context.Context) (bool, error) {
	state := s.State
	switch {
	case s.db.Postgres != nil && state.Database != "":
		database, err := tabledb.Identify(ctx, s.db.Postgres)
		return database == state.Database, err
	case s.db.Sqlite != nil:
		return tabledb.SameFile(s.tableConfig.DB, state.Place), nil
	}
	return false, nil
}

// journalled returns the table with the journal that its triggers write, or nil if there
// are no triggers.
func (s *tableSet) journalled(ctx context.Context, shares bool) (*sqltable.Journalled, error) {
	triggers, err := s.db.Triggers(ctx)
	if err != nil {
		return nil, err
	}
	if !shares {
		found, err := triggers.Found(ctx, s.Table, s.tableConfig.Set)
		if err == nil && found {
			err = fmt.Errorf("triggers journal the table for the set %q, but the state is not in their database: give --state the address of --db%s; or drop the triggers, or give another --set, to find changes by comparison", s.tableConfig.Set, s.stateOfTable())
		}
		return nil, err
	}
	installed, err := triggers.Installed(ctx, s.Table, s.tableConfig.Set)
	if err != nil || !installed {
		return nil, err
	}
	p, err := s.db.Open(ctx, s.Table)
	if err != nil {
		return nil, err
	}
	limits := s.tableConfig.StoreOptions()
	return p.Journal(ctx, s.State.Store, s.tableConfig.Set, &sqltable.JournalOptions{
		Logger: s.Log, Witness: s.witness, MaxDelete: limits.MaxDelete, MaxDeleteHold: limits.MaxDeleteHold,
	})
}

// stateOfTable names the part that the addresses of a table and of its state must have
// in common.
func (s *tableSet) stateOfTable() string {
	if s.db.Postgres != nil {
		return ", with the same schema first in the search path"
	}
	return ""
}

// journalTimeout bounds the queries of a journal for a status, so that healthz still answers in
// time.
const journalTimeout = 3 * time.Second

// statusOfJournal returns the function that adds the proof of a journal to a status.
func statusOfJournal(j *sqltable.Journalled) func(*status.Set) {
	return func(s *status.Set) {
		ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
		defer cancel()
		if p, err := j.Proof(ctx); err == nil { // health has the error
			s.Journal = &p
		}
		if pending, err := j.Pending(ctx); err == nil && !pending.IsZero() {
			s.Pending = new(max(0, time.Since(pending).Seconds()))
		}
		if kept, err := j.Kept(ctx); err == nil && kept.Held > 0 {
			s.Held = &status.Held{Files: kept.Held, Since: kept.Since, Until: kept.Until, Unit: "row",
				Question: "The condition of the table has changed. Does it still select all rows of the set?"}
		}
	}
}

// notesOfJournal returns the function that reports why a journal restarted, and what the
// lists omit.
func notesOfJournal(j *sqltable.Journalled) func() []string {
	return func() (all []string) {
		ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
		defer cancel()
		if p, err := j.Proof(ctx); err == nil && !p.Restarted.IsZero() { // health has the error
			because, _, _ := strings.Cut(p.Reason, ":")
			all = append(all, "the journal started over at "+timetext.Of(p.Restarted)+", because "+because)
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

// notes reports rows that the lists omit, and an outbox that no process may drain.
func (s *tableSet) notes() []string {
	all := omittedNotes(s.listing.Omitted())
	if unseen := s.listing.Unseen(); unseen != nil && !unseen.Hidden {
		all = append(all, "triggers record changes that are not read; the log names their outbox")
	}
	return all
}

// healthOfJournal returns the function that reports deletions that a journal holds. The
// Source reports its other errors.
func healthOfJournal(j *sqltable.Journalled) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), journalTimeout)
		defer cancel()
		kept, err := j.Kept(ctx)
		if err == nil && kept.Held > 0 {
			err = fmt.Errorf(`%w: %d rows have left the lists since %s, because the condition of the table has changed, and are not published as deleted. They are published as deleted %s, or at once by "resourcesync confirm-deletions"`,
				scan.ErrHeld, kept.Held, timetext.Of(kept.Since), kept.Release())
		}
		return err
	}
}

// ConfirmJournal implements [journaler].
func (c *tableConfig) ConfirmJournal(ctx context.Context, st *state.State) (int64, error) {
	journals, err := st.Store.Journals(ctx)
	if err != nil || !slices.Contains(journals, c.Set) {
		return 0, err
	}
	journal, err := st.Store.Journal(ctx, c.Set)
	if err != nil {
		return 0, err
	}
	return journal.ConfirmDeletions(ctx)
}
