package sitemap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// batch is the number of URLs that are compared with the set at once.
const batch = 256

// Resources implements [scan.Origin]: it lists the public pages that the sitemaps name. Its
// memory does not depend on their number. It requests only pages that are new or have a newer
// lastmod than before. It withdraws pages that no longer qualify from the set at once, and does
// not list them. A page whose check failed is listed as last known.
func (s *Site) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		if s.set == nil {
			yield(resourcesync.Resource{}, errUnbound)
			return
		}
		running, stop := context.WithCancel(ctx)
		sc := &pass{Site: s, ctx: running, found: make(chan resourcesync.Resource), status: Status{Withheld: map[string]int{}}}
		sc.checks.SetLimit(s.options.Concurrency)
		s.latest.Store(sc)
		var failed error
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(sc.found)
			failed = sc.run()
			_ = sc.checks.Wait()
		})
		defer wg.Wait()
		defer stop()
		for r := range sc.found {
			sc.listed.Add(1)
			if !yield(r, nil) {
				return
			}
		}
		if err := cmp.Or(ctx.Err(), failed, s.Hidden()); err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		s.report(sc.status)
	}
}

// A pass is one reading of all sitemaps.
type pass struct {
	*Site
	ctx    context.Context
	found  chan resourcesync.Resource
	checks errgroup.Group
	pages  []page // not yet compared
	own    bool   // a sitemap names a page of the site

	listed atomic.Int64
	mu     sync.Mutex
	status Status
}

// Progress implements [scan.Progresser].
func (s *Site) Progress() scan.Progress {
	sc := s.latest.Load()
	if sc == nil {
		return scan.Progress{}
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return scan.Progress{Resources: sc.listed.Load(), Skipped: int64(sc.status.Foreign + sc.status.Invalid + sc.status.Failed)}
}

// run reads the sitemaps while other goroutines check pages.
func (sc *pass) run() error {
	queue, err := sc.discover(sc.ctx)
	if err != nil {
		return fmt.Errorf("sitemap: %w", err)
	}
	sc.checkAllRecent(sc.ctx, always)
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
					return fmt.Errorf("names too many sitemaps: more than %d, or with URLs of more than %d bytes in total", maxSitemaps, maxNames)
				}
				seen[name] = true
				next = append(next, child)
				return nil
			})
			if sc.ctx.Err() != nil {
				return sc.ctx.Err()
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("sitemap: %s %w", u, err))
			}
		}
		queue = next
	}
	if err := sc.compare(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	sc.copies.prune(seen)
	return sc.allForeign()
}

// allForeign returns an error if the sitemaps name only URLs of other sites: the base URL is
// probably wrong, and an empty list would look like an empty site.
func (sc *pass) allForeign() error {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.own || sc.status.Foreign == 0 {
		return nil
	}
	return fmt.Errorf("sitemap: the sitemaps name no page whose URL begins with %s, but %d others such as %.200s: correct the base URL", sc.base, sc.status.Foreign, sc.status.ForeignURL)
}

const (
	maxLevels   = 4
	maxSitemaps = 100_000
	maxNames    = 16 << 20 // total length of their URLs, in bytes
)

// add adds a URL that a sitemap names.
func (sc *pass) add(e entry) error {
	u, key, ok := sc.resolve(e.loc)
	if !ok {
		sc.countForeign(e.loc)
		return nil
	}
	sc.own = true
	sc.pages = append(sc.pages, page{key: key, uri: u, listed: e.modified})
	if len(sc.pages) < batch {
		return nil
	}
	return sc.compare()
}

// resolve parses text as a URL and returns it with its key, if it belongs to the site.
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

// check checks a page and yields it if it qualifies.
func (sc *pass) check(p *page) {
	v, err := sc.checkAndApply(p)
	switch {
	case sc.ctx.Err() != nil:
	case err == errInvalidURI:
		sc.count(func(st *Status) { st.Invalid++ })
	case err != nil:
		sc.count(func(st *Status) { st.Failed++ })
		sc.log.Debug("page not checked", "url", p.uri.String(), "error", err)
		if p.known.Key != "" {
			sc.send(p.unchecked())
		}
	case v.reason != "":
		sc.countWithheld(v.reason)
	default:
		sc.send(v.resource)
	}
}

// unchecked returns a listed page whose check failed, as last known. If the site has moved, the page
// gets its new URL, at which the next scan checks it again.
func (p *page) unchecked() resourcesync.Resource {
	r := p.known
	if uri := p.uri.String(); r.URI != uri {
		r.URI, r.Stamp = uri, ""
	}
	return r
}

// checkAndApply checks a page and applies the verdict to the sets. It does not put a
// page that is new; the store does that when the scan yields it.
func (sc *pass) checkAndApply(p *page) (verdict, error) {
	done, err := sc.locks.lock(sc.ctx, p.key)
	if err != nil {
		return verdict{}, err
	}
	defer done()
	v, err := sc.Site.check(sc.ctx, p)
	if err == nil {
		err = sc.apply(sc.ctx, p, v)
	}
	if err == nil && v.reason == "" && p.known.Key != "" {
		// Another sitemap may name the page with an older time, so that the scan
		// yields it as last known. Put now, the resource is newer than the scan.
		err = sc.set.Put(sc.ctx, v.resource)
	}
	return v, err
}

func (sc *pass) countWithheld(reason string) { sc.count(func(st *Status) { st.Withheld[reason]++ }) }

func (sc *pass) countForeign(url string) {
	sc.count(func(st *Status) {
		st.Foreign++
		st.ForeignURL = cmp.Or(st.ForeignURL, url)
	})
}

func (sc *pass) count(f func(*Status)) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	f(&sc.status)
}

func (sc *pass) send(r resourcesync.Resource) {
	if strings.Contains(r.Stamp, `"u":true`) { // parsing each takes long
		sc.count(func(st *Status) { st.Uncacheable++ })
	}
	select {
	case sc.found <- r:
	case <-sc.ctx.Done():
	}
}

// report stores the counts of a complete scan, and logs them if they have changed.
func (s *Site) report(now Status) {
	s.mu.Lock()
	before := s.status
	now.Oldest = before.Oldest
	s.status = now
	s.mu.Unlock()
	if now.Foreign != before.Foreign || now.Invalid != before.Invalid || now.Failed != before.Failed || len(now.Withheld) != len(before.Withheld) {
		s.log.Info("sitemaps read", "sitemaps", now.Sitemaps, "unchanged", now.Unchanged, "foreign", now.Foreign,
			"foreignURL", now.ForeignURL, "invalid", now.Invalid, "failed", now.Failed, "withheld", now.Withheld)
	}
}
