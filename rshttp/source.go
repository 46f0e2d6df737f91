// Package rshttp serves sets of resources as a ResourceSync Source over HTTP.
//
// [New] returns a [Source] that serves the documents of the sets it is given: the Source
// Description at the well-known URI, a Capability List per set, Resource Lists and, for
// a set with a journal, Change Lists. A set has Resource Dumps if it can read the content of
// its resources, and Change Dumps if it can read their past versions. [Source.Wrap] adds the
// Source to an application in one line. A Source is also an http.Handler that matches the
// complete path of a request, and can be mounted:
//
//	mux.Handle("/resourcesync/", src)                 // net/http
//	mux.Handle("/.well-known/resourcesync", src)
//	mux.Handle("/", src.Link(app))
//
//	r.Mount("/resourcesync", src)                     // chi
//	r.Handle("/.well-known/resourcesync", src)
//	r.With(src.Link).Handle("/papers/*", papers)
//
//	r.PathPrefix("/resourcesync/").Handler(src)       // gorilla/mux
//	r.Handle("/.well-known/resourcesync", src)
//	r.PathPrefix("/papers/").Handler(src.Link(papers))
//
// # Push
//
// If [Options].Hub is set or a set has remote hubs, the Source also pushes changes over the
// two notification channels that its Capability Lists advertise (Change Notification and
// Framework Notification 1.0.1). [Source.Run] publishes and delivers them, and does the
// background work. Without a Logger or a Tracer of their own, Hub and Push use the ones of
// the Source.
//
// The Store of Options keeps notifications and subscriptions; Source.Run runs it. Usually it
// is the *sqlstore.Store that also has the journals of the sets. All processes that serve the
// same sets share one Store, in which the base URL identifies the Source. Without a Store, a
// restart loses all subscriptions and the notifications that were not accepted, and each
// channel starts again with the first change after it. Destinations see the gap before the
// next notification, and read the Change List.
//
// With a Store, the removal of a set is announced to the hubs of the set, even if no other
// set has hubs. The Store does not keep tokens, so a hub that needs a Token or a Ping is
// notified only if another set has it.
//
// # Documents
//
// A Resource List that is too long for one document becomes an index of pages. A page is a
// range of keys, and its URL contains the range: the cost of rendering a page does not
// depend on the size of the set, and servers share no memory of pages. A document is
// rendered and compressed completely before its status is sent. It is cached, within
// [Limits].CacheBytes, until its set changes. Documents are functions of the state, so all
// replicas send the same bytes with the same entity tags. (The index of a Resource List also
// depends on how the set has been divided. Stores that keep their cuts, such as sqlstore,
// divide it alike for all replicas.)
//
// A package of a Resource Dump is a range of keys, and one of a Change Dump is a span of
// time. Packages are never stored: their bytes are computed while they are sent, from any
// offset, and checked against the manifest. If content does not match, the transfer is
// aborted. Leave WriteTimeout of http.Server zero, or large packages never arrive.
package rshttp

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/internal/transfer"
	"github.com/resourcesync-go/resourcesync/internal/view"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A Source serves the documents of its sets. It is an http.Handler for them and
// safe for concurrent use.
type Source struct {
	*server
	runner
	cache      *cache
	plans      *packages.Planner[*document.State]
	requests   admission.Groups  // for the same documents
	renderings admission.Limiter // of documents
	transfers  *transfer.Limiter
	covers     []linkheader.Cover
	stripped   atomic.Bool                    // it was logged that paths lack their beginning
	views      *view.Views                    // nil without pages
	unready    map[*document.Set]*atomic.Bool // whether the last request failed because the set was not ready
}

// A server has the fields that the parts of a Source share.
type server struct {
	site     *document.Site
	options  Options
	log      *slog.Logger
	sparse   sparse.Log // for lines that clients can cause
	counters counters
}

