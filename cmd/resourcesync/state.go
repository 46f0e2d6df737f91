package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// A state is what serve remembers of a folder from one start to the next.
type state struct {
	store *sqlstore.Store
	set   *sqlstore.Set

	outbox topic.Outbox
	hub    hub.Store

	place string // for people
	close func() error
}

// openState opens the state that c asks for.
func openState(ctx context.Context, c *serveConfig, log *slog.Logger) (*state, error) {
	o := &sqlstore.Options{Window: time.Duration(c.window), Retain: time.Duration(c.retain), Logger: log}
	if c.stateIsPostgres() {
		return openPostgres(ctx, c, o)
	}
	return openSQLite(ctx, c, o)
}

// open opens what the store has under a name.
func (s *state) open(ctx context.Context, name string) (err error) {
	if s.set, err = s.store.Set(ctx, name, awaitScan); err != nil {
		return err
	}
	if s.outbox, err = s.store.Outbox(ctx, name); err != nil {
		return err
	}
	s.hub, err = s.store.HubStore(ctx, name)
	return err
}

// awaitScan keeps a new set closed until all files have been seen.
var awaitScan = &sqlstore.SetOptions{AwaitScan: true}

// openSQLite opens the state in a file, which holds one folder: its set keeps its
// name when the base URL changes, and so its checksums and its journal.
func openSQLite(ctx context.Context, c *serveConfig, o *sqlstore.Options) (*state, error) {
	path, err := stateFile(c.folder, c.state)
	if err != nil {
		return nil, err
	}
	refuse := func(err error) error {
		return usagef("state %q: %w; give another file with --state", path, err)
	}
	if err := checkStateFile(path); err != nil {
		return nil, refuse(err)
	}
	lock, err := lockStateFile(path)
	if err != nil {
		return nil, refuse(err)
	}
	store, err := sqlstore.OpenSQLite(ctx, path, o)
	if err != nil {
		lock.Close()
		return nil, refuse(err)
	}
	s := &state{store: store, place: path, close: func() error { return errors.Join(store.Close(), lock.Close()) }}
	if err := s.open(ctx, "files"); err != nil {
		s.close()
		return nil, refuse(err)
	}
	return s, nil
}

// openPostgres opens the state in a PostgreSQL database. The set has the name of
// the site, so that all who serve it share the set, and no others.
func openPostgres(ctx context.Context, c *serveConfig, o *sqlstore.Options) (*state, error) {
	refuse := func(err error) error {
		// The driver tells of each address that it has tried in a line of
		// its own.
		return usagef("--state: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	config, err := pgxpool.ParseConfig(c.state)
	if err != nil {
		return nil, refuse(err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, refuse(err)
	}
	s := &state{close: func() error { pool.Close(); return nil }}
	if s.store, err = sqlstore.Postgres(ctx, pool, o); err == nil {
		err = s.open(ctx, c.baseURL)
	}
	if err != nil {
		pool.Close()
		return nil, refuse(err)
	}
	// Not the address as it was given, which may have a password in it.
	server := config.ConnConfig
	s.place = "postgres://" + net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port))) + "/" + server.Database
	return s, nil
}
