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
	ln, err := listen(&c.serveConfig)
	if err != nil {
		return err
	}
	defer ln.Close()
	front := &server{listener: ln, uploads: !c.beside}
	if c.tlsCert != "" {
		if front.certificate, err = newCertificate(c.tlsCert, c.tlsKey); err != nil {
			return err
		}
	}
	statusListener, err := listenStatus(&c.serveConfig)
	if err != nil {
		return err
	}
	if statusListener != nil {
		defer statusListener.Close()
	}
	screen := newScreen(stderr)
	log := newLogger(screen, c.logFormat)
	st, err := openSiteState(ctx, &c, log)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // stopped before it began
	case err != nil:
		return err
	}
	defer func() {
		if err := st.close(); err != nil {
			log.Warn("state not closed", "error", err)
		}
	}()
	p, err := publishSite(&c, st, screen, log)
	if err != nil {
		return err
	}
	if front.handler, err = p.siteHandler(&c); err != nil {
		return err
	}
	log.Info("listening", "address", ln.Addr().String(), "site", c.baseURL, "upstream", c.upstream, "state", st.place)
	return p.run(ctx, &c.serveConfig, front, statusListener, stdout)
}

// copiesFolder returns the folder for copies of the website's sitemaps: beside a state
// in a file, else in the cache folder.
func copiesFolder(c *proxyConfig, st *siteState) (string, error) {
	if !c.stateIsPostgres() {
		return strings.TrimSuffix(st.place, filepath.Ext(st.place)) + "-sitemaps", nil
	}
	path, err := defaultSiteState(c.baseURL)
	if err != nil {
		return "", usagef("no place for copies of the sitemaps: %w", err)
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-sitemaps", nil
}
