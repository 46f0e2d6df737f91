package sitemap

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
)

// batch is how many URLs are compared with the set at a time.
const batch = 256

// Resources scans the site: it yields the public pages that its sitemaps name, in no
// particular order and with bounded memory. Only pages that are new or have a newer
// lastmod than before are requested. Those that no longer qualify are withdrawn from
// the set at once, and not yielded.
//
// An error comes last and means that the scan is incomplete because a sitemap could
// not be read: then nothing may be deleted. A page whose check failed is yielded as
// last known.
func (s *Site) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		running, stop := context.WithCancel(ctx)
		sc := &scan{Site: s, ctx: running, found: make(chan resourcesync.Resource), status: Status{Withheld: map[string]int{}}}
		sc.looks.SetLimit(s.options.Concurrency)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(sc.found)
			sc.err = sc.run()
			_ = sc.looks.Wait()
		})
		defer wg.Wait()
		defer stop()
		for r := range sc.found {
			if !yield(r, nil) {
				return
			}
		}
		if ctx.Err() != nil {
			sc.err = ctx.Err()
		}
		if sc.err != nil {
			yield(resourcesync.Resource{}, sc.err)
			return
		}
		s.report(sc.status)
	}
}

// A scan is one pass over the sitemaps.
type scan struct {
	*Site
	ctx   context.Context
	found chan resourcesync.Resource
	looks errgroup.Group
	pages []page // not yet compared
	err   error

	mu     sync.Mutex
	status Status
}

// run reads the sitemaps, and has pages checked that need it.
func (sc *scan) run() error {
	queue, err := sc.discover(sc.ctx)
	if err != nil {
		return fmt.Errorf("sitemap: %w", err)
	}
	for _, list := range sc.recent {
		sc.lookAtRecent(sc.ctx, list, always)
	}
	var failed error
	seen := make(map[string]bool)
	names := 0
	for _, u := range queue {
		seen[u.String()] = true
	}
	for level := 0; len(queue) > 0; level++ {
		if level > maxLevels {
			return fmt.Errorf("sitemap: sitemap indexes are nested more than %d times", maxLevels)
		}
		var next []*url.URL
		for _, u := range queue {
			err := sc.readSitemap(u, func(child *url.URL) error {
				name := child.String()
				if seen[name] {
					return nil // a loop, or named twice
				}
				if names += len(name); len(seen) >= maxSitemaps || names > maxNames {
					return fmt.Errorf("names too many sitemaps: more than %d, or with URLs of more than %d bytes in all", maxSitemaps, maxNames)
				}
				seen[name] = true
				next = append(next, child)
				return nil
			})
			if sc.ctx.Err() != nil {
				return sc.ctx.Err()
			}
			if err != nil {
				sc.log.Warn("sitemap not read; nothing is deleted", "url", u.String(), "error", err)
				failed = errors.Join(failed, fmt.Errorf("sitemap: %s %w", u, err))
			}
		}
		queue = next
	}
	if err := sc.compare(); err != nil {
		return err
	}
	if failed == nil {
		sc.copies.prune(seen)
	}
	return failed
}

const (
	maxLevels   = 4
	maxSitemaps = 100_000
	maxNames    = 16 << 20 // of their URLs, in bytes
)

// add adds a URL that a sitemap names.
func (sc *scan) add(e entry) error {
	u, key, ok := sc.resolve(e.loc)
	if !ok {
		sc.count(func(st *Status) { st.Foreign++ })
		return nil
	}
	sc.pages = append(sc.pages, page{key: key, uri: u, listed: e.modified, excluded: sc.excludes(u)})
	if len(sc.pages) < batch {
		return nil
	}
	return sc.compare()
}

// resolve returns the URL that text is, with its key, if it is of the site.
func (s *Site) resolve(text string) (u *url.URL, key string, ok bool) {
	u, err := s.base.Parse(text)
	if err != nil {
		return nil, "", false
	}
	u.Fragment, u.RawFragment = "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	key, ok = s.key(u)
	return u, key, ok
}

