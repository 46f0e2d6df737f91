package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/daemon"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
)

// publisher returns the function of the command that publishes one set of a kind.
func publisher(command string) func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		c, err := parseSite(command, kindOf(command), args)
		if err != nil {
			return err
		}
		return daemon.Run(ctx, c, nil, stdout, stderr)
	}
}

// kindOf returns the kind that a command publishes.
func kindOf(command string) origin.Kind {
	return origin.Kinds[slices.IndexFunc(origin.Kinds, func(k origin.Kind) bool { return k.Command == command })]
}

// parseSite reads the arguments of the command that publishes a set of a kind, or of
// another command that takes the same ones. The error is settings.ErrHelp for --help.
func parseSite(command string, k origin.Kind, args []string) (*site.Config, error) {
	set := k.Create()
	set.Shared().Kind = k.Name
	c := site.New(set)
	if err := parseAlone(command, c.Catalog, args); err != nil {
		return nil, err
	}
	return c, c.Check()
}

// parse sets settings from the arguments, and the others from the environment. It
// returns the arguments that are not flags. The error is settings.ErrHelp for --help.
func parse(c *settings.Catalog, args []string) (others []string, err error) {
	given, others, err := c.Parse(args)
	if err == nil {
		err = settings.CheckVariables(knownVariables())
	}
	if err == nil {
		err = c.Apply(given, c.Environment())
	}
	return others, err
}

// parseAlone is like parse, for a command that takes flags but no arguments.
func parseAlone(command string, c *settings.Catalog, args []string) error {
	others, err := parse(c, args)
	if err == nil {
		err = cmp.Or(c.Unexpected(others), c.Missing(command))
	}
	return refuse(command, err)
}

// refuse adds a hint to --help to err, an error in the settings of a command.
func refuse(command string, err error) error {
	if err == nil || errors.Is(err, settings.ErrHelp) || errors.Is(err, settings.ErrHelpAll) {
		return err
	}
	return settings.Errorf(`%s: %w; "resourcesync %s --help" explains the flags`, command, err, command)
}

var variables struct {
	sync.Once
	names []string
}

// knownVariables returns the names of the variables of all commands. Each start needs them, and to
// declare the settings of all commands takes longer than the rest of the parsing.
func knownVariables() []string {
	variables.Do(func() {
		for _, c := range commands() {
			if c.catalog == nil {
				continue
			}
			for s := range c.catalog().All() {
				variables.names = append(variables.names, s.Variable())
			}
		}
	})
	return variables.names
}
