package sitemap

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync"
)

const (
	// maxHints is how many URLs wait for a look, and maxHint how long each may be.
	// Any client can cause hints, so both bound memory.
	maxHints = 1000
	maxHint  = 2048

	// coalesce is how long a hint waits for others.
	coalesce = 200 * time.Millisecond
)

// hints are pages that may have changed. Any client can cause hints, so the work for
// them has a budget. Hints beyond it are left to the next scan or visit.
type hints struct {
	looks   *rate.Limiter // at pages
	queries *rate.Limiter // for what is recent
	scans   *rate.Limiter // that are called for

	mu      sync.Mutex
	pending map[string]*url.URL
	woken   chan struct{}
	wakes   map[*func()]bool
}

func newHints() *hints {
	return &hints{
		looks:   rate.NewLimiter(1, 30),
		queries: rate.NewLimiter(0.5, 10),
		scans:   rate.NewLimiter(rate.Every(time.Minute), 10),
		pending: map[string]*url.URL{},
		woken:   make(chan struct{}, 1),
		wakes:   map[*func()]bool{},
	}
}

// Changed reports that these pages, or any pages if none are given, may have
// changed. It returns at once. While [Site.Run] runs, the pages that are listed or
// withheld are checked again, the lists of [Options.Recent] are read, and
// [Site.Watch] requests a scan. The work that hints cause is bounded.
func (s *Site) Changed(urls ...*url.URL) {
	h := s.hints
	h.mu.Lock()
	for _, u := range urls {
		if text := u.String(); len(text) <= maxHint && len(h.pending) < maxHints {
			h.pending[text] = u
		}
	}
	h.mu.Unlock()
	select {
	case h.woken <- struct{}{}:
	default:
	}
}

// Watch calls wake when a scan is due before its time, until ctx is done.
func (s *Site) Watch(ctx context.Context, wake func()) error {
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

// Run checks pages for which there are hints, and all pages in turn, until ctx is
// done. It returns nil.
func (s *Site) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.followHints(ctx); return nil })
	if s.options.Revisit > 0 && s.options.Verify != VerifyNone {
		g.Go(func() error { s.revisit(ctx); return nil })
	}
	return g.Wait()
}

// deferred is when what exceeded the budget of hints is tried again.
const deferred = time.Second

// followHints does what hints call for. Work beyond the budget waits, and is not
// forgotten.
func (s *Site) followHints(ctx context.Context) {
	var scan, query bool // are due
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-s.hints.woken:
			if !sleep(ctx, coalesce) {
				return
			}
			scan, query = true, len(s.recent) > 0
		}
		if scan && s.hints.scans.Allow() {
			s.hints.wake()
			scan = false
		}
		if query && s.hints.queries.AllowN(time.Now(), len(s.recent)) {
			for _, list := range s.recent {
				s.lookAtRecent(ctx, list, s.hints.looks.Allow)
			}
			query = false
		}
		left := s.lookAtHinted(ctx)
		if again = nil; scan || query || left {
			again = time.After(deferred)
		}
	}
}

// wake calls for a scan.
func (h *hints) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for wake := range h.wakes {
		(*wake)()
	}
}

// lookAtHinted checks the pages for which there are hints, and reports whether some
// are left for later.
func (s *Site) lookAtHinted(ctx context.Context) (left bool) {
	h := s.hints
	h.mu.Lock()
	urls := h.pending
	h.pending = map[string]*url.URL{}
	h.mu.Unlock()
	for text, u := range urls {
		refused := false
		if u, key, ok := s.resolve(u.String()); ok {
			s.lookAgain(ctx, page{key: key, uri: u}, false, func() bool {
				refused = !h.looks.Allow()
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

// lookAtRecent checks the pages that a list of recent changes names, while may
// allows it.
func (s *Site) lookAtRecent(ctx context.Context, list *url.URL, may func() bool) {
	res, err := s.client.get(ctx, list, nil)
	if err == nil {
		defer res.Body.Close()
		err = readEntries(&limitedReader{res.Body, maxFeed}, func(e entry) error {
			u, key, ok := s.resolve(e.loc)
			if ok && !e.isIndex {
				s.lookAgain(ctx, page{key: key, uri: u, listed: e.modified}, true, may)
			}
			return ctx.Err()
		})
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("recent changes not read", "url", list.String(), "error", err)
	}
}

// lookAgain looks at a page between scans and brings the set up to date. A page that
// is not listed is looked at only if it is known to be in the site's sitemaps
// (isNew), or withheld. may is called before each request.
func (s *Site) lookAgain(ctx context.Context, p page, isNew bool, may func() bool) {
	done, err := s.turns.take(ctx, p.key)
	if err != nil {
		return
	}
	defer done()
	pages := []page{p}
	if err := s.knownOf(ctx, pages); err != nil {
		return
	}
	p = pages[0]
	if s.excludes(p.uri) {
		err = s.forget(ctx, &p)
	} else if p.known.Key == "" && !isNew {
		if p.held.Key != "" && may() {
			err = s.lookAtWithheld(ctx, &p)
		}
	} else if s.isNews(&p, isNew) && may() {
		err = s.lookAndPut(ctx, &p)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Debug("page not looked at", "url", p.uri.String(), "error", err)
	}
}

// isNews reports whether a page that a list of recent changes names (isNew) has
// changed since the last look. Any other page may have.
func (s *Site) isNews(p *page, isNew bool) bool {
	return !isNew || p.known.Key == "" || p.listed.IsZero() || p.listed.After(parseStamp(p.known.Stamp).Listed)
}

// lookAndPut looks at a page and puts what has changed.
func (s *Site) lookAndPut(ctx context.Context, p *page) error {
	v, err := s.look(ctx, p)
	if err == nil {
		err = s.settle(ctx, p, v)
	}
	if err == nil && v.reason == "" && (p.known.Key == "" || !v.resource.Equal(p.known)) {
		err = s.set.Put(ctx, v.resource)
	}
	return err
}

// lookAtWithheld looks at a withheld page. If it is gone, it is forgotten: a scan
// withholds it again if a sitemap still names it, so that dead pages do not add up.
func (s *Site) lookAtWithheld(ctx context.Context, p *page) error {
	p.listed = parseStamp(p.held.Stamp).Listed
	v, err := s.look(ctx, p)
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
		err = s.options.Withheld.Delete(ctx, p.key)
	}
	return err
}

func always() bool { return true }

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

var _ resourcesync.Watcher = (*Site)(nil)
