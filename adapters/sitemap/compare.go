package sitemap

import (
	"fmt"
	"slices"
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
