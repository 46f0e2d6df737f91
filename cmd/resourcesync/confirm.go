package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// confirmDeletions confirms held deletions: a running server, or the next one, publishes
// them.
func confirmDeletions(ctx context.Context, args []string, stdout, _ io.Writer) error {
	st, err := openExistingState(ctx, args)
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

// openExistingState opens the state of the serve or proxy with these arguments, which
// may be using it.
func openExistingState(ctx context.Context, args []string) (*state, error) {
	what, err := parseConfig(args)
	if err != nil {
		return nil, err
	}
	c := what.common()
	_, isSite := what.(*proxyConfig)
	if c.baseURL == "" && (isSite || c.stateIsPostgres()) {
		return nil, usagef("the state belongs to the address of a site; give --base-url as serve or proxy has it")
	}
	o := c.storeOptions(slog.New(slog.DiscardHandler))
	if c.stateIsPostgres() {
		return openPostgres(ctx, c, o)
	}
	path, err := what.stateFile()
	if err != nil {
		return nil, err
	}
	if !exists(path) {
		return nil, usagef("there is no state %q; give --state as serve or proxy has it", path)
	}
	return openStateFile(ctx, what, path, o)
}

// parseConfig reads the arguments of proxy, if the flag is among them that only proxy
// has, or else those of serve.
func parseConfig(args []string) (config, error) {
	isUpstream := func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == "-upstream" || name == "--upstream"
	}
	if slices.ContainsFunc(args, isUpstream) {
		c, err := parseProxy(args)
		return &c, err
	}
	c, err := parseServe(args)
	return &c, err
}
