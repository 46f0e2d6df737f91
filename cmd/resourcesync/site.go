package main

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/server"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/tabledb"
	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A siteConfig is the configuration of a process that publishes sets: the common part, and
// the sets.
type siteConfig struct {
	listen    string
	baseURL   string // ends in a slash; empty if it follows the listener
	prefix    string // begins and ends with a slash
	client    string // header with the address of the client
	tlsCert   string
	tlsKey    string
	state     string // a file or a PostgreSQL URL; empty for the default file
	window    time.Duration
	retain    time.Duration
	archive   time.Duration // zero for no archive
	pageSize  int
	pkgSize   int64
	pkgEvery  time.Duration
	sitemap   bool
	robots    bool // names the Resource List in robots.txt
	about     origin.About
	aboutURI  string        // of a description of the Source
	pages     bool          // HTML pages of documents
	listEvery time.Duration // between two versions of a Resource List in a bucket, at least
	push      pushConfig
	status    string // the address to answer operators at; empty for none
	harvests  bool   // operators see who harvests
	keepsThem bool   // harvesters, in the state
	shortens  bool   // their addresses
	logFormat string
	accessLog string // the format; none for no access log

	sets []origin.Config // one, or several that have names
	file string          // of which it is the configuration, or empty

	// catalog has the settings of the site, and catalogs those of each set, which may
	// be the same.
	catalog  *settings.Catalog
	catalogs []*settings.Catalog
}

// newSite returns the configuration of a site with one set, whose settings are in one catalog.
func newSite(set origin.Config) *siteConfig {
	c := &siteConfig{sets: []origin.Config{set}, catalog: new(settings.Catalog)}
	c.catalogs = []*settings.Catalog{c.catalog}
	c.declare(c.catalog)
	set.Shared().Declare(c.catalog)
	set.Declare(c.catalog)
	return c
}

// check normalizes the values. Its errors state the places of wrong ones.
func (c *siteConfig) check() error {
	var faults settings.Faults
	faults.Add(c.catalog.Locate(c.checkSite()))
	for i, set := range c.sets {
		of := c.catalogs[i]
		faults.Add(of.Locate(set.Shared().Check()), of.Locate(c.checkPath(set.Shared())), of.Locate(c.checkPublish(set.Shared())), of.Locate(set.Check(c.state)))
	}
	return faults.Err()
}

func (c *siteConfig) checkSite() error {
	var f settings.Faults
	var err error
	if c.baseURL, err = cleanBaseURL(c.baseURL); err != nil {
		f.Add(err)
	}
	if c.prefix, err = cleanPrefix(c.prefix); err != nil {
		f.Add(err)
	}
	c.client = http.CanonicalHeaderKey(c.client)
	f.Add(server.CheckClientHeader(c.client), origin.CheckURI("described-by", c.aboutURI), c.about.Check())
	f.If(!isAddress(c.listen), "listen", "give an address and a port, such as 127.0.0.1:8081")
	f.If(c.status != "" && !isAddress(c.status), "status", "give an address and a port of this computer, such as 127.0.0.1:8081")
	f.If(isAddress(c.listen) && isSame(c.status, c.listen), "status", "--listen has this address and port; give another port")
	f.If(c.keepsThem && (c.status == "" || !c.harvests), "harvesters-keep", "needs --status, which shows them, and excludes --harvesters=false")
	f.If(c.pageSize < 1 || c.pageSize > rsxml.MaxEntries, "page-size", "a page has 1 to %d entries", rsxml.MaxEntries)
	f.If(strings.Contains(c.state, "://") && !c.stateIsPostgres(), "state", "give a file, or a database of PostgreSQL as in postgres://user@host/database")
	if err := settings.CheckAddress(c.state); err != nil {
		f.Add(settings.Fault("state", "%w", err))
	}
	f.If(c.window < time.Second, "window", "give a second or more, such as 1h, 24h or 7d")
	f.If(c.listEvery < time.Second, "publish-lists", "give a second or more, such as 10m or 1h")
	f.If(c.retain < time.Second, "retain", "give a second or more, such as 48h or 90d")
	f.If(c.archive != 0 && c.archive < c.retain, "archive", "give --retain (%s) or more, because changes are archived after that, or 0", settings.SpanText(c.retain))
	f.If(c.pkgEvery < time.Second, "package-every", "give a second or more, such as 15m or 1h")
	f.If(c.pkgSize < 1<<10, "package-size", "give 1KiB or more, such as 16MiB or 500MB")
	f.If(c.tlsCert == "" && c.tlsKey != "", "tls-key", "give --tls-cert as well")
	f.If(c.tlsCert != "" && c.tlsKey == "", "tls-cert", "give --tls-key as well")
	f.Add(c.push.check())
	return f.Err()
}

