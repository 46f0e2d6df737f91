package origin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/requests"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// An Upstream is the configuration of a set of the pages of a website.
type Upstream struct {
	Common
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
	Stranger sitemap.Stranger
	scanFrom netip.Addr // the local address of the scanner's connections, if it is valid

	respectCacheControl bool
}

func (u *Upstream) Declare(c *settings.Catalog) {
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
			Text: `The maximum number of requests per second to a host, such as 5 or 0.5. 0 means no limit. The scanner
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
		settings.Setting{Name: "scan-from", Value: settings.Func(u.setScanFrom), Without: "the address that the system chooses", Group: settings.Address,
			Text: `The address of this computer from which the scanner connects to the web server, if that has rules
				for addresses that no header changes, such as 10.1.2.3.`},
		settings.Setting{Name: "trust-proxy", Value: settings.Each(u.addTrusted), Without: "this computer", Group: settings.Address,
			Text: `The addresses of proxies in front whose X-Forwarded-* headers are passed on, such as 10.0.0.0/8,
				or none.`},
	)
	c.Change(settings.Setting{Name: "dumps", Default: "false",
		Text: `Offer the pages in ZIP packages, too, which are made while they are sent. Each page in a
			package is requested from the web server, at most at --rate.`})
	c.Change(settings.Setting{Name: "rescan",
		Text: `The interval between scans of the sitemaps, such as 30s, 5m or 1h. A scan requests only pages that
			are new or have a newer lastmod. A write through the proxy, or a ping, starts a scan at once.`})
}

func (c *Upstream) addExclude(text string) error {
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
		return errors.New("give a path, such as /private/*")
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
	c.exclude = append(c.exclude, regexp.MustCompile("^"+pattern+"$"))
	return nil
}

func (c *Upstream) addRecent(text string) error {
	if text == "none" {
		c.noREST = true
	} else {
		c.recent = append(c.recent, text)
	}
	return nil
}

func (c *Upstream) addTrusted(text string) error {
	if text == "none" {
		c.distrust = true
		return nil
	}
	return settings.Prefixes(&c.trusted).Set(text)
}

func (c *Upstream) setScanFrom(text string) (err error) {
	if c.scanFrom, err = netip.ParseAddr(text); err != nil {
		err = errors.New("give an address of this computer, such as 10.1.2.3")
	}
	return err
}

func (c *Upstream) setStranger(text string) (err error) {
	c.Stranger, err = parseStranger(text)
	return err
}

// parseStranger parses "none", or an address that may be followed by names of headers.
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
		return s, errors.New("give none, or an address and optionally the names of headers, such as 192.0.2.1,CF-Connecting-IP")
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

func (c *Upstream) Check(string) error {
	if len(c.trusted) == 0 && !c.distrust {
		c.trusted = thisComputer
	}
	var f settings.Faults
	u, err := url.Parse(c.upstream)
	if err == nil && u.User != nil {
		f.Add(settings.Fault("upstream", "leave out user names: the web server gets the requests as visitors send them"))
	} else {
		f.If(err != nil || u.Host == "", "upstream", "give the address of the web server, such as http://127.0.0.1:8000")
	}
	f.Add(requests.CheckRate(c.rate))
	f.If(c.revisit < 0, "revisit", "give pages per second, or 0")
	f.If(c.beside && c.htmlLink, "html-link", "needs the pages to go through the proxy; leave out --beside")
	return f.Err()
}
