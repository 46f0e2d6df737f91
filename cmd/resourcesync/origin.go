package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// An origin is the source of a state: the path of the folder as it was given, and
// free of symbolic links. A folder is the same if either is: a link may lead to each
// release in turn, and a folder may be reached by several links.
type origin struct {
	Given string `json:"given"`
	Real  string `json:"real"`

	// BaseURL is the beginning of all URIs in the state. It is "" if unknown: during
	// the first scan with another one, and in states of earlier versions.
	BaseURL string `json:"base_url,omitempty"`
}

func readOrigin(ctx context.Context, set *sqlstore.Set) (o origin, err error) {
	recorded, err := set.Origin(ctx)
	if err != nil || recorded == "" {
		return o, err
	}
	if err := json.Unmarshal([]byte(recorded), &o); err != nil {
		return o, fmt.Errorf("the record of its folder cannot be read: %w", err)
	}
	return o, nil
}

func (o origin) record(ctx context.Context, set *sqlstore.Set) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return set.SetOrigin(ctx, string(text))
}

// checkOwner returns an error if the state belongs to another folder, whose files
// would all be published as deleted, and records the folder otherwise. A folder that
// has moved is accepted at its new place. A link that led to the folder of the state
// must lead to one with at least one of its files. States of earlier versions record
// nothing.
func (c *serveConfig) checkOwner(ctx context.Context, set *sqlstore.Set) error {
	before, err := readOrigin(ctx, set)
	if err != nil {
		return err
	}
	var now origin
	if now.Given, err = filepath.Abs(c.folder); err == nil {
		now.Real, err = filepath.EvalSymlinks(now.Given)
	}
	if err != nil {
		return err
	}
	if before.Real != "" && before.Given != now.Given && before.Real != now.Real && !c.moved {
		return fmt.Errorf("is the state of the folder %q, not of %q; if the folder has moved, start once with --moved; otherwise give another file with --state", before.Real, now.Real)
	}
	if now.BaseURL = before.BaseURL; before == now {
		return nil
	}
	if before.Real != "" && before.Real != now.Real && !c.moved {
		if found, err := hasAny(ctx, set, now.Real); err != nil {
			return err
		} else if !found {
			return fmt.Errorf("is the state of the folder %q; %q led there, and leads now to %q, which has none of its files; if that is right, start once with --moved; otherwise give another file with --state", before.Real, now.Given, now.Real)
		}
	}
	return now.record(ctx, set)
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

// hasAny reports whether a folder has at least one of the files in set, or set is empty.
func hasAny(ctx context.Context, set *sqlstore.Set, folder string) (bool, error) {
	empty := true
	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		if errors.Is(err, resourcesync.ErrNotReady) {
			break
		}
		if err != nil {
			return false, err
		}
		if _, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(r.Key))); err == nil {
			return true, nil
		}
		empty = false
	}
	return empty, ctx.Err()
}

// count returns the number of files in the set, and ErrNotReady if the set cannot be
// served before a scan: if there has never been one, or if the state has another base
// URL. Its URIs are then those of the site as it was.
func (p *publication) count(ctx context.Context) (int64, error) {
	st, err := p.set.Set.Stat(ctx, resourcesync.Range{})
	if err == nil && !p.shared {
		err = p.checkBaseURL(ctx)
	}
	return st.Count, err
}

// checkBaseURL returns ErrNotReady unless all URIs of the set begin with the base URL.
// The state records that they do. It reads the resources only if there is no record.
func (p *publication) checkBaseURL(ctx context.Context) error {
	o, err := readOrigin(ctx, p.set.Set)
	switch {
	case err != nil || o.BaseURL == p.baseURL:
		return err
	case p.scanner.complete:
		p.recordBaseURL(ctx, o)
		return nil
	case o.BaseURL != "":
		// The next scan may be interrupted, which leaves URIs of both.
		o.BaseURL = ""
		if err := o.record(ctx, p.set.Set); err != nil {
			return err
		}
		return resourcesync.ErrNotReady
	}
	checked, err := p.checkURIs(ctx)
	if errors.Is(err, sqlstore.ErrDamaged) {
		if checked == 0 {
			return resourcesync.ErrNotReady // a scan may replace it
		}
		return nil // so that the other documents are served
	}
	if err == nil {
		p.recordBaseURL(ctx, o)
	}
	return err
}

// checkURIs returns how many resources of the set it has found to have the URIs that
// they have now, and ErrNotReady at the first that has another.
func (p *publication) checkURIs(ctx context.Context) (checked int, err error) {
	for r, err := range p.set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			return checked, err
		}
		path, ok := strings.CutPrefix(r.URI, p.baseURL)
		if key, err := url.PathUnescape(path); !ok || err != nil || key != r.Key {
			return checked, resourcesync.ErrNotReady
		}
		checked++
	}
	return checked, nil
}

// recordBaseURL records the base URL, so that the next start need not read the
// resources.
func (p *publication) recordBaseURL(ctx context.Context, o origin) {
	o.BaseURL = p.baseURL
	if err := o.record(ctx, p.set.Set); err != nil {
		p.log.Warn("the base URL is not recorded; the next start reads all resources in the state", "error", err)
	}
}
