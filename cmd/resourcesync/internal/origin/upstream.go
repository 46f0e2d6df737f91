package origin

import (
	"cmp"
	"context"
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

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/requests"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// ServesPath implements [pathServer].
func (c *Upstream) ServesPath() bool { return !c.beside }

func (c *Upstream) Question() string {
	return fmt.Sprintf("Does the website %s work, and do its sitemaps name all of its pages?", settings.WithoutPassword(c.upstream))
}

func (c *Upstream) StateName() string { return "pages" }

// Identity implements [Config]. confirm-deletions knows no base URL for the state in a file,
// which has one website only.
func (c *Upstream) Identity(baseURL string) (scan.Identity, error) {
	if baseURL == "" {
		return scan.Identity{}, nil
	}
	base, err := url.Parse(baseURL)
	if err != nil {
		return scan.Identity{}, settings.Errorf("%w", err)
	}
	if c.Path != "" {
		base = base.JoinPath(c.Path)
	}
	return scan.Identity{Name: base.String()}, nil
}

// An upstreamSet is a set of the pages of a website.
type upstreamSet struct {
	*Set
	*Upstream
	pages *sitemap.Site
}

func (c *Upstream) Open(_ context.Context, m *Set) (*Content, error) {
	s := &upstreamSet{Set: m, Upstream: c}
	folder, err := copiesFolder(m)
	if err != nil {
		return nil, err
	}
	var transport http.RoundTripper = c.scanTransport(m.BaseURL)
	variant := ""
	if c.htmlLink { // pages are listed with their links
		capabilityList := m.CapabilityList()
		transport, variant = sidecar.LinkTransport(transport, capabilityList), "html-link "+capabilityList
	}
	s.pages, err = sitemap.New(m.BaseURL, &sitemap.Options{
		Sitemaps:  c.sitemaps,
		Recent:    c.recent,
		NoREST:    c.noREST,
		Exclude:   s.excludes,
		Verify:    sitemap.Verify(c.verify),
		Upstream:  c.upstream,
		Transport: transport,
		Variant:   variant,
		Rate:      requests.Unlimited(c.rate),
		Revisit:   cmp.Or(c.revisit, -1),
		Folder:    folder,
		Stranger:  c.Stranger,
		MaxRefuse: c.StoreOptions().MaxDelete,
		Remedy:    "set the address and header of one that it trusts, or none, with --scan-as, or publish the deletions with \"resourcesync confirm-deletions\"; see docs/sidecar.md",

		RespectCacheControl: c.respectCacheControl,

		UserAgent: "resourcesync (+" + m.BaseURL + ")",
		Logger:    m.Log,
	})
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	content := &Content{
		From:    slog.String("upstream", c.upstream),
		Unit:    "page",
		Origin:  s.pages,
		Changed: s.pages.Changed,
		Set:     rshttp.Set{Coverer: lateCoverer{m}},
		Uploads: !c.beside,
		Status:  func(now *status.Set) { now.Site = new(s.pages.Status()) },
	}
	if !c.beside {
		content.Handler = s.handler
	}
	return content, nil
}

// A lateCoverer is a set that is scanned only after its content was opened.
type lateCoverer struct{ *Set }

func (c lateCoverer) Covers(u *url.URL) bool { return c.Scanned.Covers(u) }

// scanTransport returns the transport of the scanner.
func (c *Upstream) scanTransport(baseURL string) *http.Transport {
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
	return s.isReserved(u.Path) || u.Path == s.Hub ||
		slices.ContainsFunc(s.exclude, func(pattern *regexp.Regexp) bool { return pattern.MatchString(u.Path) })
}

func (s *upstreamSet) handler(src *rshttp.Source) (http.Handler, error) {
	upstream, err := sidecar.NewProxy(s.upstream, s.BaseURL, &sidecar.ProxyOptions{
		TrustedProxies: s.trusted,
		Logger:         s.Log,
	})
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	return sidecar.Wrap(upstream, src, &sidecar.Options{HTMLLink: s.htmlLink, Changed: s.pages.Changed}), nil
}

// copiesFolder returns the folder for copies of the website's sitemaps: beside a state
// in a file, else in the cache folder.
func copiesFolder(m *Set) (string, error) {
	path := m.State.Place
	if m.State.Shared {
		var err error
		if path, err = state.SiteFile(m.BaseURL); err != nil {
			return "", settings.Errorf("no place for copies of the sitemaps: %w", err)
		}
	}
	path = strings.TrimSuffix(path, filepath.Ext(path))
	if m.Name != "" {
		path += "-" + m.Name
	}
	return path + "-sitemaps", nil
}
