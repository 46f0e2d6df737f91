package sitemap

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
)

// compare yields unchanged pages, and starts checks of the others.
func (sc *scan) compare() error {
	pages, err := sc.forgetExcluded(newest(sc.pages))
	sc.pages = nil
	if err != nil || len(pages) == 0 {
		return err
	}
	if sc.options.Verify == VerifyNone {
		return sc.list(pages)
	}
	if err := sc.loadKnown(sc.ctx, pages); err != nil {
		return fmt.Errorf("sitemap: looking up known pages: %w", err)
	}
	for i := range pages {
		p := &pages[i]
		switch {
		case sc.isListedAsIs(p):
			sc.send(p.known)
		case p.known.Key == "" && p.withheld.Key != "" && parseStamp(p.withheld.Stamp).isCurrent(p.listed):
			sc.withheld(parseStamp(p.withheld.Stamp).Reason)
		default:
			sc.checks.Go(func() error {
				sc.check(p)
				return nil
			})
		}
		if err := sc.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// isListedAsIs reports whether p is listed and needs no check.
func (s *Site) isListedAsIs(p *page) bool {
	mark := parseStamp(p.known.Stamp)
	return p.known.Key != "" && p.known.URI == p.uri.String() && mark.Variant == s.variant && mark.isCurrent(p.listed)
}

// forgetExcluded withdraws the excluded pages and returns the others.
func (sc *scan) forgetExcluded(pages []page) ([]page, error) {
	var excluded []page
	pages = slices.DeleteFunc(pages, func(p page) bool {
		if p.excluded {
			excluded = append(excluded, p)
		}
		return p.excluded
	})
	if len(excluded) == 0 {
		return pages, nil
	}
	if err := sc.loadKnown(sc.ctx, excluded); err != nil {
		return nil, fmt.Errorf("sitemap: looking up known pages: %w", err)
	}
	for i := range excluded {
		if err := sc.forget(sc.ctx, &excluded[i]); err != nil {
			return nil, fmt.Errorf("sitemap: withdrawing an excluded page: %w", err)
		}
	}
	return pages, nil
}

// list yields pages without requesting them.
func (sc *scan) list(pages []page) error {
	for i := range pages {
		v, err := sc.Site.check(sc.ctx, &pages[i])
		if err != nil {
			sc.count(func(st *Status) { st.Invalid++ })
			continue
		}
		sc.send(v.resource)
	}
	return sc.ctx.Err()
}

// newest returns pages without duplicates, each with its newest lastmod.
func newest(pages []page) []page {
	at := make(map[string]int, len(pages))
	out := pages[:0]
	for _, p := range pages {
		if i, again := at[p.key]; again {
			out[i].listed = later(out[i].listed, p.listed)
			continue
		}
		at[p.key] = len(out)
		out = append(out, p)
	}
	return out
}

// apply applies a verdict to the sets: it withdraws a page that does not qualify, and no
// longer withholds one that does. It does not put the page.
func (s *Site) apply(ctx context.Context, p *page, v verdict) error {
	if v.reason == "" {
		if p.withheld.Key != "" {
			return s.options.Withheld.Delete(ctx, p.key)
		}
		return nil
	}
	if p.known.Key != "" {
		if err := s.set.Withdraw(ctx, p.key); err != nil {
			return err
		}
	}
	if s.options.Withheld == nil {
		return nil
	}
	return s.options.Withheld.Put(ctx, resourcesync.Resource{
		Key:   p.key,
		URI:   p.uri.String(),
		Stamp: stamp{Listed: listedAt(p.listed), Reason: v.reason}.String(),
	})
}

// excludes reports whether Options.Exclude excludes a URL.
func (s *Site) excludes(u *url.URL) bool {
	return s.options.Exclude != nil && s.options.Exclude(u)
}

// forget removes an excluded page from the sets without a check.
func (s *Site) forget(ctx context.Context, p *page) error {
	if p.known.Key != "" {
		if err := s.set.Withdraw(ctx, p.key); err != nil {
			return err
		}
	}
	if p.withheld.Key != "" {
		return s.options.Withheld.Delete(ctx, p.key)
	}
	return nil
}

// loadKnown sets the known and withheld resources of pages.
func (s *Site) loadKnown(ctx context.Context, pages []page) error {
	keys := make([]string, len(pages))
	for i := range pages {
		keys[i] = pages[i].key
	}
	known, err := s.set.Known(ctx, keys)
	if err != nil {
		return err
	}
	withheld := make([]resourcesync.Resource, len(pages))
	if s.options.Withheld != nil {
		if withheld, err = s.options.Withheld.Known(ctx, keys); err != nil {
			return err
		}
	}
	for i := range pages {
		// A page whose known resource has no key is not listed.
		if known[i].URI != "" {
			pages[i].known = known[i].Clone()
			pages[i].known.Key = keys[i]
		}
		if withheld[i].URI != "" {
			pages[i].withheld = withheld[i].Clone()
			pages[i].withheld.Key = keys[i]
		}
	}
	return nil
}

// keyLocks is a lock for each key, so that one goroutine at a time checks a page.
// Otherwise a scan that has begun to read a public page could list it after a hint has
// found it private.
type keyLocks struct {
	mu     sync.Mutex
	locked map[string]chan struct{} // closed by unlock
}

// lock waits until the key is unlocked or ctx is done, and locks it.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		other := l.locked[key]
		if other == nil {
			break
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer l.mu.Unlock()
	mine := make(chan struct{})
	if l.locked == nil {
		l.locked = map[string]chan struct{}{}
	}
	l.locked[key] = mine
	return func() {
		l.mu.Lock()
		delete(l.locked, key)
		l.mu.Unlock()
		close(mine)
	}, nil
}
