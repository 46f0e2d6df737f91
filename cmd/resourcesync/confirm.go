package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
)

// confirmDeletions confirms held deletions: a running server, or the next one, publishes
// them.
func confirmDeletions(ctx context.Context, args []string, stdout, _ io.Writer) error {
	c, err := parseAny(args)
	if err != nil {
		return err
	}
	st, err := c.OpenExisting(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := c.CheckSets(ctx, st); err != nil {
		return err
	}
	var held, published int64
	shown := false
	for _, config := range c.Sets {
		if table, ok := config.(site.Journaler); ok {
			n, err := table.ConfirmJournal(ctx, st)
			if err != nil {
				return err
			}
			published += n
		}
		set, err := c.OpenOwned(ctx, st, config)
		if err != nil {
			return err
		}
		if _, ok := config.(*origin.Upstream); ok {
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
		fmt.Fprintf(stdout, "Confirmed: the deletions of %s rows are published.\n", humanize.Comma(published))
	}
	if held == 0 {
		if published == 0 && !shown {
			fmt.Fprintln(stdout, "No deletions are held.")
		}
		return nil
	}
	fmt.Fprintf(stdout, "Confirmed: the next scan publishes the deletions of %s resources.\n", humanize.Comma(held))
	return nil
}

// parseAny reads the arguments of a command that publishes sets: of the command that the
// first argument names, of run if there is a configuration file, or else of serve or of
// the only other command that has the flags.
func parseAny(args []string) (*site.Config, error) {
	if len(args) > 0 {
		if i := slices.IndexFunc(origin.Kinds, func(k origin.Kind) bool { return k.Command == args[0] }); i >= 0 {
			return parseSite("confirm-deletions "+origin.Kinds[i].Command, origin.Kinds[i], args[1:])
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
func kindWith(args []string) (origin.Kind, error) {
	var given []string // flags that only some kinds have
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.ContainsFunc(origin.Kinds, func(k origin.Kind) bool { return k.HasOwn(name) }) {
			given = append(given, name)
		}
	}
	var found []origin.Kind
	for _, k := range origin.Kinds {
		if !slices.ContainsFunc(given, func(name string) bool { return !k.HasOwn(name) }) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0:
		return origin.Kind{}, settings.Errorf("confirm-deletions: no command has all these flags: --%s; give the arguments of serve or, for another command, that command and its arguments", strings.Join(given, ", --"))
	case found[0].Command == origin.Kinds[0].Command || len(found) == 1:
		return found[0], nil
	}
	var names []string
	for _, k := range found {
		names = append(names, k.Command)
	}
	return origin.Kind{}, settings.Errorf("confirm-deletions: --%s is a flag of %s; give the command first, as in: resourcesync confirm-deletions %s --%s …", strings.Join(given, ", --"), strings.Join(names[:len(names)-1], ", ")+" or "+names[len(names)-1], names[0], given[0])
}

// declareConfirm adds the settings that have an effect. The command also accepts all other
// settings of the command that publishes the set.
func declareConfirm(c *settings.Catalog) {
	_, run := newRun()
	c.Take(run, "config", "base-url", "state", "state-file")
	c.Take(kindOf("proxy").Own(), "upstream")
}
