package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// An upstreamConfig is the configuration of a set of the pages of a website.
type upstreamConfig struct {
	setSettings
	upstream string
	beside   bool
	htmlLink bool
	exclude  []*regexp.Regexp
	verify   string
	rate     float64
	revisit  float64
	sitemaps list
	recent   list
	noREST   bool // --recent none
	trusted  addresses
	distrust bool // --trust-proxy none
	stranger sitemap.Stranger
	scanFrom netip.Addr // the local address of the scanner's connections, if it is valid

	respectCacheControl bool
}

func (c *upstreamConfig) flags(flags *flag.FlagSet) {
	setDefault(flags, "dumps", "false")
	flags.StringVar(&c.upstream, "upstream", "", "")
	flags.BoolVar(&c.beside, "beside", false, "")
	flags.BoolVar(&c.htmlLink, "html-link", false, "")
	flags.Var(repeated(func(text string) error {
		if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
			return errors.New("give a path, such as /private/*")
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
		c.exclude = append(c.exclude, regexp.MustCompile("^"+pattern+"$"))
		return nil
	}), "exclude", "")
	flags.StringVar(&c.verify, "verify", "get", "")
	flags.BoolVar(&c.respectCacheControl, "respect-cache-control", false, "")
	flags.Float64Var(&c.rate, "rate", 20, "")
	flags.Float64Var(&c.revisit, "revisit", 1, "")
	flags.Var(repeated(c.sitemaps.add), "from-sitemap", "")
	flags.Var(repeated(func(text string) error {
		if text == "none" {
			c.noREST = true
			return nil
		}
		return c.recent.add(text)
	}), "recent", "")
	flags.Var(repeated(func(text string) error {
		if text == "none" {
			c.distrust = true
			return nil
		}
		return c.trusted.add(text)
	}), "trust-proxy", "")
	flags.Func("scan-from", "", func(text string) (err error) {
		if c.scanFrom, err = netip.ParseAddr(text); err != nil {
			err = errors.New("give an address of this computer, such as 10.1.2.3")
		}
		return err
	})
	flags.Func("scan-as", "", func(text string) (err error) {
		c.stranger, err = parseStranger(text)
		return err
	})
}

// parseStranger parses none, or an address that names of headers may follow.
func parseStranger(text string) (s sitemap.Stranger, err error) {
	if text == "none" {
		s.Off = true
		return s, nil
	}
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(fields) > 0 {
		s.Address, err = netip.ParseAddr(fields[0])
	}
	if len(fields) == 0 || err != nil || s.Address.Zone() != "" {
		return s, errors.New("give none, or an address and maybe the names of headers, such as 192.0.2.1,CF-Connecting-IP")
	}
	for _, name := range fields[1:] {
		if !httpguts.ValidHeaderFieldName(name) || slices.Contains(ownHeaders, http.CanonicalHeaderKey(name)) {
			return s, fmt.Errorf("%q cannot name a client; give the names of headers that the web server trusts, such as CF-Connecting-IP", name)
		}
		s.Headers = append(s.Headers, name)
	}
	return s, nil
}

// ownHeaders are fields that the scanner or net/http sets itself.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Length", "Host", "If-Modified-Since", "If-None-Match", "Trailer", "Transfer-Encoding", "User-Agent", "X-Forwarded-Host", "X-Forwarded-Proto",
}

