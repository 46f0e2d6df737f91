package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

func (c *proxyConfig) setName() string { return "pages" }

func (c *proxyConfig) stateFile() (path string, err error) {
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

// checkOwner returns an error if the state belongs to another website, whose pages
// would all be published as deleted. Otherwise it records the website.
func (c *proxyConfig) checkOwner(ctx context.Context, set *sqlstore.Set) error {
	before, err := readOrigin(ctx, set)
	switch {
	case err != nil || before.BaseURL == c.baseURL:
		return err
	case before.BaseURL != "" && !c.moved:
		return fmt.Errorf("is the state of %s, not of %s; if the website has moved, start once with --moved; otherwise give another file with --state", before.BaseURL, c.baseURL)
	}
	return origin{BaseURL: c.baseURL}.record(ctx, set)
}

// defaultSiteState returns a path that belongs to one website alone, and makes the
// folder that it is in.
func defaultSiteState(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", err
	}
	return cacheFile(u.Host, baseURL)
}
