package sitemap

import (
	"context"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
)

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
