package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A state is what serve and proxy keep from one start to the next. It is the
// [rshttp.Store] of a Source, whatever base URL that has: a site that moves keeps its
// notifications and subscriptions.
type state struct {
	*sqlstore.Store
	set *sqlstore.Set
	log topic.Log

	name   string // of the set
	place  string // for people
	shared bool   // with other processes of the site
	close  func() error
}

// openState opens the state that c asks for. A state in a file is for this process
// alone.
func openState(ctx context.Context, c config, log *slog.Logger) (*state, error) {
	o := c.common().storeOptions(log)
	if c.common().stateIsPostgres() {
		return openPostgres(ctx, c.common(), o)
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
	s, err := openStateFile(ctx, c, path, o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.close = func() error { return errors.Join(s.Store.Close(), lock.Close()) }
	return s, nil
}

func (c *serveConfig) storeOptions(log *slog.Logger) *sqlstore.Options {
	return &sqlstore.Options{Window: time.Duration(c.window), Retain: time.Duration(c.retain), Archive: time.Duration(c.archive), Logger: log}
}

// setOptions keep a new set closed until all files have been seen. In them, zero is the
// default, and a negative value what zero is on the command line.
func (c *serveConfig) setOptions() *sqlstore.SetOptions {
	return &sqlstore.SetOptions{
		AwaitScan:     true,
		MaxDelete:     cmp.Or(float64(c.maxDelete), -1),
		MaxDeleteHold: cmp.Or(time.Duration(c.hold), -1),
	}
}

// open opens what the store has under a name.
func (s *state) open(ctx context.Context, c *serveConfig, name string) (err error) {
	s.name = name
	if s.set, err = s.Store.Set(ctx, name, c.setOptions()); err != nil {
		return err
	}
	s.log, err = s.Store.Log(ctx, name)
	return err
}

// Log implements [rshttp.Store].
func (s *state) Log(context.Context, string) (topic.Log, error) { return s.log, nil }

func refuseState(path string, err error) error {
	return usagef("state %q: %w; give another file with --state", path, err)
}

// openStateFile opens the state at path, even if another process is using it. A file
// holds the set of one folder or website, whose name does not depend on the base URL:
// a site that moves keeps its checksums and its journal.
func openStateFile(ctx context.Context, c config, path string, o *sqlstore.Options) (*state, error) {
	store, err := sqlitestore.OpenFile(ctx, path, o)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s := &state{Store: store, place: path, close: store.Close}
	if err := s.open(ctx, c.common(), c.setName()); err != nil {
		s.close()
		return nil, refuseState(path, err)
	}
	if err := c.checkOwner(ctx, s.set); err != nil {
		s.close()
		return nil, usagef("state %q: %w", path, err)
	}
	return s, nil
}

// openPostgres opens the state in a PostgreSQL database. The set has the name of
// the site, so that all who serve it share the set, and no others.
func openPostgres(ctx context.Context, c *serveConfig, o *sqlstore.Options) (*state, error) {
	refuse := func(err error) error {
		// The driver reports each address that it has tried on its own line.
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
	s := &state{shared: true, close: func() error { pool.Close(); return nil }}
	if s.Store, err = pgstore.Open(ctx, pool, o); err == nil {
		err = s.open(ctx, c, c.baseURL)
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

// confirmDeletions confirms held deletions: a running server, or the next one, publishes
// them.
func confirmDeletions(ctx context.Context, args []string, stdout, _ io.Writer) error {
	st, err := openExistingState(ctx, args)
	if err != nil {
		return err
	}
	defer st.close()
	held, err := st.set.ConfirmDeletions(ctx)
	if err != nil {
		return err
	}
	if held == 0 {
		fmt.Fprintln(stdout, "No deletions are held.")
		return nil
	}
	fmt.Fprintf(stdout, "Confirmed: the next scan publishes the deletions of %d files.\n", held)
	return nil
}

// openExistingState opens the state of the serve or proxy with these arguments, which
// may be using it.
func openExistingState(ctx context.Context, args []string) (*state, error) {
	what, err := parseConfig(args)
	if err != nil {
		return nil, err
	}
	c := what.common()
	_, isSite := what.(*proxyConfig)
	if c.baseURL == "" && (isSite || c.stateIsPostgres()) {
		return nil, usagef("the state belongs to the address of a site; give --base-url as serve or proxy has it")
	}
	o := c.storeOptions(slog.New(slog.DiscardHandler))
	if c.stateIsPostgres() {
		return openPostgres(ctx, c, o)
	}
	path, err := what.stateFile()
	if err != nil {
		return nil, err
	}
	if !exists(path) {
		return nil, usagef("there is no state %q; give --state as serve or proxy has it", path)
	}
	return openStateFile(ctx, what, path, o)
}

// parseConfig reads the arguments of proxy, if the flag is among them that only proxy
// has, or else those of serve.
func parseConfig(args []string) (config, error) {
	upstream := regexp.MustCompile("^--?upstream(=|$)")
	if slices.ContainsFunc(args, upstream.MatchString) {
		c, err := parseProxy(args)
		return &c, err
	}
	c, err := parseServe(args)
	return &c, err
}
