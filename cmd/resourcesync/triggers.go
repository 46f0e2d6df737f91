package main

import (
	"cmp"
	"context"
	"io"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/triggers"
)

// parseTriggers reads the arguments of triggers. The error is settings.ErrHelp for --help.
func parseTriggers(args []string) (*triggers.Config, error) {
	t, c := new(triggers.Config), new(settings.Catalog)
	t.Declare(c)
	others, err := parse(c, args)
	if err == nil {
		if !t.NeedsColumns() {
			c.Lookup("key").Need, c.Lookup("uri").Need = "", ""
		}
		err = cmp.Or(c.Unexpected(others), c.Missing("triggers"), c.Locate(t.Check()))
	}
	t.Set = cmp.Or(t.Set, t.Table.Name)
	return t, refuse("triggers", err)
}

// journalTable prints, applies or drops the triggers that journal a table.
func journalTable(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	t, err := parseTriggers(args)
	if err != nil {
		return err
	}
	return t.Run(ctx, stdout, stderr)
}
