package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
)

// A siteState is the state of a website that proxy keeps across restarts.
type siteState struct {
	*state
	withheld *sqlstore.Set // pages that do not qualify
}

// openSiteState opens the state that c asks for.
func openSiteState(ctx context.Context, c *proxyConfig, log *slog.Logger) (*siteState, error) {
	o := c.storeOptions(log)
	var (
		st   *state
		name = c.baseURL
		err  error
	)
	if c.stateIsPostgres() {
		st, err = openPostgres(ctx, &c.serveConfig, o)
	} else {
		name = "pages"
		st, err = openSiteFile(ctx, c, o)
	}
	if err != nil {
		return nil, err
	}
	s := &siteState{state: st}
	if s.withheld, err = st.store.Set(ctx, "withheld "+name, nil); err != nil {
		st.close()
		return nil, usagef("state %q: %w", st.place, err)
	}
	return s, nil
}

// openSiteFile opens a state in a file, which holds one website.
func openSiteFile(ctx context.Context, c *proxyConfig, o *sqlstore.Options) (*state, error) {
	path, err := siteStateFile(c)
	if err != nil {
		return nil, err
	}
	if err := checkStateFile(path); err != nil {
		return nil, refuseState(path, err)
	}
	lock, err := lockStateFile(path)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s, err := openUnlockedSiteFile(ctx, c, path, o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.close = func() error { return errors.Join(s.store.Close(), lock.Close()) }
	return s, nil
}

// siteStateFile returns the path of the state that c asks for.
func siteStateFile(c *proxyConfig) (path string, err error) {
	if c.state == "" {
		path, err = defaultSiteState(c.baseURL)
	} else {
		path, err = realPath(c.state)
	}
	if err != nil {
		return "", usagef("--state %q: %w; give a file, as in --state /var/lib/resourcesync/site.db", c.state, reason(err))
	}
	return path, nil
}

// openUnlockedSiteFile opens the state at path, even if a proxy is using it.
func openUnlockedSiteFile(ctx context.Context, c *proxyConfig, path string, o *sqlstore.Options) (*state, error) {
	store, err := sqlitestore.OpenFile(ctx, path, o)
	if err != nil {
		return nil, refuseState(path, err)
	}
	s := &state{store: store, place: path, close: store.Close}
	if err := s.open(ctx, &c.serveConfig, "pages"); err != nil {
		s.close()
		return nil, refuseState(path, err)
	}
	if err := checkWebsite(ctx, s.set, c.baseURL, c.moved); err != nil {
		s.close()
		return nil, usagef("state %q: %w", path, err)
	}
	return s, nil
}

// checkWebsite returns an error if the state belongs to another website, whose pages
// would all be published as deleted. Otherwise it records the website.
func checkWebsite(ctx context.Context, set *sqlstore.Set, baseURL string, moved bool) error {
	before, err := readOrigin(ctx, set)
	switch {
	case err != nil || before.BaseURL == baseURL:
		return err
	case before.BaseURL != "" && !moved:
		return fmt.Errorf("is the state of %s, not of %s; if the website has moved, start once with --moved; otherwise give another file with --state", before.BaseURL, baseURL)
	}
	return origin{BaseURL: baseURL}.record(ctx, set)
}

// defaultSiteState returns a path that belongs to one website alone, and makes the
// folder that it is in.
func defaultSiteState(baseURL string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "resourcesync")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return "", fmt.Errorf("%q: %w", cache, reason(err))
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, fmt.Sprintf("%s-%.6x.db", odd.ReplaceAllString(u.Host, "_"), sha256.Sum256([]byte(baseURL)))), nil
}
