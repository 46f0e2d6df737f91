package sitemap

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

const (
	// maxHints is the maximum number of pending URLs, and maxHint the maximum
	// length of each. Any client can cause hints, so both limit memory.
	maxHints = 1000
	maxHint  = 2048

	// coalesce is the time that a hint waits for others.
	coalesce = 200 * time.Millisecond

	// queryBurst is the number of lists of recent changes that hints may have read at once.
	queryBurst = 10

	// retryHints is the pause before work beyond the budget is tried again.
	retryHints = time.Second
)

// hints are URLs of pages that may have changed. Any client can cause hints, so the
// work for them has a budget. Work beyond it waits; URLs beyond maxHints are left to the
// next scan or visit.
type hints struct {
	checks  *rate.Limiter // of pages
	queries *rate.Limiter // of the lists of recent changes
	scans   *rate.Limiter

	mu      sync.Mutex
	pending map[string]*url.URL
	woken   chan struct{}
	wakes   map[*func()]bool
}

func newHints() *hints {
	return &hints{
		checks:  rate.NewLimiter(1, 30),
		queries: rate.NewLimiter(0.5, queryBurst),
		scans:   rate.NewLimiter(rate.Every(time.Minute), 10),
		pending: map[string]*url.URL{},
		woken:   make(chan struct{}, 1),
		wakes:   map[*func()]bool{},
	}
}

// Changed reports that these pages, or any pages if urls is empty, may have changed. It
// does not block. While [Site.Run] runs, it checks those pages that are listed or
// withheld, reads the lists of [Options.Recent], and has [Site.Watch] request a scan.
// The work for hints is limited, and so is the number of pending URLs.
func (s *Site) Changed(urls ...*url.URL) {
	h := s.hints
	h.mu.Lock()
	for _, u := range urls {
		if text := u.String(); len(text) <= maxHint && len(h.pending) < maxHints {
			h.pending[text] = u
		}
	}
	h.mu.Unlock()
	background.Signal(h.woken)
}

// Watch implements [scan.Watcher]: anything may have changed when hints request a scan.
func (s *Site) Watch(ctx context.Context, changed func(paths []string)) error {
	wake := func() { changed(nil) }
	h := s.hints
	h.mu.Lock()
	h.wakes[&wake] = true
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	delete(h.wakes, &wake)
	h.mu.Unlock()
	return nil
}

// Run implements [scan.Runner]: it checks the pages that hints name, and all pages in turn.
func (s *Site) Run(ctx context.Context) error {
	if s.set == nil {
		return errUnbound
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.followHints(ctx); return nil })
	g.Go(func() error { s.sampleStrangers(ctx); return nil })
	g.Go(func() error { s.followRefusals(ctx); return nil })
	if s.options.Revisit > 0 && s.options.Verify != VerifyNone {
		g.Go(func() error { s.revisit(ctx); return nil })
	}
	return g.Wait()
}

// followHints processes hints until ctx is done. Work beyond the budget stays pending.
func (s *Site) followHints(ctx context.Context) {
	var scan, query bool // whether they are due
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-s.hints.woken:
			if background.Sleep(ctx, coalesce) != nil {
				return
			}
			scan, query = true, s.recentLists() > 0
		}
		if scan && s.hints.scans.Allow() {
			s.hints.wake()
			scan = false
		}
		if query && s.hints.queries.AllowN(time.Now(), min(s.recentLists(), queryBurst)) {
			s.checkAllRecent(ctx, s.hints.checks.Allow)
			query = false
		}
		left := s.checkHinted(ctx)
		if again = nil; scan || query || left {
			again = time.After(retryHints)
		}
	}
}

// wake requests a scan.
func (h *hints) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wake := range h.wakes {
		(*wake)()
	}
}

// checkHinted checks the pages that hints name, and reports whether some are still
// pending.
func (s *Site) checkHinted(ctx context.Context) (left bool) {
	h := s.hints
	h.mu.Lock()
	urls := h.pending
	h.pending = map[string]*url.URL{}
	h.mu.Unlock()
	for text, u := range urls {
		refused := false
		if u, key, ok := s.resolve(u.String()); ok {
			s.recheck(ctx, page{key: key, uri: u}, false, func() bool {
				refused = !h.checks.Allow()
				return !refused
			})
		}
		if refused {
			left = true
			h.mu.Lock()
			if len(h.pending) < maxHints {
				h.pending[text] = u
			}
			h.mu.Unlock()
		}
	}
	return left
}

