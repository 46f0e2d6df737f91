package main

import (
	"context"
	"io"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/build"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/mirror"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/triggers"
)

// A command is a possible first argument. Its help begins with help/NAME.txt,
// and help/help.txt has its summary.
type command struct {
	name string

	// run runs it with the other arguments. settings.ErrHelp means that they request the
	// help.
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

	catalog func() *settings.Catalog // of its settings; nil if it has none
	args    completion.Values        // of the arguments that are not flags, if the catalog has none
}

// offered returns the values of the arguments that are not flags.
func (c *command) offered() completion.Values {
	if c.catalog != nil {
		if s := c.catalog().Argument(); s != nil {
			return s.Offer
		}
	}
	return c.args
}

// commands returns all commands in the order of the help.
func commands() []command {
	of := func(declare func(c *settings.Catalog)) func() *settings.Catalog {
		return func() *settings.Catalog {
			c := new(settings.Catalog)
			declare(c)
			return c
		}
	}
	ofRun := func() *settings.Catalog {
		_, c := newRun()
		return c
	}
	var all []command
	for _, k := range origin.Kinds {
		catalog := func() *settings.Catalog { return site.New(k.Create()).Catalog }
		all = append(all, command{k.Command, publisher(k.Command), catalog, completion.Values{}})
	}
	return append(all, []command{
		{"run", runSets, ofRun, completion.Files},
		{"check-config", checkConfigFile, ofRun, completion.Files},
		{"build", buildDocuments, func() *settings.Catalog { _, c := build.New(); return c }, completion.Folders},
		{"confirm-deletions", confirmDeletions, of(declareConfirm), completion.Folders},
		{"status", showStatus, of(new(queryConfig).declare), completion.Values{}},
		{"mirror", mirrorSource, of(new(mirror.Config).Declare), completion.Folders},
		{"check", checkSource, of(new(checkConfig).declare), completion.Files},
		{"triggers", journalTable, of(new(triggers.Config).Declare), completion.Values{}},
		{"completion", printCompletion, nil, completion.Values{Words: completion.Shells()}},
		{"man", printManual, nil, completion.Values{}},
		{"version", version, nil, completion.Values{}},
	}...)
}

// catalogOf returns the settings of a command, or nil.
func catalogOf(name string) *settings.Catalog {
	for _, c := range commands() {
		if c.name == name && c.catalog != nil {
			return c.catalog()
		}
	}
	return nil
}
