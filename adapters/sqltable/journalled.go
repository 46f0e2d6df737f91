package sqltable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

// A Journalled is a table with the journal of its changes, for the field Provider of
// rshttp.Set. The Set supplies the resources, and the Journal the state and the changes.
// Its Count of resources is unknown.
type Journalled struct {
	*Set
	*sqlstore.Journal

	divider divider
	watch   *watch
}

var (
	_ resourcesync.Provider = (*Journalled)(nil)
	_ resourcesync.Stater   = (*Journalled)(nil)
	_ resourcesync.Cutter   = (*Journalled)(nil)
	_ resourcesync.Windower = (*Journalled)(nil)
	_ resourcesync.Sealer   = (*Journalled)(nil)
	_ resourcesync.Watcher  = (*Journalled)(nil)
	_ resourcesync.Coverer  = (*Journalled)(nil)
)

// JournalOptions configure a [Journalled]. The zero value is a reasonable default.
type JournalOptions struct {
	// Logger receives the findings of the journal about itself. If nil, slog.Default()
	// is used.
	Logger *slog.Logger

	// MaxDelete and MaxDeleteHold limit the deletions that another Where or Deleted of the
	// Table causes, as scan.SetOptions limits the deletions that a scan finds. The rows leave
	// the lists at once, whether or not their deletions are held.
	MaxDelete     float64
	MaxDeleteHold time.Duration

	// Witness is a file outside of the database, which is created if it does not exist. It
	// has the time of the newest change that this process has published. So a database
	// that was restored from a backup while the process was stopped is recognized, and a
	// replica of PostgreSQL that has taken over without losing a change is not mistaken
	// for one. Each process and each journal needs its own file. If empty, there is none; a
	// process that runs is a witness in any case.
	Witness string
}

// Journal opens the journal with this name in the store, or creates it, and makes sure
// that triggers on the table write it. It takes the statements of [Triggers].Create for
// the Table of p, and applies them if the triggers of the table are missing or differ.
// Only then does the database role need the privileges to do so. Triggers with another URI
// template are an error, as in [Triggers].Create. o may be nil.
//
// The journal then knows whether it has seen everything. The store has a proof, which Journal,
// and Journalled.Run every ten seconds, compare with the triggers and the database. If triggers
// were missing, disabled or altered, or the database is a different one, they are made again,
// and the journal starts over: Since moves to now, and every Destination compares its copy with
// the Resource List. The log says why, and so does [Journalled.Proof]. docs/table.md lists what
// cannot be recognized.
//
// With another Where or Deleted, the rows that leave the set are journalled as deleted, and
// those that enter it as created. The table is locked against writes meanwhile. Many deletions
// are held: see [Journalled.Kept].
//
// The store must be in the database of the table; in SQLite, in the same file. Tables of
// MariaDB and MySQL, views and queries cannot be journalled.
func (p *Set) Journal(ctx context.Context, store *sqlstore.Store, name string, o *JournalOptions) (*Journalled, error) {
	db, ok := p.db.(engine.JournalDB)
	if !ok {
		return nil, p.fail("journal", errors.New("only tables of PostgreSQL and SQLite can be journalled; for MariaDB and MySQL, use a Listing with an Outbox"))
	}
	if _, err := (&Triggers{db}).find(ctx, p.rel.table); err != nil {
		return nil, p.fail("journal", err)
	}
	journal, err := store.Journal(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := newWatch(db, p.rel, journal, o)
	if err != nil {
		return nil, p.fail("journal", err)
	}
	v, err := w.check(ctx, true, false)
	if err != nil {
		return nil, p.fail("triggers", err)
	}
	if v.made {
		if p, err = newSet(ctx, p.db, p.rel.table); err != nil { // with the triggers that it has now
			return nil, err
		}
	}
	p.omitted.log = w.log
	return &Journalled{Set: p, Journal: journal, divider: divider{table: p, journal: journal}, watch: w}, nil
}

// templateMark begins the line of a trigger that has the URI template.
const templateMark = "-- URI template: "

// journalledURIs returns the URI templates of the triggers on a table, by the prefix of
// their names. The template is "" for triggers of early versions, which have none.
func journalledURIs(ctx context.Context, db engine.DB, rel *relation) (map[string]string, error) {
	t, ok := db.(engine.JournalDB)
	if !ok || !rel.IsTable {
		return nil, nil
	}
	templates := map[string]string{}
	err := t.TriggersOn(ctx, &rel.Relation, func(name, sql string) {
		_, line, _ := strings.Cut(sql, templateMark)
		line, _, _ = strings.Cut(line, "\n")
		template, _ := strconv.Unquote(strings.TrimSpace(line)) // "" if there is no line
		templates[strings.TrimSuffix(name, "_insert")] = template
	})
	return templates, err
}

// CheckChanger returns an error if c is a journal whose triggers write other URIs than
// the table has: Destinations would see two resources for each row, and never the
// deletion of either. It returns a warning for triggers of an early version, which do
// not have their URI template. It checks the triggers that existed when the table was
// opened. rshttp.New calls it.
func (p *Set) CheckChanger(c resourcesync.Changer) (warning string, err error) {
	named, ok := c.(interface{ Name() string })
	if !ok {
		return "", nil
	}
	template, ok := p.journalled[baseName(p.rel, named.Name())]
	if ok && template == "" {
		return fmt.Sprintf("sqltable: %s: triggers of an earlier version: create them again so that their URIs can be checked", p.rel.title), nil
	}
	if err := checkTemplate(p.journalled, p.rel, named.Name()); err != nil {
		return "", fmt.Errorf("sqltable: %s: %w", p.rel.title, err)
	}
	return "", nil
}

// checkTemplate returns an error if templates, from journalledURIs, has another URI template
// for the set than rel has. Destinations would keep the resources at their
// former URIs, and never see the deletion of any.
func checkTemplate(templates map[string]string, rel *relation, set string) error {
	template := templates[baseName(rel, set)]
	if template == "" || template == rel.table.URI {
		return nil
	}
	return fmt.Errorf("its triggers for the set %q journal the URIs %s, but the table is opened with %s: give the former URIs again; or, if the resources have moved, drop the triggers and choose another name for the set, whose new journal makes Destinations compare their copies with the Resource List",
		set, template, rel.table.URI)
}
