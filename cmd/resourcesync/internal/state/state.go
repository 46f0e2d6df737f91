// Package state opens the data that outlives a process: the state in a file or in PostgreSQL.
package state

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

// A State holds the data that outlives a process. It is the [rshttp.Store] of
// a Source, independent of its base URL: a site that moves keeps its notifications and
// subscriptions.
type State struct {
	*sqlstore.Store
	Notifications topiclog.Log

	Place    string // for people
	Database string // of PostgreSQL: its identity
	Shared   bool   // with other processes of the site
	Close    func() error
}

// Log implements [rshttp.Store].
func (s *State) Log(context.Context, string) (topiclog.Log, error) { return s.Notifications, nil }

// LockOf returns the lock of a bucket between the processes that use s, for a bucket that has none itself.
func (s *State) LockOf(bucket string) func(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
	return func(ctx context.Context, f func(ctx context.Context) error) (bool, error) {
		return s.TryLock(ctx, "documents in "+bucket, f)
	}
}

// Refuse returns an error that says how to get a usable state.
func Refuse(path string, err error) error {
	return settings.Errorf("state %q: %w; %s", path, err, Remedy(err))
}

// Remedy says how to get a usable state after an error.
func Remedy(err error) string {
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

// Open opens the state at path, for this process alone. log is the name of the log of
// notifications.
func Open(ctx context.Context, path, log string, o *sqlstore.Options) (*State, error) {
	if err := CheckFile(path); err != nil {
		return nil, Refuse(path, err)
	}
	lock, err := lockFile(path)
	if err != nil {
		return nil, Refuse(path, err)
	}
	s, err := OpenInUse(ctx, path, log, o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.Close = func() error { return errors.Join(s.Store.Close(), lock.Close()) }
	return s, nil
}

// OpenInUse opens the state at path, even if another process is using it.
func OpenInUse(ctx context.Context, path, log string, o *sqlstore.Options) (*State, error) {
	store, err := sqlitestore.OpenFile(ctx, path, o)
	if err != nil {
		return nil, Refuse(path, err)
	}
	s := &State{Store: store, Place: path, Close: store.Close}
	if s.Notifications, err = store.Log(ctx, log); err != nil {
		s.Close()
		return nil, Refuse(path, err)
	}
	return s, nil
}

// ReadFrom lets s read lists from a standby of its database. It closes s if the address is wrong, but not if
// the standby cannot be reached.
func (s *State) ReadFrom(ctx context.Context, address string) error {
	pool, err := pgxpool.New(ctx, address)
	if err != nil {
		return errors.Join(settings.Errorf("--read-from: %w", exit.OfDatabase(err)), s.Close())
	}
	pgstore.ReadFrom(ctx, s.Store, pool)
	end := s.Close
	s.Close = func() error { pool.Close(); return end() }
	return nil
}

// OpenPostgres opens the state in a PostgreSQL database.
func OpenPostgres(ctx context.Context, address, log string, o *sqlstore.Options) (*State, error) {
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
	s := &State{Shared: true}
	if s.Store, err = pgstore.Open(ctx, pool, o); err == nil {
		s.Notifications, err = s.Store.Log(ctx, log)
	}
	if err == nil {
		s.Database, err = tabledb.Identify(ctx, pool)
	}
	if err != nil {
		pool.Close()
		return nil, refuse(err)
	}
	s.Close = func() error {
		defer pool.Close()
		return s.Store.Close()
	}
	// Not the given address, which may contain a password.
	server := config.ConnConfig
	s.Place = "postgres://" + net.JoinHostPort(server.Host, strconv.Itoa(int(server.Port))) + "/" + server.Database
	return s, nil
}
