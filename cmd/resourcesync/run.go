package main

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/daemon"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
)

// runSets publishes the sets of a configuration file.
func runSets(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := parseRun("run", args)
	if err != nil {
		return err
	}
	c, err := r.load()
	if err != nil {
		return err
	}
	return daemon.Run(ctx, c, r.load, stdout, stderr)
}

// A runConfig is the command line of run and check-config: a configuration file, and
// settings that have priority over those in the file.
type runConfig struct {
	path  string
	given []settings.Layer // on the command line, and in the environment
}

func newRun() (*runConfig, *settings.Catalog) {
	r, c := new(runConfig), new(settings.Catalog)
	c.Add(settings.Setting{Name: "config", Value: settings.Text(&r.path), Offer: completion.Files, Need: "the configuration file", Example: "/etc/resourcesync/site.yaml",
		Text: "The configuration file, in place of the argument."})
	site.Declare(c, new(site.Config), new(origin.Common))
	return r, c
}

func parseRun(command string, args []string) (*runConfig, error) {
	r, c := newRun()
	given, others, err := c.Parse(args)
	if err == nil {
		r.given = []settings.Layer{given, c.Environment()}
		err = cmp.Or(settings.CheckVariables(knownVariables()), c.Apply(r.given...))
	}
	switch {
	case err != nil:
	case len(others) > 1:
		err = fmt.Errorf("unexpected argument %q: only one configuration file can be given", others[1])
	case len(others) == 1:
		r.path = others[0]
	case r.path == "":
		err = fmt.Errorf("no config given; give the configuration file, as in: resourcesync %s /etc/resourcesync/site.yaml, or in %s", command, settings.VariableOf("config"))
	}
	return r, refuse(command, err)
}

func (r *runConfig) load() (*site.Config, error) { return site.Load(r.path, r.given) }