// recentLists returns the number of lists of recent changes.
func (s *Site) recentLists() int {
	n := len(s.recent)
	if s.wordpress != nil {
		n += int(s.wordpress.lists.Load())
	}
	return n
}

// checkAllRecent checks the pages that all lists of recent changes name, as far as may
// allows.
func (s *Site) checkAllRecent(ctx context.Context, may func() bool) {
	for _, list := range s.recent {
		s.checkRecent(ctx, list, may)
	}
	if s.wordpress != nil {
		s.wordpress.poll(ctx, may)
	}
}

// checkRecent checks the pages that a list of recent changes names, as far as may
// allows.
func (s *Site) checkRecent(ctx context.Context, list *url.URL, may func() bool) {
	res, err := s.client.get(ctx, list, nil)
	if err == nil {
		defer res.Body.Close()
		err = readEntries(webclient.Limit(res.Body, maxFeed, errTooLarge), func(e entry) error {
			u, key, ok := s.resolve(e.loc)
			if ok && !e.isIndex {
				s.recheck(ctx, page{key: key, uri: u, listed: e.modified}, true, may)
			}
			return ctx.Err()
		})
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("recent changes not read", "url", list.String(), "error", err)
	}
}

// recheck checks a page between scans and updates the set. It checks an unlisted page
// only if a list of recent changes names it (isNew), or if it is withheld. It calls may
// before each request. It reports false if a check is still due.
func (s *Site) recheck(ctx context.Context, p page, isNew bool, may func() bool) (done bool) {
	unlock, err := s.locks.lock(ctx, p.key)
	if err != nil {
		return false
	}
	defer unlock()
	pages := []page{p}
	if err := s.loadKnown(ctx, pages); err != nil {
		return false
	}
	p = pages[0]
	switch {
	case s.excludes(p.uri):
		err = s.forget(ctx, &p)
	case p.known.Key == "" && !isNew && p.withheld.Key == "", !s.mayHaveChanged(&p, isNew):
		return true
	case !may():
		return false
	case p.known.Key == "" && !isNew:
		err = s.checkWithheld(ctx, &p)
	default:
		err = s.checkAndPut(ctx, &p)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("page not checked", "url", p.uri.String(), "error", err)
	}
	return err == nil || err == errInvalidURI
}

// mayHaveChanged reports whether a page needs a check. A page that a list of recent
// changes names (isNew) needs none if its listed time is not later than at the last
// check.
func (s *Site) mayHaveChanged(p *page, isNew bool) bool {
	return !isNew || p.known.Key == "" || p.listed.IsZero() || p.listed.After(parseStamp(p.known.Stamp).Listed)
}

// checkAndPut checks a page and puts it if it has changed.
func (s *Site) checkAndPut(ctx context.Context, p *page) error {
	v, err := s.check(ctx, p)
	if err == nil {
		err = s.apply(ctx, p, v)
	}
	if err == nil && v.reason == "" && (p.known.Key == "" || !v.resource.Equal(p.known)) {
		err = s.set.Put(ctx, v.resource)
	}
	return err
}

// checkWithheld checks a withheld page. It forgets a page that no longer exists, so that
// such pages do not accumulate; a scan withholds it again if a sitemap still names it.
func (s *Site) checkWithheld(ctx context.Context, p *page) error {
	p.listed = parseStamp(p.withheld.Stamp).Listed
	v, err := s.check(ctx, p)
	if err != nil {
		return err
	}
	switch v.reason {
	case "":
		err = s.set.Put(ctx, v.resource)
	case http.StatusText(http.StatusNotFound), http.StatusText(http.StatusGone):
	default:
		return nil
	}
	if err == nil {
		err = s.withheld.Delete(ctx, p.key)
	}
	return err
}

func always() bool { return true }
