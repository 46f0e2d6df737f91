package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"
	"strings"
)

// proxy publishes a website until ctx is done.
func proxy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseProxy(args)
	if errors.Is(err, flag.ErrHelp) {
		printProxyHelp(stdout)
		return nil
	}
	if err != nil {
		return err
	}
	return publish(ctx, &c, stdout, stderr)
}

// copiesFolder returns the folder for copies of the website's sitemaps: beside a state
// in a file, else in the cache folder.
func copiesFolder(c *proxyConfig, st *state) (string, error) {
	if !c.stateIsPostgres() {
		return strings.TrimSuffix(st.place, filepath.Ext(st.place)) + "-sitemaps", nil
	}
	path, err := defaultSiteState(c.baseURL)
	if err != nil {
		return "", usagef("no place for copies of the sitemaps: %w", err)
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-sitemaps", nil
}
