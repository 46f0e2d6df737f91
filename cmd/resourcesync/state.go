package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A state holds the data that outlives a process. It is the [rshttp.Store] of
// a Source, independent of its base URL: a site that moves keeps its notifications and
// subscriptions.
type state struct {
	*sqlstore.Store
	log topiclog.Log

	place    string // for people
	database string // of PostgreSQL: its identity
	shared   bool   // with other processes of the site
	close    func() error
}

// openState opens the state that c asks for. A state in a file is for this process
// alone.
func openState(ctx context.Context, c *siteConfig, log *slog.Logger) (*state, error) {
	if c.stateIsPostgres() {
		return openPostgres(ctx, c, c.storeOptions(log))
	}
	path, err := c.stateFile()
	if err != nil {
		return nil, err
	}
	if err := checkStateFile(path); err != nil {
		return nil, refuseState(path, err)
	}
	lock, err := lockStateFile(path)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s, err := openStateFile(ctx, c, path, c.storeOptions(log))
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.close = func() error { return errors.Join(s.Store.Close(), lock.Close()) }
	return s, nil
}

func (c *siteConfig) storeOptions(log *slog.Logger) *sqlstore.Options {
	return &sqlstore.Options{Window: c.window, Retain: c.retain, Archive: c.archive, Logger: log}
}

// setName returns the name of a set in the state. A file holds the sets of one site, whose
// names do not depend on the base URL: a site that moves keeps its checksums and its
// journal. In a database, a set has the name of the site, so that exactly the processes
// that serve it share the set.
func (s *state) setName(c *siteConfig, set setConfig) string {
	name := set.common().name
	switch {
	case s.shared && name == "":
		return c.baseURL
	case s.shared:
		return c.baseURL + "#" + name
	case name == "":
		return set.stateName()
	}
	return name
}

// logName returns the name of the log of notifications in the state.
func (s *state) logName(c *siteConfig) string {
	switch {
	case s.shared:
		return c.baseURL
	case c.sets[0].common().name == "":
		return c.sets[0].stateName()
	}
	return "sets"
}

// checkKind returns an error if the state is a file that another command has created. A
// set without a name is alone there, so the two would not even see each other's resources.
// The file of a table may be a host's database, with sets of the host.
func (s *state) checkKind(ctx context.Context, config setConfig) error {
	if _, isTable := config.(*tableConfig); isTable || s.shared || config.common().name != "" {
		return nil
	}
	names, err := s.Sets(ctx)
	if err != nil || slices.Contains(names, config.stateName()) {
		return err
	}
	for _, k := range kinds {
		if other := k.create().stateName(); slices.Contains(names, other) {
			return settings.Errorf("state %q: it is the state of resourcesync %s, with its %s; give another file with --state", s.place, k.command, other)
		}
	}
	return nil
}

// openSet opens a stored set.
func (s *state) openSet(ctx context.Context, c *siteConfig, config setConfig) (*sqlstore.Set, error) {
	if err := s.checkKind(ctx, config); err != nil {
		return nil, err
	}
	set, err := s.Store.Set(ctx, s.setName(c, config), config.common().storeOptions())
	if err != nil {
		return nil, refuseState(s.place, err)
	}
	return set, nil
}

// Log implements [rshttp.Store].
func (s *state) Log(context.Context, string) (topiclog.Log, error) { return s.log, nil }

// refuseState returns an error that says how to get a usable state.
func refuseState(path string, err error) error {
	return settings.Errorf("state %q: %w; %s", path, err, stateRemedy(err))
}

// stateRemedy says how to get a usable state after an error.
func stateRemedy(err error) string {
	remedy := "give another file with --state"
	switch {
	case errors.Is(err, exit.ErrInUse):
		remedy = "stop that one or wait until it has ended, or " + remedy
	case errors.Is(err, sqlstore.ErrNewer):
		remedy = "use that program, or restore the backup of the state from before the upgrade"
	case exit.IsFull(err):
		remedy = "make room on the disk, or give a file on another one with --state"
	case sqlite.ErrCode(err).ToPrimary() == sqlite.ResultIOErr:
		remedy = "check the disk, and the limit for the size of files (ulimit -f), or " + remedy
	case errors.Is(err, fs.ErrPermission):
		remedy = "let this user read and write the file, those beside it whose names begin with its name, and their folder, or " + remedy
	}
	return remedy
}

// openStateFile opens the state at path, even if another process is using it.
func openStateFile(ctx context.Context, c *siteConfig, path string, o *sqlstore.Options) (*state, error) {
	store, err := sqlitestore.OpenFile(ctx, path, o)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s := &state{Store: store, place: path, close: store.Close}
	if s.log, err = store.Log(ctx, s.logName(c)); err != nil {
		s.close()
		return nil, refuseState(path, err)
	}
	return s, nil
}

// openPostgres opens the state in a PostgreSQL database.
func openPostgres(ctx context.Context, c *siteConfig, o *sqlstore.Options) (*state, error) {
	refuse := func(err error) error {
		return settings.Errorf("--state: %w", exit.OfDatabase(err))
	}
	config, err := pgxpool.ParseConfig(c.state)
	if err != nil {
		return nil, refuse(err)
	}
	pgstore.Follow(config)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, refuse(err)
	}
	s := &state{shared: true, close: func() error { pool.Close(); return nil }}
	if s.Store, err = pgstore.Open(ctx, pool, o); err == nil {
		s.log, err = s.Store.Log(ctx, s.logName(c))
	}
	if err == nil {
		s.database, err = tabledb.Identify(ctx, pool)
	}
	if err != nil {
		pool.Close()
		return nil, refuse(err)
	}
	// Not the given address, which may contain a password.
	server := config.ConnConfig
	s.place = "postgres://" + net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port))) + "/" + server.Database
	return s, nil
}

// refuseOrigin returns the error for a set with the resources of another origin.
func (s *state) refuseOrigin(c *setSettings, e *scan.OriginError) error {
	if e.Origin.Given != "" && e.Origin.Given == e.Recorded.Given {
		return settings.Errorf("state %q: %q now points to %q, which shares no files with %q, the recorded folder; if that is intended, start once with --moved; otherwise %s",
			s.place, e.Origin.Given, e.Origin.Name, e.Recorded.Name, c.apart())
	}
	return settings.Errorf("state %q: it has the resources of %s, not those of %s; if they have moved, start once with --moved; otherwise %s",
		s.place, e.Recorded.Name, e.Origin.Name, c.apart())
}