// compare yields unchanged pages, and has the others checked.
func (sc *scan) compare() error {
	pages, err := sc.forgetExcluded(newest(sc.pages))
	sc.pages = nil
	if err != nil || len(pages) == 0 {
		return err
	}
	if sc.options.Verify == VerifyNone {
		return sc.list(pages)
	}
	if err := sc.knownOf(sc.ctx, pages); err != nil {
		return fmt.Errorf("sitemap: what is known: %w", err)
	}
	for i := range pages {
		p := &pages[i]
		switch {
		case p.known.Key != "" && p.known.URI == p.uri.String() && parseStamp(p.known.Stamp).isCurrent(p.listed):
			sc.send(p.known)
		case p.known.Key == "" && p.held.Key != "" && parseStamp(p.held.Stamp).isCurrent(p.listed):
			sc.withheld(parseStamp(p.held.Stamp).Reason)
		default:
			sc.looks.Go(func() error {
				sc.look(p)
				return nil
			})
		}
		if err := sc.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// forgetExcluded returns pages without the excluded ones, which it withdraws.
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
	if err := sc.knownOf(sc.ctx, excluded); err != nil {
		return nil, fmt.Errorf("sitemap: what is known: %w", err)
	}
	for i := range excluded {
		if err := sc.forget(sc.ctx, &excluded[i]); err != nil {
			return nil, fmt.Errorf("sitemap: withdrawing an excluded page: %w", err)
		}
	}
	return pages, nil
}

// list yields pages without a check.
func (sc *scan) list(pages []page) error {
	for i := range pages {
		v, err := sc.Site.look(sc.ctx, &pages[i])
		if err != nil {
			sc.count(func(st *Status) { st.Invalid++ })
			continue
		}
		sc.send(v.resource)
	}
	return sc.ctx.Err()
}

// newest returns pages without those that are named again, each with the newest time
// that is listed for it.
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

// look looks at a page and yields it if it is to be listed.
func (sc *scan) look(p *page) {
	v, err := sc.lookAndSettle(p)
	switch {
	case sc.ctx.Err() != nil:
	case err == errInvalidURI:
		sc.count(func(st *Status) { st.Invalid++ })
	case err != nil:
		sc.count(func(st *Status) { st.Failed++ })
		sc.log.Debug("page not looked at", "url", p.uri.String(), "error", err)
		if p.known.Key != "" {
			sc.send(p.known)
		}
	case v.reason != "":
		sc.withheld(v.reason)
	default:
		sc.send(v.resource)
	}
}

// lookAndSettle looks at a page and brings the sets up to date. A page that is new to
// them is left to [scan.send].
func (sc *scan) lookAndSettle(p *page) (verdict, error) {
	done, err := sc.turns.take(sc.ctx, p.key)
	if err != nil {
		return verdict{}, err
	}
	defer done()
	v, err := sc.Site.look(sc.ctx, p)
	if err == nil {
		err = sc.settle(sc.ctx, p, v)
	}
	if err == nil && v.reason == "" && p.known.Key != "" {
		// Another sitemap may name the page with an older time, and yield it as last
		// known. Put now, the resource is newer than this scan.
		err = sc.set.Put(sc.ctx, v.resource)
	}
	return v, err
}

func (sc *scan) withheld(reason string) { sc.count(func(st *Status) { st.Withheld[reason]++ }) }

func (sc *scan) count(f func(*Status)) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	f(&sc.status)
}

func (sc *scan) send(r resourcesync.Resource) {
	select {
	case sc.found <- r:
	case <-sc.ctx.Done():
	}
}

// report keeps the counts of a complete scan, and logs those that are new.
func (s *Site) report(now Status) {
	s.mu.Lock()
	before := s.status
	now.Oldest = before.Oldest
	s.status = now
	s.mu.Unlock()
	if now.Foreign != before.Foreign || now.Invalid != before.Invalid || now.Failed != before.Failed || len(now.Withheld) != len(before.Withheld) {
		s.log.Info("sitemaps read", "sitemaps", now.Sitemaps, "unchanged", now.Unchanged, "foreign", now.Foreign,
			"invalid", now.Invalid, "failed", now.Failed, "withheld", now.Withheld)
	}
}
