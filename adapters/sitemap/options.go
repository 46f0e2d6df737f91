package sitemap

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
)

// Verify is the way to check a page before it is listed.
type Verify string

const (
	// VerifyGet reads the page. The resource has a length and a hash, and robots
	// rules and canonical links in the page's head are respected.
	VerifyGet Verify = "get"

	// VerifyHead requests the header only. Pages with noindex in their text are
	// listed, and changes without a new validator are missed.
	VerifyHead Verify = "head"

	// VerifyNone lists the pages in the sitemaps without requesting them. Private
	// pages are listed if the sitemaps name them.
	VerifyNone Verify = "none"
)

// Options are the optional arguments of [New]. The zero value is valid.
type Options struct {
	// Sitemaps are the URLs of the sitemaps, absolute or relative to the site. If
	// empty, they are discovered.
	Sitemaps []string

	// Recent are the URLs of short lists of recent changes, absolute or relative to
	// the site: feeds, sitemaps, or JSON such as
	// /wp-json/wp/v2/posts?orderby=modified. They are read by every scan and after a
	// hint. They must name only pages that the sitemaps also name.
	Recent []string

	// NoREST disables the requests to the REST interface of WordPress. If it is false, Recent
	// is empty, Verify is not VerifyNone and the site announces the interface, scans and hints
	// request the recently modified posts from it. Those that are listed or withheld are
	// checked; no other page is ever listed.
	NoREST bool

	// Exclude reports whether to exclude a URL of the site. If nil, none is
	// excluded.
	Exclude func(u *url.URL) bool

	// Verify is the way to check pages. If empty, VerifyGet is used.
	Verify Verify

	// RespectCacheControl withholds pages whose Cache-Control says private or no-store. Much
	// software sends these for every page.
	RespectCacheControl bool

	// Upstream is the URL, without a path, of the site's server, if it differs from
	// the public URL. Requests still name the public host.
	Upstream string

	// Transport sends the requests. If nil, http.DefaultTransport is used. A page
	// that it marks Uncompressed is listed without length and hash, because clients
	// receive other bytes.
	Transport http.RoundTripper

	// Variant identifies the changes that a proxy, and Transport with it, makes to the pages,
	// such as inserted links. When it differs from the Variant at the last check of a page, the
	// next scan reads the page again, even if the site's page is unchanged.
	Variant string

	// Rate is the maximum number of requests per second for scans and hints, and
	// Revisit the number of requests per second for visiting all pages in turn. If
	// zero, 20 and 1 are used; a negative Revisit disables the visits. The rates
	// apply to each process that calls [Site.Run].
	Rate    float64
	Revisit float64

	// Concurrency is the maximum number of concurrent requests of a scan. If zero,
	// 2 is used.
	Concurrency int

	// Folder is the folder for copies of the sitemaps and for the progress of the
	// visits. If empty, every scan requests every sitemap in full.
	Folder string

	// Stranger is the client in whose name all requests are sent.
	Stranger Stranger

	// MaxRefuse is the fraction of the listed pages that the website may refuse a Stranger,
	// although it answers requests without its headers. Up to this number, and up to two, such
	// pages are withdrawn within one to two hours. If there are more, the others stay in the set,
	// no deletion is published, and [Site.Hidden] returns an error until the website answers them
	// or [Site.ConfirmRefusals] is called. A sample shows whether there are more, before the
	// first page is withdrawn and before deletions are published. If zero, 0.25 is used; if 1 or
	// more, any number is withdrawn; if negative, two.
	MaxRefuse float64

	// Remedy is a text for the log: what else shows a hidden set again. If empty, it names
	// Stranger and ConfirmRefusals.
	Remedy string

	// UserAgent is sent with requests. If empty, "resourcesync" is used.
	UserAgent string

	// Logger receives skipped pages and errors. If nil, slog.Default() is used.
	Logger *slog.Logger
}

func (o *Options) complete() error {
	o.Verify = cmp.Or(o.Verify, VerifyGet)
	o.Rate = cmp.Or(o.Rate, 20)
	o.Revisit = cmp.Or(o.Revisit, 1)
	o.MaxRefuse = cmp.Or(o.MaxRefuse, 0.25)
	o.Remedy = cmp.Or(o.Remedy, "set Options.Stranger to a visitor that it trusts, or call ConfirmRefusals to publish the deletions")
	o.Concurrency = cmp.Or(o.Concurrency, 2)
	o.UserAgent = cmp.Or(o.UserAgent, "resourcesync")
	o.Stranger.complete()
	switch {
	case o.Verify != VerifyGet && o.Verify != VerifyHead && o.Verify != VerifyNone:
		return fmt.Errorf("sitemap: Verify %q: use get, head or none", o.Verify)
	case o.Rate < 0 || o.Concurrency < 0:
		return errors.New("sitemap: Rate and Concurrency must not be negative")
	}
	return nil
}
