package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"
	"zombiezen.com/go/sqlite"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A state holds the data that outlives a process. It is the [rshttp.Store] of
// a Source, independent of its base URL: a site that moves keeps its notifications and
// subscriptions.
type state struct {
	*sqlstore.Store
	notifications topiclog.Log

	place    string // for people
	database string // of PostgreSQL: its identity
	shared   bool   // with other processes of the site
	close    func() error
}

// Log implements [rshttp.Store].
func (s *state) Log(context.Context, string) (topiclog.Log, error) { return s.notifications, nil }

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

// openForSite opens the state at path, for this process alone. log is the name of the log of
// notifications.
func openForSite(ctx context.Context, path, log string, o *sqlstore.Options) (*state, error) {
	if err := checkStateFile(path); err != nil {
		return nil, refuseState(path, err)
	}
	lock, err := lockStateFile(path)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s, err := openStateFile(ctx, path, log, o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.close = func() error { return errors.Join(s.Store.Close(), lock.Close()) }
	return s, nil
}

// openStateFile opens the state at path, even if another process is using it.
func openStateFile(ctx context.Context, path, log string, o *sqlstore.Options) (*state, error) {
	store, err := sqlitestore.OpenFile(ctx, path, o)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s := &state{Store: store, place: path, close: store.Close}
	if s.notifications, err = store.Log(ctx, log); err != nil {
		s.close()
		return nil, refuseState(path, err)
	}
	return s, nil
}

// openPostgres opens the state in a PostgreSQL database.
func openPostgres(ctx context.Context, address, log string, o *sqlstore.Options) (*state, error) {
	refuse := func(err error) error {
		return settings.Errorf("--state: %w", exit.OfDatabase(err))
	}
	config, err := pgxpool.ParseConfig(address)
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
		s.notifications, err = s.Store.Log(ctx, log)
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
