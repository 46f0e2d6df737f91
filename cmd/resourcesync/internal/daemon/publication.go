package daemon

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/operators"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// A publication is the sets of a configuration as a Source.
type publication struct {
	*daemon
	site      *site.Config
	members   []*Member
	places    []*place // buckets
	source    *rshttp.Source
	base      *url.URL       // of the site
	documents *url.URL       // the base of the documents
	handler   http.Handler   // of the documents, the hub, and what the sets serve
	derived   bool           // the base URL follows from the listener
	requests  sync.WaitGroup // that have begun; a WebSocket is one until it is open
}

// newPublication opens the sets of c, and assembles a Source of them. Nothing runs yet. Sets
// that the previous publication has with the same configuration are not opened again.
func newPublication(ctx context.Context, of *daemon, c *site.Config, before *publication) (_ *publication, err error) {
	base, err := c.Base()
	if err != nil {
		return nil, err
	}
	p := &publication{daemon: of, site: c, base: base, documents: base.JoinPath(c.Prefix)}
	defer func() {
		if err != nil {
			closeAll(p.without(before))
		}
	}()
	for i, set := range c.Sets {
		m := before.same(set)
		if m == nil {
			if m, err = openMember(ctx, of, c, set); err != nil {
				return nil, c.Catalogs[i].Locate(err)
			}
		}
		p.members = append(p.members, m)
	}
	if err := p.newSource(); err != nil {
		return nil, err
	}
	site, err := p.siteHandler()
	if err != nil {
		return nil, err
	}
	p.handler = p.withOwn(site)
	return p, p.openPlaces(ctx)
}

func (p *publication) newSource() (err error) {
	c := p.site
	o := &rshttp.Options{
		About:       c.About.About,
		DescribedBy: c.DescribedBy,
		Division:    c.Division(),
		Sitemaps:    c.Sitemaps(),
		Pages:       rshttp.Pages{Off: !c.Pages},
		Store:       p.state,
		Logger:      p.log,
	}
	o.HubURI, o.Hub = c.OwnHubOptions()
	if p.sockets != nil {
		o.WebSocket = feed{p.sockets}
	}
	switch {
	case p.harvesters != nil:
		o.Observe = func(a rshttp.Answer) {
			p.metrics.Observe(a)
			p.harvesters.Observe(a)
		}
	case p.metrics != nil:
		o.Observe = p.metrics.Observe
	}
	var sets []rshttp.Set
	for _, m := range p.members {
		sets = append(sets, m.Published(c))
	}
	if p.source, err = rshttp.New(p.documents.String(), sets, o); err != nil {
		return settings.Errorf("%w", err)
	}
	return nil
}

// A feed is a server of WebSockets that the process runs, so that connections outlive the
// Source.
type feed struct{ *websocket.Server }

func (feed) Run(ctx context.Context, _ topiclog.Log) error {
	<-ctx.Done()
	return nil
}

// runSource runs the Source until ctx ends.
func (p *publication) runSource(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return p.source.Run(ctx) })
	for _, pl := range p.places {
		g.Go(func() error { return pl.run(ctx, p) })
	}
	if p.source.Hub() != nil && !p.state.Shared { // otherwise other processes may have topics that this one does not know
		g.Go(func() error {
			if err := p.leaveTopics(ctx); err != nil && ctx.Err() == nil {
				p.log.Warn("subscriptions to topics of another address not ended; they end with their leases", "error", err)
			}
			return nil
		})
	}
	if p.harvesters != nil {
		g.Go(func() error { p.watchHarvesters(ctx); return nil })
	}
	return g.Wait()
}

func (p *publication) close() {
	p.closePlaces()
	closeAll(p.members)
}

func closeAll(members []*Member) {
	for _, m := range members {
		if err := m.Close(); err != nil {
			m.Log.Warn("set not closed", "error", err)
		}
	}
}

