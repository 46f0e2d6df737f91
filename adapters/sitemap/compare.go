package sitemap

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// compare yields unchanged pages, and starts checks of the others.
func (sc *pass) compare() error {
	pages := newest(sc.pages)
	sc.pages = nil
	if len(pages) == 0 {
		return nil
	}
	if sc.options.Verify != VerifyNone || sc.options.Exclude != nil || sc.recentLists() > 0 {
		if err := sc.loadKnown(sc.ctx, pages); err != nil {
			return fmt.Errorf("sitemap: looking up known pages: %w", err)
		}
	}
	for i := range pages {
		p := &pages[i]
		switch {
		case sc.excludes(p.uri):
			if err := sc.forget(sc.ctx, p); err != nil {
				return fmt.Errorf("sitemap: withdrawing an excluded page: %w", err)
			}
		case sc.options.Verify == VerifyNone:
			sc.list(p)
		case sc.isListedAsIs(p):
			sc.send(p.known)
		case sc.isWithheldAsIs(p):
			sc.countWithheld(parseStamp(p.withheld.Stamp).Reason)
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
	return p.known.Key != "" && p.known.URI == p.uri.String() && mark.Variant == s.variant && mark.isCurrent(p.listed) &&
		!(mark.Uncacheable && s.options.RespectCacheControl)
}

// isWithheldAsIs reports whether p is withheld and needs no check.
func (s *Site) isWithheldAsIs(p *page) bool {
	mark := parseStamp(p.withheld.Stamp)
	return p.known.Key == "" && p.withheld.Key != "" && p.withheld.URI == p.uri.String() && mark.isCurrent(p.listed) &&
		!(mark.Reason == uncacheable && !s.options.RespectCacheControl)
}

// list yields a page without requesting it.
func (sc *pass) list(p *page) {
	v, err := sc.Site.check(sc.ctx, p)
	if err != nil {
		sc.count(func(st *Status) { st.Invalid++ })
		return
	}
	sc.send(v.resource)
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
		return s.unwithhold(ctx, p)
	}
	mark := stamp{Listed: listedAt(p.listed), Reason: v.reason}
	if p.known.Key == "" {
		mark.Refused = parseStamp(p.withheld.Stamp).Refused
	}
	withdraw := s.withdraw
	if v.stranger { // the next refusals may show that the website distrusts the headers
		mark.Refused = time.Now()
		withdraw = func(ctx context.Context, p *page) error { return s.set.WithdrawForScan(ctx, p.key) }
	}
	if err := withdraw(ctx, p); err != nil {
		return err
	}
	return s.withheld.Put(ctx, resourcesync.Resource{
		Key:   p.key,
		URI:   p.uri.String(),
		Stamp: mark.String(),
	})
}

// excludes reports whether Options.Exclude excludes a URL.
func (s *Site) excludes(u *url.URL) bool {
	return s.options.Exclude != nil && s.options.Exclude(u)
}

// forget removes an excluded page from the sets without a check.
func (s *Site) forget(ctx context.Context, p *page) error {
	return errors.Join(s.withdraw(ctx, p), s.unwithhold(ctx, p))
}

func (s *Site) withdraw(ctx context.Context, p *page) error {
	if p.known.Key == "" {
		return nil
	}
	return s.set.Withdraw(ctx, p.key)
}

func (s *Site) unwithhold(ctx context.Context, p *page) error {
	if p.withheld.Key == "" {
		return nil
	}
	return s.withheld.Delete(ctx, p.key)
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
	withheld, err := s.withheld.Known(ctx, keys)
	if err != nil {
		return err
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
	locked sync.Map // from keys to channels, which unlock closes
}

// lock waits until the key is unlocked or ctx is done, and locks it.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		other, locked := l.locked.LoadOrStore(key, mine)
		if !locked {
			return func() { l.locked.Delete(key); close(mine) }, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
