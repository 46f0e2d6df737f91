package site

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A stateDefaulter is a origin.Config with its own default for the state, if the set is
// alone.
type stateDefaulter interface {
	DefaultState() (path string, err error)
}

// A stateChecker is a origin.Config that does not allow the state to be in every file.
type stateChecker interface {
	// CheckState returns an error if the state cannot be at path, which is absolute and
	// free of symbolic links. given is the same path for people.
	CheckState(path, given string) error
}

// A Journaler is an origin.Config whose changes a journal may record, in the database of a host.
type Journaler interface {
	// ConfirmJournal publishes the deletions that the journal holds, if there is one.
	ConfirmJournal(ctx context.Context, st *state.State) (rows int64, err error)
}

// StateFile returns the path of the file with the state, absolute and free of symbolic
// links. The file need not exist; the folder that it is in does.
func (c *Config) StateFile() (path string, err error) {
	given := c.State
	if given == "" {
		if given, err = c.DefaultState(); err != nil {
			return "", err
		}
	}
	path, err = paths.Real(given)
	if in := filepath.Dir(given); errors.Is(err, fs.ErrNotExist) && !paths.Exists(in) {
		return "", settings.Errorf("--state %q: there is no folder %q; make it, or give a file in another", given, in)
	}
	if err != nil {
		return "", settings.Errorf("--state %q: %w; %s", given, paths.Reason(err), state.Remedy(err))
	}
	for _, set := range c.Sets {
		if set, ok := set.(stateChecker); ok {
			if err := set.CheckState(path, given); err != nil {
				return "", err
			}
		}
	}
	return path, nil
}

func (c *Config) DefaultState() (string, error) {
	if set, ok := c.Sets[0].(stateDefaulter); ok && c.Sets[0].Shared().Name == "" {
		return set.DefaultState()
	}
	path, err := state.SiteFile(c.BaseURL)
	if err != nil {
		return "", settings.Errorf("no place to keep state in by default: %w; give one, as in --state /var/lib/resourcesync/site.db", err)
	}
	return path, nil
}

// OpenState opens the state that the site configures. A state in a file is for this
// process alone.
func (c *Config) OpenState(ctx context.Context, log *slog.Logger) (*state.State, error) {
	if c.StateIsPostgres() {
		st, err := state.OpenPostgres(ctx, c.State, c.LogName(), c.storeOptions(log))
		if err == nil && c.ReadFrom != "" {
			err = st.ReadFrom(ctx, c.ReadFrom)
		}
		return st, err
	}
	path, err := c.StateFile()
	if err != nil {
		return nil, err
	}
	return state.Open(ctx, path, c.LogName(), c.storeOptions(log))
}

func (c *Config) storeOptions(log *slog.Logger) *sqlstore.Options {
	return &sqlstore.Options{Window: c.Window, Retain: c.Retain, Archive: c.Archive, Logger: log}
}

// setName returns the name of a set in the state. A file holds the sets of one site, whose
// names do not depend on the base URL: a site that moves keeps its checksums and its
// journal. In a database, a set has the name of the site, so that exactly the processes
// that serve it share the set.
func (c *Config) setName(set origin.Config) string {
	name := set.Shared().Name
	switch {
	case c.StateIsPostgres() && name == "":
		return c.BaseURL
	case c.StateIsPostgres():
		return c.BaseURL + "#" + name
	case name == "":
		return set.StateName()
	}
	return name
}

// LogName returns the name of the log of notifications in the state.
func (c *Config) LogName() string {
	switch {
	case c.StateIsPostgres():
		return c.BaseURL
	case c.Sets[0].Shared().Name == "":
		return c.Sets[0].StateName()
	}
	return "sets"
}

// checkKind returns an error if the state is a file that another command has created. A
// set without a name is alone there, so the two would not even see each other's resources.
// The file of a table may be a host's database, with sets of the host.
func checkKind(ctx context.Context, s *state.State, config origin.Config) error {
	if _, journals := config.(Journaler); journals || s.Shared || config.Shared().Name != "" {
		return nil
	}
	names, err := s.Sets(ctx)
	if err != nil || slices.Contains(names, config.StateName()) {
		return err
	}
	for _, k := range origin.Kinds {
		if other := k.Create().StateName(); slices.Contains(names, other) {
			return settings.Errorf("state %q: it is the state of resourcesync %s, with its %s; give another file with --state", s.Place, k.Command, other)
		}
	}
	return nil
}

// OpenSet opens a stored set.
func (c *Config) OpenSet(ctx context.Context, s *state.State, config origin.Config) (*sqlstore.Set, error) {
	if err := checkKind(ctx, s, config); err != nil {
		return nil, err
	}
	set, err := s.Store.Set(ctx, c.setName(config), config.Shared().StoreOptions())
	if err != nil {
		return nil, state.Refuse(s.Place, err)
	}
	return set, nil
}

// RefuseOrigin returns the error for a set with the resources of another origin.
func RefuseOrigin(s *state.State, c *origin.Common, e *scan.OriginError) error {
	moved := "start once with --moved"
	if c.Name != "" {
		moved = "give it moved: true for one start or reload"
	}
	if e.Origin.Given != "" && e.Origin.Given == e.Recorded.Given {
		return settings.Errorf("state %q: %q now points to %q, which shares no files with %q, the recorded folder; if that is intended, %s; otherwise %s",
			s.Place, e.Origin.Given, e.Origin.Name, e.Recorded.Name, moved, c.Apart())
	}
	return settings.Errorf("state %q: it has the resources of %s, not those of %s; if they have moved, %s; otherwise %s",
		s.Place, e.Recorded.Name, e.Origin.Name, moved, c.Apart())
}
