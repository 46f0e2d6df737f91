package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

const confirmHelp = `Usage: resourcesync confirm-deletions [flags] DIR
       resourcesync confirm-deletions --upstream URL [flags]

Lets "resourcesync serve" publish the deletions that it holds, because more files
have disappeared from the folder DIR than --max-delete allows. Give it the
arguments of serve: DIR, --state if serve has it, and --base-url if the state is
in PostgreSQL. Other flags of serve change nothing.

For "resourcesync proxy", give its arguments instead: --upstream, --base-url, and
--state if it has it.

The server may be running, and then publishes them within seconds. Should more files
have disappeared by then, all of them are held again.
`

// confirmDeletions lets a running serve, or the next one, publish the deletions that
// it holds.
func confirmDeletions(ctx context.Context, args []string, stdout, _ io.Writer) error {
	open := openExistingState
	if slices.ContainsFunc(args, isUpstream) {
		open = openExistingSiteState
	}
	st, err := open(ctx, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, confirmHelp)
		return nil
	}
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

// openExistingState opens the state of a site beside the serve that may be using it.
func openExistingState(ctx context.Context, args []string) (*state, error) {
	c, err := parseServe(args)
	if err != nil {
		return nil, err
	}
	o := c.storeOptions(slog.New(slog.DiscardHandler))
	if c.stateIsPostgres() {
		if c.baseURL == "" {
			return nil, usagef("the state of a site is in the database by its address; give --base-url as for serve")
		}
		return openPostgres(ctx, &c, o)
	}
	path, err := stateFile(c.folder, c.state)
	if err != nil {
		return nil, err
	}
	if !exists(path) {
		return nil, usagef("there is no state %q; give --state as for serve", path)
	}
	return openSQLiteFile(ctx, &c, path, o)
}

// isUpstream reports whether an argument is the flag that only proxy has.
func isUpstream(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return name == "-upstream" || name == "--upstream"
}

// openExistingSiteState opens the state of a website beside the proxy that may be using
// it.
func openExistingSiteState(ctx context.Context, args []string) (*state, error) {
	c, err := parseProxy(args)
	if err != nil {
		return nil, err
	}
	o := c.storeOptions(slog.New(slog.DiscardHandler))
	if c.baseURL == "" && (c.state == "" || c.stateIsPostgres()) {
		return nil, usagef("the state of a website is found by its address; give --base-url as for proxy")
	}
	if c.stateIsPostgres() {
		return openPostgres(ctx, &c.serveConfig, o)
	}
	path, err := siteStateFile(&c)
	if err != nil {
		return nil, err
	}
	if !exists(path) {
		return nil, usagef("there is no state %q; give --state as for proxy", path)
	}
	return openUnlockedSiteFile(ctx, &c, path, o)
}
