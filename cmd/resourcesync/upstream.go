package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"

	"golang.org/x/net/http/httpguts"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
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
	sitemaps []string
	recent   []string
	noREST   bool // --recent none
	trusted  []netip.Prefix
	distrust bool // --trust-proxy none
	stranger sitemap.Stranger
	scanFrom netip.Addr // the local address of the scanner's connections, if it is valid

	respectCacheControl bool
}

func (u *upstreamConfig) declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "upstream", Value: settings.Text(&u.upstream), Show: settings.WithoutPassword, Need: "the address of the web server", Example: "http://127.0.0.1:8000",
			Text: `The web server of the website, such as http://127.0.0.1:8000. The scheme may also be https, or h2c
				for HTTP/2 without TLS.`},
		settings.Setting{Name: "beside", Value: settings.Bool(&u.beside),
			Text: `Answer requests for the ResourceSync documents only. The web server stays in front, and passes
				those requests on.`},
		settings.Setting{Name: "exclude", Value: settings.Each(u.addExclude), Group: settings.Lists,
			Text: "A path that must not be listed, such as /private/*; * stands for any characters."},
		settings.Setting{Name: "from-sitemap", Value: settings.List(&u.sitemaps), Without: "those in robots.txt, or else /sitemap.xml or /wp-sitemap.xml",
			Text: "The URL of a sitemap of the website."},
		settings.Setting{Name: "html-link", Value: settings.Bool(&u.htmlLink),
			Text: `Insert <link rel="resourcesync"> into the heads of HTML pages. All listed pages get the Link
				header in any case.`},
		settings.Setting{Name: "verify", Value: settings.Choice(&u.verify, "get", "head", "none"), Default: "get", Group: settings.Lists,
			Text: `How a page is checked before it is listed. get reads the page, and so finds private pages, noindex
				and every change. head requests the header only: it misses noindex inside the page, and changes
				without a validator. none requests nothing: every page in the sitemaps is listed, even a private
				one.`},
		settings.Setting{Name: "rate", Value: settings.Float(&u.rate), Default: "20", Group: settings.Limits,
			Text: `The maximum number of requests per second to a host, such as 5 or 0.5. 0 is no limit. The scanner
				sends them to the web server of the website.`},
		settings.Setting{Name: "revisit", Value: settings.Float(&u.revisit), Default: "1", Group: settings.Lists,
			Text: `The number of pages per second to check in rotation, because sitemaps do not show all changes,
				such as those of permissions. 0 checks none.`},
		settings.Setting{Name: "recent", Value: settings.Each(u.addRecent), Without: "if the website announces the REST interface of WordPress, its recently modified posts, as hints about pages in the sitemaps", Group: settings.Lists,
			Text: `The URL of a short list of recent changes: a feed, a sitemap, or JSON, such as
				"/wp-json/wp/v2/posts?orderby=modified". It is read at each scan and after each write. With none,
				no list is read.`},
		settings.Setting{Name: "respect-cache-control", Value: settings.Bool(&u.respectCacheControl), Group: settings.Lists,
			Text: `Do not list pages whose Cache-Control says private or no-store. Much software says so of public
				pages; the status counts those that are listed.`},
		settings.Setting{Name: "scan-as", Value: settings.Func(u.setStranger), Without: "192.0.2.1", Group: settings.Address,
			Text: `The client that the scanner names in its requests, so that it gets what visitors get: an address,
				and the names of headers if they are others than X-Forwarded-For, X-Real-IP and Forwarded, such as
				"192.0.2.1,CF-Connecting-IP". With none, pages that only this computer may read are listed.`},
		settings.Setting{Name: "scan-from", Value: settings.Func(u.setScanFrom), Without: "that which the system chooses", Group: settings.Address,
			Text: `The address of this computer from which the scanner connects to the web server, if that has rules
				for addresses that no header changes, such as 10.1.2.3.`},
		settings.Setting{Name: "trust-proxy", Value: settings.Each(u.addTrusted), Without: "this computer", Group: settings.Address,
			Text: `The addresses of proxies in front whose X-Forwarded-* headers are passed on, such as 10.0.0.0/8,
				or none.`},
	)
	c.Change(settings.Setting{Name: "dumps", Default: "false",
		Text: `Offer the pages in ZIP packages as well, which exist only while they are sent. Each page in a
			package is requested from the web server, at most at --rate.`})
	c.Change(settings.Setting{Name: "rescan",
		Text: `The interval between scans of the sitemaps, such as 30s, 5m or 1h. A scan requests only pages that
			are new or have a newer lastmod. A write through the proxy, or a ping, starts a scan at once.`})
}

func (c *upstreamConfig) addExclude(text string) error {
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
		return errors.New("give a path, such as /private/*")
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
	c.exclude = append(c.exclude, regexp.MustCompile("^"+pattern+"$"))
	return nil
}

func (c *upstreamConfig) addRecent(text string) error {
	if text == "none" {
		c.noREST = true
	} else {
		c.recent = append(c.recent, text)
	}
	return nil
}

func (c *upstreamConfig) addTrusted(text string) error {
	if text == "none" {
		c.distrust = true
		return nil
	}
	return settings.Prefixes(&c.trusted).Set(text)
}

func (c *upstreamConfig) setScanFrom(text string) (err error) {
	if c.scanFrom, err = netip.ParseAddr(text); err != nil {
		err = errors.New("give an address of this computer, such as 10.1.2.3")
	}
	return err
}

func (c *upstreamConfig) setStranger(text string) (err error) {
	c.stranger, err = parseStranger(text)
	return err
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

var thisComputer = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func (c *upstreamConfig) check(*siteConfig) error {
	if len(c.trusted) == 0 && !c.distrust {
		c.trusted = thisComputer
	}
	var f settings.Faults
	u, err := url.Parse(c.upstream)
	if err == nil && u.User != nil {
		f.Add(settings.Fault("upstream", "leave out users: the web server gets the requests as visitors send them"))
	} else {
		f.If(err != nil || u.Host == "", "upstream", "give the address of the web server, such as http://127.0.0.1:8000")
	}
	f.Add(checkRate(c.rate))
	f.If(c.revisit < 0, "revisit", "give pages per second, or 0")
	f.If(c.beside && c.htmlLink, "html-link", "needs the pages to go through the proxy; leave out --beside")
	return f.Err()
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
	variant := ""
	if c.htmlLink { // pages are listed with their links
		capabilityList := m.capabilityList()
		transport, variant = sidecar.LinkTransport(transport, capabilityList), "html-link "+capabilityList
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
		Remedy:    "set the address and header of one that it trusts, or none, with --scan-as, or publish the deletions with \"resourcesync confirm-deletions\"; see docs/sidecar.md",

		RespectCacheControl: c.respectCacheControl,

		UserAgent: "resourcesync (+" + m.baseURL + ")",
		Logger:    m.log,
	})
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	content := &content{
		from:    slog.String("upstream", c.upstream),
		unit:    "page",
		origin:  s.pages,
		changed: s.pages.Changed,
		set:     rshttp.Set{Coverer: lateCoverer{m}},
		uploads: !c.beside,
		status:  func(now *status.Set) { now.Site = new(s.pages.Status()) },
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
		TrustedProxies: s.trusted,
		Logger:         s.log,
	})
	if err != nil {
		return nil, settings.Errorf("%w", err)
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
			return "", settings.Errorf("no place for copies of the sitemaps: %w", err)
		}
	}
	path = strings.TrimSuffix(path, filepath.Ext(path))
	if m.name != "" {
		path += "-" + m.name
	}
	return path + "-sitemaps", nil
}
