package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/scan"
)

// OpenExisting opens the state of a site, which may be using it.
func (c *Config) OpenExisting(ctx context.Context) (*state.State, error) {
	_, hasDefault := c.Sets[0].(stateDefaulter)
	hasDefault = hasDefault && c.Sets[0].Shared().Name == ""
	if c.BaseURL == "" && (c.StateIsPostgres() || c.State == "" && !hasDefault) {
		return nil, settings.Errorf("the state belongs to the address of a site; give the --base-url of the server")
	}
	o := c.storeOptions(slog.New(slog.DiscardHandler))
	if c.StateIsPostgres() {
		return state.OpenPostgres(ctx, c.State, c.LogName(), o)
	}
	path, err := c.StateFile()
	if err != nil {
		return nil, err
	}
	if !paths.Exists(path) {
		return nil, settings.Errorf("there is no state %q; give the --state of the server", path)
	}
	if err := state.CheckFile(path); err != nil {
		return nil, state.Refuse(path, err)
	}
	return state.OpenInUse(ctx, path, c.LogName(), o)
}

// CheckSets returns an error if the state does not have all sets of a site, because
// opening them would create them.
func (c *Config) CheckSets(ctx context.Context, s *state.State) error {
	existing, err := s.Store.Sets(ctx)
	if err != nil {
		return fmt.Errorf("state %q: %w", s.Place, err)
	}
	for _, config := range c.Sets {
		name := c.setName(config)
		if slices.Contains(existing, name) {
			continue
		}
		var described []string
		for _, other := range existing {
			if !strings.Contains(other, " ") { // sets with a space are parts of others
				described = append(described, describeSet(other))
			}
		}
		if len(described) == 0 {
			described = []string{"none"}
		}
		return settings.Errorf("state %q: there is no set %s; the sets are: %s; give the arguments of the server that publishes the set", s.Place, describeSet(name), strings.Join(described, ", "))
	}
	return nil
}

// describeSet returns the name of a stored set, with the command that gives it this name.
func describeSet(stored string) string {
	for _, k := range origin.Kinds {
		if k.Create().StateName() == stored {
			return fmt.Sprintf("%q (of %s)", stored, k.Command)
		}
	}
	return fmt.Sprintf("%q", stored)
}

// OpenOwned opens a stored set, unless it belongs to another folder or website.
func (c *Config) OpenOwned(ctx context.Context, s *state.State, config origin.Config) (*sqlstore.Set, error) {
	set, err := c.OpenSet(ctx, s, config)
	if err != nil || s.Shared || config.Shared().Moved {
		return set, err
	}
	id, err := config.Identity(c.BaseURL)
	if err != nil {
		return nil, settings.Errorf("state %q: %w", s.Place, err)
	}
	if id.Name != "" {
		err = scan.Compare(ctx, set, id, namesake{})
	}
	if other, ok := errors.AsType[*scan.OriginError](err); ok {
		err = RefuseOrigin(s, config.Shared(), other)
	}
	return set, err
}

// A namesake recognizes an origin by the name that the operator has given. The process that
// publishes the set checks its resources.
type namesake struct{}

func (namesake) Recognizes(context.Context, scan.Stored) (bool, error) { return true, nil }
