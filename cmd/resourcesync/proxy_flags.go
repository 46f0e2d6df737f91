package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
)

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
	sitemaps  []string
	recent    []string
	pingToken string
	trusted   addresses
	distrust  bool // --trust-proxy none
	tlsCert   string
	tlsKey    string
}

// folderFlags are the flags of serve that proxy does not have.
var folderFlags = []string{"hash", "dot-files", "keep-versions", "versions", "archive-files"}

// proxyTexts are the flags of serve whose help differs.
var proxyTexts = map[string]string{
	"base-url": `The public URL of the website, such as https://www.example.org/. All URLs in the
documents begin with it, and requests to the web server name its host.
Default: http:// and the address of --listen`,
	"prefix": `The path of the ResourceSync documents below the base URL. Pages of the website
below this path cannot be reached.
Default: /resourcesync/`,
	"page-size": `The maximum number of pages of the website in one document, 1 to 50000. Longer
lists are divided.
Default: 10000`,
	"rescan": `The interval between scans of the sitemaps, such as 30s, 5m or 1h. A scan
requests only pages that are new or have a newer lastmod. A write through the
proxy, or a ping, starts a scan at once.
Default: 5m`,
	"max-delete": `The share of the pages that may disappear before deletions are held, because a
sitemap that a plug-in has emptied looks the same. New and changed pages are
published meanwhile. Deletions are added up over one to two hours. One or two
deletions are never held, unless the set would become empty. 100% holds nothing,
and publishes held deletions.
Default: 25%`,
	"moved": `Accept the state although the website has another --base-url than before. Give it
once, after the website has moved. Without it, the state of another website is
refused, because all of its pages would be published as deleted.`,
	"state": `Where to keep pages, changes and subscriptions across restarts: a file, or a
PostgreSQL database, as in postgres://user@host/database.
Default: a file in your cache folder, named after the website`,
	"dumps": `Offer the pages in ZIP packages as well, which exist only while they are sent.
Each page in a package is requested from the web server, at most at --rate.`,
	"sitemap": `Publish a plain sitemap of the listed pages too: sitemap.xml, below the prefix.
robots.txt names it.`,
}

func proxyFlags(c *proxyConfig) *flag.FlagSet {
	flags := flag.NewFlagSet("proxy", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors, in one line
	flags.StringVar(&c.upstream, "upstream", "", `The web server of the website, such as http://127.0.0.1:8000. The scheme may
also be https, or h2c for HTTP/2 without TLS. Required.
Default: none`)
	flags.BoolVar(&c.beside, "beside", false, `Answer requests for the ResourceSync documents only. The web server stays in
front, and passes those requests on.`)
	flags.BoolVar(&c.htmlLink, "html-link", false, `Insert <link rel="resourcesync"> into the heads of HTML pages. All listed
pages get the Link header in any case.`)
	flags.Func("exclude", `A path that must not be listed, such as /private/*; * stands for any characters.
May be repeated.
Default: none`, func(text string) error {
		if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
			return errors.New("give a path, such as /private/*")
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*")
		c.exclude = append(c.exclude, regexp.MustCompile("^"+pattern+"$"))
		return nil
	})
	flags.StringVar(&c.verify, "verify", "get", `How a page is checked before it is listed. get reads the page, and so finds
private pages, noindex and every change. head requests the header only: it
misses noindex inside the page, and changes without a validator. none requests
nothing: every page in the sitemaps is listed, even a private one.
Default: get`)
	flags.Float64Var(&c.rate, "rate", 20, `The maximum number of requests per second that the scanner sends, such as 5 or
0.5.
Default: 20`)
	flags.Float64Var(&c.revisit, "revisit", 1, `The number of pages per second to check in rotation, because sitemaps do not show
all changes, such as those of permissions. 0 checks none.
Default: 1`)
	flags.Func("from-sitemap", `The URL of a sitemap of the website. May be repeated.
Default: those in robots.txt, or else /sitemap.xml or /wp-sitemap.xml`, func(text string) error {
		c.sitemaps = append(c.sitemaps, text)
		return nil
	})
	flags.Func("recent", `The URL of a short list of recent changes: a feed, a sitemap, or JSON, such as
"/wp-json/wp/v2/posts?orderby=modified". It is read at each scan and after each
write. May be repeated.
Default: none`, func(text string) error {
		c.recent = append(c.recent, text)
		return nil
	})
	flags.StringVar(&c.pingToken, "ping-token", "", `The token with which plug-ins and cron jobs report changes, by a POST to "ping"
below the prefix. Other users of this computer can see command lines; the
environment variable RESOURCESYNC_PING_TOKEN is an alternative.
Default: none`)
	flags.Func("trust-proxy", `The addresses of proxies in front whose X-Forwarded-* headers are passed on, such
as 10.0.0.0/8, or none. May be repeated.
Default: this computer`, func(text string) error {
		if text == "none" {
			c.distrust = true
			return nil
		}
		return c.trusted.Set(text)
	})
	flags.StringVar(&c.tlsCert, "tls-cert", "", `The file with the certificate chain (PEM), for https. It is read again when it
changes.
Default: none, for http`)
	flags.StringVar(&c.tlsKey, "tls-key", "", `The file with the private key of --tls-cert.
Default: none`)
	shared := serveFlags(&c.serveConfig)
	c.dumps = false
	shared.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(folderFlags, f.Name) {
			flags.Var(f.Value, f.Name, cmp.Or(proxyTexts[f.Name], f.Usage))
		}
	})
	return flags
}

// parseProxy reads the arguments of proxy. The error is flag.ErrHelp for --help.
func parseProxy(args []string) (proxyConfig, error) {
	var c proxyConfig
	flags := proxyFlags(&c)
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("%q is one argument too many: name the website with --upstream", flags.Arg(0))
	}
	if err == nil && c.upstream == "" {
		err = errors.New("no website given, as in --upstream http://127.0.0.1:8000")
	}
	if errors.Is(err, flag.ErrHelp) {
		return c, err
	}
	if err != nil {
		return c, usagef(`proxy: %w; "resourcesync proxy --help" explains the flags`, err)
	}
	return c, c.check()
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

func printProxyHelp(w io.Writer) {
	fmt.Fprint(w, `Usage: resourcesync proxy --upstream URL [flags]

Makes a website a ResourceSync Source, whatever software it runs, by a reverse proxy
in front of it. The proxy lists the public pages in the sitemaps of the website, with
their sizes, checksums and changes. It answers requests for the ResourceSync
documents, and forwards all others to the web server.

  resourcesync proxy --upstream http://127.0.0.1:8000 --base-url https://www.example.org/
  resourcesync proxy --upstream http://127.0.0.1 --base-url https://www.example.org/ --beside

Flags:
`)
	printFlags(w, proxyFlags(new(proxyConfig)))
}
