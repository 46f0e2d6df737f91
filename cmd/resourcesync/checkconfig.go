package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// checkConfigFile checks a configuration file without publishing anything, and prints the
// effective configuration, or all faults.
func checkConfigFile(_ context.Context, args []string, stdout, stderr io.Writer) error {
	r, err := parseRun("check-config", args)
	if err != nil {
		return err
	}
	c, err := r.load()
	if err == nil {
		err = c.CheckHere()
	}
	if faults, ok := errors.AsType[settings.Faults](err); ok && !exit.Passes(err) {
		for _, fault := range faults {
			fmt.Fprintln(stderr, "resourcesync:", fault)
		}
		return settings.Errorf("%s has %s", filepath.Base(r.path), counted(len(faults), "fault"))
	}
	if err != nil {
		return err
	}
	for _, name := range settings.UnknownVariables(knownVariables()) {
		fmt.Fprintf(stderr, "resourcesync: the environment variable %s matches no flag\n", name)
	}
	_, err = fmt.Fprintf(stdout, "%s# OK\n", c.Effective())
	return err
}

// counted formats a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return terminal.Count(int64(n), thing+"s")
}