var thisComputer = addresses{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func (c *upstreamConfig) required() []requirement {
	return []requirement{{"upstream", "the address of the web server", "http://127.0.0.1:8000", c.upstream}}
}

func (c *upstreamConfig) check(*siteConfig) error {
	if len(c.trusted) == 0 && !c.distrust {
		c.trusted = thisComputer
	}
	u, err := url.Parse(c.upstream)
	switch verify := sitemap.Verify(c.verify); {
	case err != nil:
		return usagef("--upstream: give the address of the web server, such as http://127.0.0.1:8000")
	case u.User != nil:
		return usagef("--upstream %s: leave out users: the web server gets the requests as visitors send them", u.Redacted())
	case u.Host == "":
		return usagef("--upstream %q: give the address of the web server, such as http://127.0.0.1:8000", c.upstream)
	case verify != sitemap.VerifyGet && verify != sitemap.VerifyHead && verify != sitemap.VerifyNone:
		return usagef("--verify %q: give get, head or none", c.verify)
	case !(c.rate >= 0) || math.IsInf(c.rate, 0):
		return errRate
	case c.revisit < 0:
		return usagef("--revisit %v: give pages per second, or 0", c.revisit)
	case c.beside && c.htmlLink:
		return usagef("--html-link needs the pages to go through the proxy; leave out --beside")
	}
	return nil
}

// servesPath implements [pathServer].
func (c *upstreamConfig) servesPath() bool { return !c.beside }

func (c *upstreamConfig) stateName() string { return "pages" }

// identity implements [setConfig]. confirm-deletions knows no base URL for the state in a file,
// which has one website only.
func (c *upstreamConfig) identity(site *siteConfig) (scan.Identity, error) {
	if site.baseURL == "" {
		return scan.Identity{}, nil
	}
	base, err := site.base()
	if err != nil {
		return scan.Identity{}, err
	}
	if c.path != "" {
		base = base.JoinPath(c.path)
	}
	return scan.Identity{Name: base.String()}, nil
}

// An upstreamSet is a set of the pages of a website.
type upstreamSet struct {
	*member
	*upstreamConfig
	pages *sitemap.Site
	hub   string // path of its URL
}

func (c *upstreamConfig) open(_ context.Context, m *member) (*content, error) {
	s := &upstreamSet{member: m, upstreamConfig: c, hub: m.site.Path + ownHub}
	folder, err := copiesFolder(m)
	if err != nil {
		return nil, err
	}
	var transport http.RoundTripper = c.scanTransport(m.baseURL)
	variant, covers := "", sidecar.CacheCovers
	if c.htmlLink { // pages are listed with their links
		capabilityList := m.capabilityList()
		transport, variant = sidecar.LinkTransport(transport, capabilityList), "html-link "+capabilityList
		covers = sidecar.CacheCovered
	}
	s.pages, err = sitemap.New(m.baseURL, &sitemap.Options{
		Sitemaps:  c.sitemaps,
		Recent:    c.recent,
		NoREST:    c.noREST,
		Exclude:   s.excludes,
		Verify:    sitemap.Verify(c.verify),
		Upstream:  c.upstream,
		Transport: transport,
		Variant:   variant,
		Rate:      unlimited(c.rate),
		Revisit:   cmp.Or(c.revisit, -1),
		Folder:    folder,
		Stranger:  c.stranger,
		MaxRefuse: c.storeOptions().MaxDelete,

		RespectCacheControl: c.respectCacheControl,

		UserAgent: "resourcesync (+" + m.baseURL + ")",
		Logger:    m.log,
	})
	if err != nil {
		return nil, usageError{err}
	}
	content := &content{
		from:    slog.String("upstream", c.upstream),
		unit:    "page",
		origin:  s.pages,
		changed: s.pages.Changed,
		set:     rshttp.Set{Coverer: covers(lateCoverer{m})},
		uploads: !c.beside,
		status:  func(now *setStatus) { now.Site = new(s.pages.Status()) },
	}
	if !c.beside {
		content.handler = s.handler
	}
	return content, nil
}

// A lateCoverer is the set of a member, which is made after its content.
type lateCoverer struct{ *member }

func (c lateCoverer) Covers(u *url.URL) bool { return c.set.Covers(u) }

// scanTransport returns the transport of the scanner.
func (c *upstreamConfig) scanTransport(baseURL string) *http.Transport {
	t := sidecar.NewTransport(c.upstream, baseURL)
	if c.scanFrom.IsValid() {
		from := net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.scanFrom, 0))
		t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, LocalAddr: from}).DialContext
	}
	return t
}

// excludes reports whether a URL of the website must not be listed, because it is excluded
// or belongs to a document or another set.
func (s *upstreamSet) excludes(u *url.URL) bool {
	return s.isReserved(u.Path) || u.Path == s.hub ||
		slices.ContainsFunc(s.exclude, func(pattern *regexp.Regexp) bool { return pattern.MatchString(u.Path) })
}

func (s *upstreamSet) handler(src *rshttp.Source) (http.Handler, error) {
	upstream, err := sidecar.NewProxy(s.upstream, s.baseURL, &sidecar.ProxyOptions{
		TrustedProxies: []netip.Prefix(s.trusted),
		Logger:         s.log,
	})
	if err != nil {
		return nil, usageError{err}
	}
	return sidecar.Wrap(upstream, src, &sidecar.Options{HTMLLink: s.htmlLink, Changed: s.pages.Changed}), nil
}

// copiesFolder returns the folder for copies of the website's sitemaps: beside a state
// in a file, else in the cache folder.
func copiesFolder(m *member) (string, error) {
	path := m.daemon.state.place
	if m.daemon.state.shared {
		var err error
		if path, err = defaultSiteState(m.baseURL); err != nil {
			return "", usagef("no place for copies of the sitemaps: %w", err)
		}
	}
	path = strings.TrimSuffix(path, filepath.Ext(path))
	if m.name != "" {
		path += "-" + m.name
	}
	return path + "-sitemaps", nil
}