// New returns the Source of sets. base is the public URL of the folder of its documents, such
// as "https://example.org/resourcesync/". All URLs in documents are derived from it, never
// from requests. Only the Source Description is outside of the folder, at its well-known URI
// on the same host.
//
// New fails if an argument is invalid. opts may be nil.
func New(base string, sets []Set, opts *Options) (*Source, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	u, err := baseurl.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("rshttp: base URL: %w", err)
	}
	s := &Source{
		server:     &server{options: o, log: o.Logger},
		cache:      newCache(o.Limits.CacheBytes),
		requests:   admission.NewGroups(),
		renderings: admission.NewLimiter(o.Limits.Renderings),
		transfers:  transfer.NewLimiter(o.Limits.Transfers, o.Limits.ClientTransfers),
		unready:    make(map[*document.Set]*atomic.Bool),
	}
	s.runner.server = s.server
	if err := s.openStore(u); err != nil {
		return nil, err
	}
	ownHub := ""
	if s.hub != nil {
		ownHub = s.hub.URI()
	}
	all := make([]document.Given, len(sets))
	for i := range sets {
		all[i] = sets[i].given(ownHub)
		s.remote = append(s.remote, sets[i].RemoteHubs)
	}
	if s.site, err = document.NewSite(o.config(u), all); err != nil {
		return nil, fmt.Errorf("rshttp: %w", err)
	}
	s.plans = s.site.NewPlanner(o.Limits.Renderings, &s.counters.packages)
	if !o.Pages.Off {
		own := webpage.Own{Style: o.Pages.Style, Header: o.Pages.Header, Footer: o.Pages.Footer}
		if s.views, err = view.New(s.site, own, ownHub, s.PushStatus); err != nil {
			return nil, fmt.Errorf("rshttp: Pages.Style: %w", err)
		}
	}
	for i, st := range s.site.Order {
		s.unready[st] = new(atomic.Bool)
		covers, cache, err := sets[i].covers()
		if err != nil {
			return nil, fmt.Errorf("rshttp: %w", err)
		}
		st.Covered = cache
		if covers != nil {
			s.covers = append(s.covers, linkheader.Cover{CapabilityList: st.URL(document.KindCapabilityList, ""), Covers: covers})
		} else {
			s.log.Warn("set gets no Link headers: give it a Prefix or a Coverer", "set", st.Name)
		}
	}
	if err := s.begin(); err != nil {
		return nil, err
	}
	return s, nil
}

// Wrap returns a handler that serves the Source's documents and its Hub, and passes all other
// requests to app, with the Link headers of [Source.Link]. app gets its own ResponseWriter, except
// for a robots.txt to which [Options].Sitemaps adds lines.
func (s *Source) Wrap(app http.Handler) http.Handler {
	app = s.Link(app)
	if uris := s.sitemaps(); len(uris) > 0 {
		app = wellknown.Robots(uris)(app)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.answer(w, r) {
			s.noteStripped(r, false)
			app.ServeHTTP(w, r)
		}
	})
}

// Link is middleware that adds a Link header with the relation type resourcesync to responses
// to GET and HEAD requests for resources that a set covers (section 6.3.3). It does not wrap
// the ResponseWriter, and sets the header before it calls next: a handler that sets Link,
// instead of adding to it, replaces the header.
//
// The answers of a [resourcesync.Coverer] are cached, for up to 50,000 URLs of each set. A new
// resource has its link as soon as the Watcher of the set has reported it to [Source.Run], some
// hundredths of a second after its commit in a store, and after ten seconds at the latest.
// Without a Watcher, or without Run in this process, it has its link at once. A resource that
// has left the set may have a link for ten seconds more.
func (s *Source) Link(next http.Handler) http.Handler {
	return linkheader.Middleware(s.covers...)(next)
}

// ServeHTTP serves the Source's documents and its Hub, and answers 404 to all other requests.
// It matches the complete path of the request, wherever it is mounted, so it must not be behind
// [http.StripPrefix]; the log names the first request whose path lacks its beginning.
func (s *Source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.answer(w, r) {
		return
	}
	s.noteStripped(r, true)
	if reqbody.None(w, r) {
		http.NotFound(w, r)
	}
}

// answer answers a request for a document or to the Hub, and reports whether it is one.
func (s *Source) answer(w http.ResponseWriter, r *http.Request) bool {
	if s.hub != nil && r.URL.Path == s.hubURI.Path {
		s.expectRun()
		s.answerHub(w, r)
		return true
	}
	t, doc, ok := s.find(r.URL.Path)
	if !ok {
		return s.answerRemoved(w, r)
	}
	if s.options.Observe == nil || t.IsSocket() {
		s.serve(w, r, t, doc)
		return true
	}
	about := Answer{Request: r, Document: t.Kind.DocumentName(), Until: t.Interval().Until, Changes: t.Interval(), Keys: t.Keys()}
	if t.Set != nil {
		about.Set = t.Set.Name
	}
	s.observe(w, about, func(w http.ResponseWriter) { s.serve(w, r, t, doc) })
	return true
}

func (s *Source) answerHub(w http.ResponseWriter, r *http.Request) {
	if s.options.Observe == nil {
		s.hub.ServeHTTP(w, r)
		return
	}
	s.observe(w, Answer{Request: r, Document: documentHub}, func(w http.ResponseWriter) { s.hub.ServeHTTP(w, r) })
}

// Description returns the public URL of the Source Description.
func (s *Source) Description() string { return s.site.Routes.URL(document.KindDescription, nil, "") }

// Paths returns the paths below its base of the Source's documents. A path that ends in
// a slash is a folder whose whole content the Source serves. A host can check them
// against its own files, which cannot be reached at these paths. The path of the Hub is
// not included.
func (s *Source) Paths() []string { return s.site.Paths() }

// sitemaps returns the URLs that robots.txt should name (section 6.3.4).
func (s *server) sitemaps() []string {
	uris := s.site.URLs(document.KindSitemap)
	if s.options.Sitemaps&ResourceLists != 0 {
		uris = append(uris, s.site.URLs(document.KindResourceList)...)
	}
	return uris
}