// uploads reports whether the handler bounds the bodies of requests.
func (p *publication) uploads() bool {
	return slices.ContainsFunc(p.members, func(m *Member) bool { return m.Name != "" || m.Content.Uploads })
}

// siteHandler returns the handler of the documents and the sets. The set with the longest
// matching path answers each other request.
func (p *publication) siteHandler() (http.Handler, error) {
	type part struct {
		path    string
		handler http.Handler
	}
	var parts []part
	for _, m := range p.members {
		if m.Content.Handler == nil {
			continue
		}
		h, err := m.Content.Handler(p.source)
		if err != nil {
			return nil, site.Named(m.Name, err)
		}
		parts = append(parts, part{m.Base.Path, h})
	}
	if len(parts) == 0 {
		return p.source, nil
	}
	if len(parts) == 1 && parts[0].path == p.base.Path {
		return parts[0].handler, nil
	}
	slices.SortFunc(parts, func(a, b part) int { return len(b.path) - len(a.path) })
	rest := p.source.Wrap(http.NotFoundHandler())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := rest
		if i := slices.IndexFunc(parts, func(part part) bool { return strings.HasPrefix(r.URL.Path, part.path) }); i >= 0 {
			h = parts[i].handler
		}
		h.ServeHTTP(w, r)
	}), nil
}

// withOwn returns a handler that serves healthz, readyz, the pings of sets and the callback of
// hubs, and redirects from the folders of documents to the pages of the Source and its sets. It
// passes other requests to next. These paths are reserved for documents.
func (p *publication) withOwn(next http.Handler) http.Handler {
	own := map[string]http.Handler{
		p.documents.Path + "healthz": p.healthz,
		p.documents.Path + "readyz":  http.HandlerFunc(p.serveReady),
	}
	if p.site.Prefix != "/" { // otherwise it is the home page of the site
		own[p.documents.Path] = redirectTo(origin.Home(p.source))
	}
	for _, m := range p.members {
		if m.Name != "" {
			own[m.Documents.Path] = redirectTo(m.home(p.site.Pages))
		}
		if ping := m.ping(); ping != nil {
			own[m.Documents.JoinPath("ping").Path] = ping
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := own[r.URL.Path]
		switch {
		case h != nil:
		case p.callback != nil && strings.HasPrefix(r.URL.Path, p.documents.Path+site.CallbackPath):
			h = p.callback
		default:
			h = next
		}
		h.ServeHTTP(w, r)
	})
}

// redirectTo returns a handler that redirects to a page.
func redirectTo(page string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reqbody.Get(w, r) {
			http.Redirect(w, r, page, http.StatusFound)
		}
	})
}

// notes returns remarks about the sets for the public.
func (p *publication) notes() (all []string) {
	for _, m := range p.members {
		all = append(all, m.notes()...)
	}
	return all
}

// serveReady answers 503 until all sets can be shown, after their first scans.
func (p *publication) serveReady(w http.ResponseWriter, r *http.Request) {
	if !operators.IsFreshGet(w, r) {
		return
	}
	if slices.ContainsFunc(p.members, func(m *Member) bool { return !m.isReady.Load() }) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "not ready; the first scan has not ended\n")
		return
	}
	io.WriteString(w, "ok\n")
}

// leaveTopics ends the subscriptions to topics that the site had at another base URL, and
// notifies the subscribers. Subscriptions to removed sets end with their leases: earlier
// changes may still have to be delivered, and the set may come back.
func (p *publication) leaveTopics(ctx context.Context) error {
	var left []string
	for sub, err := range p.source.Hub().Subscriptions(ctx) {
		if err != nil {
			return err
		}
		if !strings.HasPrefix(sub.Topic, p.documents.String()) && !slices.Contains(left, sub.Topic) {
			left = append(left, sub.Topic)
		}
	}
	return p.source.Hub().Withdraw(ctx, "the site has moved: subscribe to the topics that it has now", left...)
}
