package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

func proxy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseProxy(args)
	if err != nil {
		return err
	}
	return publish(ctx, &c, stdout, stderr)
}

// proxyConfig holds the command line of "resourcesync proxy": the flags of serve,
// except those about a folder, and how to reach the website.
type proxyConfig struct {
	serveConfig
	upstream  string
	beside    bool
	htmlLink  bool
	exclude   []*regexp.Regexp
	verify    string
	rate      float64
	revisit   float64
	sitemaps  list
	recent    list
	pingToken string
	trusted   addresses
	distrust  bool // --trust-proxy none
	tlsCert   string
	tlsKey    string
}

// folderFlags are the flags of serve that proxy does not have.
var folderFlags = []string{"hash", "dot-files", "keep-versions", "versions"}

func proxyFlags(c *proxyConfig) *flag.FlagSet {
	flags := newFlags("proxy")
	flags.StringVar(&c.upstream, "upstream", "", "")
	flags.BoolVar(&c.beside, "beside", false, "")
	flags.BoolVar(&c.htmlLink, "html-link", false, "")
	flags.Func("exclude", "", func(text string) error {
		if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
			return errors.New("give a path, such as /private/*")
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
		c.exclude = append(c.exclude, regexp.MustCompile("^"+pattern+"$"))
		return nil
	})
	flags.StringVar(&c.verify, "verify", "get", "")
	flags.Float64Var(&c.rate, "rate", 20, "")
	flags.Float64Var(&c.revisit, "revisit", 1, "")
	flags.Func("from-sitemap", "", c.sitemaps.add)
	flags.Func("recent", "", c.recent.add)
	flags.StringVar(&c.pingToken, "ping-token", "", "")
	flags.Func("trust-proxy", "", func(text string) error {
		if text == "none" {
			c.distrust = true
			return nil
		}
		return c.trusted.add(text)
	})
	flags.StringVar(&c.tlsCert, "tls-cert", "", "")
	flags.StringVar(&c.tlsKey, "tls-key", "", "")
	shared := serveFlags(&c.serveConfig)
	c.dumps = false
	shared.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(folderFlags, f.Name) {
			flags.Var(f.Value, f.Name, "")
		}
	})
	return flags
}

// parseProxy reads the arguments of proxy. The error is flag.ErrHelp for --help.
func parseProxy(args []string) (proxyConfig, error) {
	var c proxyConfig
	others, err := parse(proxyFlags(&c), args)
	switch {
	case err != nil:
	case len(others) > 0:
		err = fmt.Errorf("%q is one argument too many: name the website with --upstream", others[0])
	case c.upstream == "":
		err = errors.New("no website given, as in --upstream http://127.0.0.1:8000")
	default:
		return c, c.check()
	}
	return c, refuse("proxy", err)
}

var thisComputer = addresses{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func (c *proxyConfig) check() error {
	if err := c.serveConfig.check(); err != nil {
		return err
	}
	c.pingToken = cmp.Or(c.pingToken, os.Getenv("RESOURCESYNC_PING_TOKEN"))
	if len(c.trusted) == 0 && !c.distrust {
		c.trusted = thisComputer
	}
	u, err := url.Parse(c.upstream)
	switch verify := sitemap.Verify(c.verify); {
	case err != nil || u.Host == "":
		return usagef("--upstream %q: give the address of the web server, such as http://127.0.0.1:8000", c.upstream)
	case verify != sitemap.VerifyGet && verify != sitemap.VerifyHead && verify != sitemap.VerifyNone:
		return usagef("--verify %q: give get, head or none", c.verify)
	case c.rate <= 0:
		return usagef("--rate %v: give requests per second, more than 0", c.rate)
	case c.revisit < 0:
		return usagef("--revisit %v: give pages per second, or 0", c.revisit)
	case (c.tlsCert == "") != (c.tlsKey == ""):
		return usagef("--tls-cert and --tls-key go together")
	case c.beside && c.htmlLink:
		return usagef("--html-link needs the pages to go through the proxy; leave out --beside")
	}
	return nil
}

func (c *proxyConfig) setName() string { return "pages" }

func (c *proxyConfig) stateFile() (path string, err error) {
	if c.state == "" {
		path, err = defaultSiteState(c.baseURL)
	} else {
		path, err = realPath(c.state)
	}
	if err != nil {
		return "", usagef("--state %q: %w; give a file, as in --state /var/lib/resourcesync/site.db", c.state, reason(err))
	}
	return path, nil
}

// defaultSiteState returns a path that belongs to one website alone, and makes the
// folder that it is in.
func defaultSiteState(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", err
	}
	return cacheFile(u.Host, baseURL)
}

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
	hub := p.base.Path + ownHub
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

func (p *publication) siteHandler(c *proxyConfig) (http.Handler, error) {
	var site http.Handler
	if c.beside {
		site = p.source
	} else {
		upstream, err := sidecar.NewProxy(c.upstream, c.baseURL, &sidecar.ProxyOptions{
			TrustedProxies: []netip.Prefix(c.trusted),
			Logger:         p.log,
		})
		if err != nil {
			return nil, usageError{err}
		}
		site = sidecar.Wrap(upstream, p.source, &sidecar.Options{HTMLLink: c.htmlLink, Changed: p.site.Changed})
	}
	var ping http.Handler
	if c.pingToken != "" {
		ping = sidecar.Ping(c.pingToken, p.site.Changed)
	}
	return p.withOwn(site, ping), nil
}

// copiesFolder returns the folder for copies of the website's sitemaps: beside a state
// in a file, else in the cache folder.
func copiesFolder(c *proxyConfig, st *state) (string, error) {
	path := st.place
	if c.stateIsPostgres() {
		var err error
		if path, err = defaultSiteState(c.baseURL); err != nil {
			return "", usagef("no place for copies of the sitemaps: %w", err)
		}
	}
	return strings.TrimSuffix(path, filepath.Ext(path)) + "-sitemaps", nil
}
