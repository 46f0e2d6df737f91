package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/scan"
)

// confirmDeletions confirms held deletions: a running server, or the next one, publishes
// them.
func confirmDeletions(ctx context.Context, args []string, stdout, _ io.Writer) error {
	c, err := parseAny(args)
	if err != nil {
		return err
	}
	st, err := openExistingState(ctx, c)
	if err != nil {
		return err
	}
	defer st.close()
	if err := st.checkSets(ctx, c); err != nil {
		return err
	}
	var held, published int64
	shown := false
	for _, config := range c.sets {
		if table, ok := config.(*tableConfig); ok {
			n, err := table.confirmJournal(ctx, st)
			if err != nil {
				return err
			}
			published += n
		}
		set, err := st.openOwned(ctx, c, config)
		if err != nil {
			return err
		}
		if _, ok := config.(*upstreamConfig); ok {
			withheld, err := st.Set(ctx, "withheld "+set.Name(), nil)
			if err != nil {
				return err
			}
			hidden, err := sitemap.ConfirmRefusals(ctx, withheld)
			if err != nil {
				return err
			}
			shown = shown || hidden
		}
		n, err := set.ConfirmDeletions(ctx)
		if err != nil {
			return err
		}
		held += n
	}
	if shown {
		fmt.Fprintln(stdout, "Confirmed: the pages are shown again, except those that the website refuses strangers. These leave the lists, and their deletions are published.")
	}
	if published > 0 {
		fmt.Fprintf(stdout, "Confirmed: the deletions of %d rows are published.\n", published)
	}
	if held == 0 {
		if published == 0 && !shown {
			fmt.Fprintln(stdout, "No deletions are held.")
		}
		return nil
	}
	fmt.Fprintf(stdout, "Confirmed: the next scan publishes the deletions of %d resources.\n", held)
	return nil
}

// confirmJournal publishes the deletions that the journal of the table holds, if it has one.
func (c *tableConfig) confirmJournal(ctx context.Context, st *state) (int64, error) {
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

// openExistingState opens the state of a site, which may be using it.
func openExistingState(ctx context.Context, c *siteConfig) (*state, error) {
	_, hasDefault := c.sets[0].(stateDefaulter)
	hasDefault = hasDefault && c.sets[0].common().name == ""
	if c.baseURL == "" && (c.stateIsPostgres() || c.state == "" && !hasDefault) {
		return nil, settings.Errorf("the state belongs to the address of a site; give --base-url as the server has it")
	}
	o := c.storeOptions(slog.New(slog.DiscardHandler))
	if c.stateIsPostgres() {
		return openPostgres(ctx, c, o)
	}
	path, err := c.stateFile()
	if err != nil {
		return nil, err
	}
	if !paths.Exists(path) {
		return nil, settings.Errorf("there is no state %q; give --state as the server has it", path)
	}
	if err := checkStateFile(path); err != nil {
		return nil, refuseState(path, err)
	}
	return openStateFile(ctx, c, path, o)
}

// checkSets returns an error if the state does not have all sets of a site, because
// opening them would create them.
func (s *state) checkSets(ctx context.Context, c *siteConfig) error {
	existing, err := s.Store.Sets(ctx)
	if err != nil {
		return fmt.Errorf("state %q: %w", s.place, err)
	}
	for _, config := range c.sets {
		name := s.setName(c, config)
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
		return settings.Errorf("state %q: there is no set %s; the sets are: %s; give the arguments of the server that publishes the set", s.place, describeSet(name), strings.Join(described, ", "))
	}
	return nil
}

// describeSet returns the name of a stored set, with the command that gives it this name.
func describeSet(stored string) string {
	for _, k := range kinds {
		if k.create().stateName() == stored {
			return fmt.Sprintf("%q (of %s)", stored, k.command)
		}
	}
	return fmt.Sprintf("%q", stored)
}

// openOwned opens a stored set, unless it belongs to another folder or website.
func (s *state) openOwned(ctx context.Context, c *siteConfig, config setConfig) (*sqlstore.Set, error) {
	set, err := s.openSet(ctx, c, config)
	if err != nil || s.shared || config.common().moved {
		return set, err
	}
	id, err := config.identity(c)
	if err != nil {
		return nil, settings.Errorf("state %q: %w", s.place, err)
	}
	if id.Name != "" {
		err = scan.Compare(ctx, set, id, namesake{})
	}
	if other, ok := errors.AsType[*scan.OriginError](err); ok {
		err = s.refuseOrigin(config.common(), other)
	}
	return set, err
}

// A namesake recognizes an origin by the name that the operator has given. The process that
// publishes the set checks its resources.
type namesake struct{}

func (namesake) Recognizes(context.Context, scan.Stored) (bool, error) { return true, nil }

// parseAny reads the arguments of a command that publishes sets: of the command that the
// first argument names, of run if there is a configuration file, or else of serve or of
// the only other command that has the flags.
func parseAny(args []string) (*siteConfig, error) {
	if len(args) > 0 {
		if i := slices.IndexFunc(kinds, func(k kind) bool { return k.command == args[0] }); i >= 0 {
			return parseSite("confirm-deletions "+kinds[i].command, kinds[i], args[1:])
		}
	}
	hasConfig := slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(strings.TrimLeft(arg, "-")+"=", "config=") && arg[0] == '-'
	})
	if hasConfig || len(args) == 0 && os.Getenv(settings.VariableOf("config")) != "" {
		r, err := parseRun("confirm-deletions", args)
		if err != nil {
			return nil, err
		}
		return r.load()
	}
	if len(args) == 0 && os.Getenv(settings.VariableOf("folder")) == "" {
		return nil, settings.Errorf("confirm-deletions: no set given; give the arguments of the server that holds its deletions, as in: resourcesync confirm-deletions /srv/files, or resourcesync confirm-deletions --config /etc/resourcesync/site.yaml, or in %s or %s",
			settings.VariableOf("folder"), settings.VariableOf("config"))
	}
	k, err := kindWith(args)
	if err != nil {
		return nil, err
	}
	return parseSite("confirm-deletions", k, args)
}

// kindWith returns the kind whose command has all flags in args: serve if it has them.
func kindWith(args []string) (kind, error) {
	var given []string // flags that only some kinds have
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.ContainsFunc(kinds, func(k kind) bool { return k.hasOwn(name) }) {
			given = append(given, name)
		}
	}
	var found []kind
	for _, k := range kinds {
		if !slices.ContainsFunc(given, func(name string) bool { return !k.hasOwn(name) }) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0:
		return kind{}, settings.Errorf("confirm-deletions: no command has all these flags: --%s; give the arguments of serve or, for another command, that command and its arguments", strings.Join(given, ", --"))
	case found[0].command == kinds[0].command || len(found) == 1:
		return found[0], nil
	}
	var names []string
	for _, k := range found {
		names = append(names, k.command)
	}
	return kind{}, settings.Errorf("confirm-deletions: --%s can be of %s; give the command first, as in: resourcesync confirm-deletions %s --%s …", strings.Join(given, ", --"), strings.Join(names[:len(names)-1], ", ")+" or "+names[len(names)-1], names[0], given[0])
}

// declareConfirm adds the settings that have an effect. The command also accepts all other
// settings of the command that publishes the set.
func declareConfirm(c *settings.Catalog) {
	_, run := newRun()
	c.Take(run, "config", "base-url", "state", "state-file")
	c.Take(kindOf("proxy").own(), "upstream")
}