// isAddress reports whether text has an address, which may be empty, and a port.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
}

// isSame reports whether listeners cannot have both addresses, because their ports are the
// same, and so are their hosts, or one of them means all hosts. Port 0 is any free port.
func isSame(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	isAll := func(host string) bool {
		ip, err := netip.ParseAddr(host)
		return host == "" || err == nil && ip.IsUnspecified()
	}
	return portA == portB && portA != "" && portA != "0" && (hostA == hostB || isAll(hostA) || isAll(hostB))
}

// checkPath returns an error if documents would have the paths of a set's resources.
func (c *siteConfig) checkPath(s *origin.Common) error {
	switch path := "/" + s.Path; {
	case path == "/":
	case c.prefix != "/" && strings.HasPrefix(path, c.prefix):
		return settings.Fault("path", "the documents are in %s; give another path, or another prefix", c.prefix)
	case s.Path == ownHub:
		return settings.Fault("path", "the built-in hub has this path; give another path")
	}
	return nil
}

// checkPublish returns an error if the documents of a set cannot be kept in a bucket.
func (c *siteConfig) checkPublish(s *origin.Common) error {
	var f settings.Faults
	if s.Publish != "" {
		f.If(c.baseURL == "", "publish", "needs --base-url: the public URL of the bucket, or of the CDN in front of it")
		f.If(c.listEvery >= c.retain, "publish", "needs a --publish-lists (%s) shorter than --retain (%s), because the Change List must reach back to the Resource List", settings.SpanText(c.listEvery), settings.SpanText(c.retain))
	}
	return f.Err()
}

// named adds the name of a set, if it has one, to an error.
func named(name string, err error) error {
	if err == nil || name == "" {
		return err
	}
	return fmt.Errorf("set %s: %w", name, err)
}

func (c *siteConfig) stateIsPostgres() bool { return tabledb.IsPostgres(c.state) }

// base returns the parsed base URL, which must be known.
func (c *siteConfig) base() (*url.URL, error) {
	u, err := url.Parse(c.baseURL)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	return u, nil
}

// cleanBaseURL returns base as a URL that ends in a slash.
func cleanBaseURL(base string) (string, error) {
	if base == "" {
		return "", nil
	}
	u, err := baseurl.Parse(base)
	if err != nil {
		if !strings.HasPrefix(strings.ToLower(base), "http://") && !strings.HasPrefix(strings.ToLower(base), "https://") {
			return base, settings.Fault("base-url", "must begin with http:// or https://, such as https://files.example.org/")
		}
		return base, settings.Fault("base-url", "%w: give the address of the site, such as https://files.example.org/, and leave out users, ? and #", err)
	}
	return u.JoinPath("/").String(), nil
}

// prefixes matches paths without ".", ".." and the well-known URI, and without
// characters that must be percent-encoded.
var prefixes = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/$`)

func cleanPrefix(prefix string) (string, error) {
	clean, ok := cleanPath(prefix)
	if !ok {
		return prefix, settings.Fault("prefix", "give a path of letters, digits, '-', '_', '.' and '~', such as /resourcesync/, or /")
	}
	return clean, nil
}

// cleanPath returns a path that begins and ends with a slash, and whether URLs may have it.
func cleanPath(given string) (clean string, ok bool) {
	clean = "/"
	if name := strings.Trim(given, "/"); name != "" {
		clean += name + "/"
	}
	return clean, prefixes.MatchString(clean)
}

// division returns how lists and dumps are divided.
func (c *siteConfig) division() rshttp.Division {
	return rshttp.Division{PageSize: c.pageSize, PackageSize: c.pkgSize, PackageEvery: c.pkgEvery}
}

// sitemaps returns what search engines get.
func (c *siteConfig) sitemaps() (s rshttp.Sitemaps) {
	if c.sitemap {
		s |= rshttp.PlainSitemaps
	}
	if c.robots {
		s |= rshttp.ResourceLists
	}
	return s
}

// scheme returns the scheme of the URLs of the listener.
func (c *siteConfig) scheme() string {
	if c.tlsCert != "" {
		return "https"
	}
	return "http"
}

// isNamed reports whether the sets have names, so that the documents of each have a folder.
func (c *siteConfig) isNamed() bool { return c.sets[0].Shared().Name != "" }
