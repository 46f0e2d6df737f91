package sitemap

import (
	"context"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
)

// settle makes the sets agree with a verdict: a page that does not qualify is
// withdrawn at once, and one that does is no longer withheld. It does not put the
// page itself.
func (s *Site) settle(ctx context.Context, p *page, v verdict) error {
	if v.reason == "" {
		if p.held.Key != "" {
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
		Stamp: stamp{Listed: seen(p.listed), Reason: v.reason}.String(),
	})
}

// excludes reports whether the host does not want a URL listed.
func (s *Site) excludes(u *url.URL) bool {
	return s.options.Exclude != nil && s.options.Exclude(u)
}

// forget takes an excluded page out of the sets, without a look at it.
func (s *Site) forget(ctx context.Context, p *page) error {
	if p.known.Key != "" {
		if err := s.set.Withdraw(ctx, p.key); err != nil {
			return err
		}
	}
	if p.held.Key != "" {
		return s.options.Withheld.Delete(ctx, p.key)
	}
	return nil
}

// knownOf fills in the known resources of pages.
func (s *Site) knownOf(ctx context.Context, pages []page) error {
	keys := make([]string, len(pages))
	for i := range pages {
		keys[i] = pages[i].key
	}
	known, err := s.set.Known(ctx, keys)
	if err != nil {
		return err
	}
	held := make([]resourcesync.Resource, len(pages))
	if s.options.Withheld != nil {
		if held, err = s.options.Withheld.Known(ctx, keys); err != nil {
			return err
		}
	}
	for i := range pages {
		// A known resource without a key means that there is none.
		if known[i].URI != "" {
			pages[i].known = known[i].Clone()
			pages[i].known.Key = keys[i]
		}
		if held[i].URI != "" {
			pages[i].held = held[i].Clone()
			pages[i].held.Key = keys[i]
		}
	}
	return nil
}
