package main

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

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
