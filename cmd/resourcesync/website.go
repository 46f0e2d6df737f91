package main

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

func (c *proxyConfig) publication(ctx context.Context, st *state, screen *screen, log *slog.Logger) (*publication, error) {
	p, err := newPublication(&c.serveConfig, st, screen, log)
	if err != nil {
		return nil, err
	}
	p.from, p.uploads = slog.String("upstream", c.upstream), !c.beside
	if c.tlsCert != "" {
		if p.certificate, err = newCertificate(c.tlsCert, c.tlsKey); err != nil {
			return nil, err
		}
	}
	folder, err := copiesFolder(c, st)
	if err != nil {
		return nil, err
	}
	withheld, err := st.Set(ctx, "withheld "+st.name, nil) // pages that do not qualify
	if err != nil {
		return nil, usagef("state %q: %w", st.place, err)
	}
	var transport http.RoundTripper = sidecar.NewTransport(c.upstream, c.baseURL)
	variant, covers := "", sidecar.CacheCovers
	if c.htmlLink { // pages are listed with their links
		capabilityList := p.documents.JoinPath("capabilitylist.xml").String()
		transport, variant = sidecar.LinkTransport(transport, capabilityList), "html-link "+capabilityList
		covers = sidecar.CacheCovered
	}
	p.site, err = sitemap.New(c.baseURL, st.set, &sitemap.Options{
		Sitemaps:  c.sitemaps,
		Recent:    c.recent,
		Exclude:   p.excludes(c),
		Verify:    sitemap.Verify(c.verify),
		Upstream:  c.upstream,
		Transport: transport,
		Variant:   variant,
		Rate:      c.rate,
		Revisit:   cmp.Or(c.revisit, -1),
		Folder:    folder,
		Withheld:  withheld,
		UserAgent: "resourcesync (+" + c.baseURL + ")",
		Logger:    log,
	})
	if err != nil {
		return nil, usageError{err}
	}
	p.scanner.list, p.scanner.count = p.listSite, p.countPages
	p.scanner.watch = func(ctx context.Context, changed func(paths []string)) error {
		return p.site.Watch(ctx, func() { changed(nil) })
	}
	set := rshttp.Set{Provider: p.set, Coverer: covers(p.set)}
	if c.dumps {
		set.Opener = p.site
	}
	if err := p.newSource(&c.serveConfig, st, set); err != nil {
		return nil, err
	}
	p.handler, err = p.siteHandler(c)
	return p, err
}

// excludes returns a function that reports whether a URL of the website must not be
// listed, because it is excluded or belongs to a document.
func (p *publication) excludes(c *proxyConfig) func(*url.URL) bool {
	hub := strings.TrimSuffix(p.documents.Path, strings.TrimPrefix(c.prefix, "/")) + ownHub
	return func(u *url.URL) bool {
		if strings.HasPrefix(u.Path, p.documents.Path) && p.documents.Path != "/" || u.Path == wellknown.Path || u.Path == hub {
			return true
		}
		return slices.ContainsFunc(c.exclude, func(pattern *regexp.Regexp) bool { return pattern.MatchString(u.Path) })
	}
}

func (p *publication) listSite(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		p.site.Resources(ctx)(yield)
		st := p.site.Status()
		p.scanner.skipped.Store(int64(st.Foreign + st.Invalid + st.Failed))
	}
}

// countPages returns the number of pages in the set, and ErrNotReady if it cannot be
// shown before a scan: if there has never been one, or if the state is of another base
// URL. All pages have the URL of the same site.
func (p *publication) countPages(ctx context.Context) (int64, error) {
	st, err := p.set.Set.Stat(ctx, resourcesync.Range{})
	if err != nil || p.scanner.complete {
		return st.Count, err
	}
	for r, err := range p.set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			return 0, err
		}
		if !strings.HasPrefix(r.URI, p.baseURL) {
			return 0, resourcesync.ErrNotReady
		}
		break
	}
	return st.Count, nil
}

// siteHandler serves the documents, the hub and the website.
func (p *publication) siteHandler(c *proxyConfig) (http.Handler, error) {
	var site http.Handler
	if c.beside {
		site = p.source
	} else {
		upstream, err := sidecar.NewProxy(c.upstream, c.baseURL, &sidecar.ProxyOptions{
			HTMLLink:       c.htmlLink,
			TrustedProxies: []netip.Prefix(c.trusted),
			Logger:         p.log,
		})
		if err != nil {
			return nil, usageError{err}
		}
		site = sidecar.Wrap(upstream, p.source, &sidecar.Options{Changed: p.site.Changed})
	}
	var ping http.Handler
	if c.pingToken != "" {
		ping = sidecar.Ping(c.pingToken, p.site.Changed)
	}
	return p.withOwn(site, ping), nil
}
