package main

import (
	"cmp"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/accesslog"
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
	window    span
	retain    span
	archive   span // zero for no archive
	pageSize  int
	pkgSize   size
	pkgEvery  span
	sitemap   bool
	robots    bool   // names the Resource List in robots.txt
	about     string // the URI of a description of the Source
	pages     bool   // HTML pages of documents
	push      pushConfig
	status    string // the address to answer operators at; empty for none
	harvests  bool   // operators see who harvests
	logFormat string
	accessLog string // the format; none for no access log

	sets []setConfig // one, or several that have names
}

func (c *siteConfig) flags(flags *flag.FlagSet) {
	c.window, c.retain = span(day), span(90*day)
	c.pkgSize, c.pkgEvery = 16<<20, span(time.Hour)
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "")
	flags.StringVar(&c.baseURL, "base-url", "", "")
	flags.StringVar(&c.prefix, "prefix", "/resourcesync/", "")
	flags.Func("client-header", "", func(text string) error {
		c.client = http.CanonicalHeaderKey(text)
		return checkClientHeader(text)
	})
	flags.StringVar(&c.tlsCert, "tls-cert", "", "")
	flags.StringVar(&c.tlsKey, "tls-key", "", "")
	secretFlag(flags, "state", storeText(&c.state), func() string { return withoutPassword(c.state) })
	flags.Var(&c.window, "window", "")
	flags.Var(&c.retain, "retain", "")
	flags.Var(&c.archive, "archive", "")
	flags.IntVar(&c.pageSize, "page-size", 10_000, "")
	flags.Var(&c.pkgSize, "package-size", "")
	flags.Var(&c.pkgEvery, "package-every", "")
	flags.BoolVar(&c.sitemap, "sitemap", false, "")
	flags.BoolVar(&c.robots, "robots-resource-list", false, "")
	flags.StringVar(&c.about, "described-by", "", "")
	flags.BoolVar(&c.pages, "pages", true, "")
	c.push.flags(flags)
	flags.StringVar(&c.status, "status", "", "")
	flags.BoolVar(&c.harvests, "harvesters", true, "")
	flags.StringVar(&c.logFormat, "log-format", "text", "")
	flags.StringVar(&c.accessLog, "access-log", "none", "")
}

// check normalizes the values, and returns an error for the first wrong one.
func (c *siteConfig) check() error {
	var err error
	if c.baseURL, err = cleanBaseURL(c.baseURL); err != nil {
		return err
	}
	if c.prefix, err = cleanPrefix(c.prefix); err != nil {
		return err
	}
	switch {
	case !isAddress(c.listen):
		return usagef("--listen %q: give an address and a port, as in --listen 127.0.0.1:8081", c.listen)
	case c.status != "" && !isAddress(c.status):
		return usagef("--status %q: give an address and a port of this computer, as in --status 127.0.0.1:9090", c.status)
	case c.pageSize < 1 || c.pageSize > rsxml.MaxEntries:
		return usagef("--page-size %d: a page has 1 to %d entries", c.pageSize, rsxml.MaxEntries)
	case strings.Contains(c.state, "://") && !c.stateIsPostgres():
		return usagef("--state %q: give a file, or a database of PostgreSQL as in postgres://user@host/database", withoutPassword(c.state))
	case checkAddress(c.state) != nil:
		return usagef("--state: %w", checkAddress(c.state))
	case time.Duration(c.window) < time.Second:
		return usagef("--window %v: give a second or more, such as 1h, 24h or 7d", &c.window)
	case time.Duration(c.retain) < time.Second:
		return usagef("--retain %v: give a second or more, such as 48h or 90d", &c.retain)
	case c.archive != 0 && c.archive < c.retain:
		return usagef("--archive %v: give --retain (%v) or more, because changes are archived after that, or 0", &c.archive, &c.retain)
	case time.Duration(c.pkgEvery) < time.Second:
		return usagef("--package-every %v: give a second or more, such as 15m or 1h", &c.pkgEvery)
	case c.pkgSize < 1:
		return usagef("--package-size %v: give a byte or more, such as 500MB or 4GiB", &c.pkgSize)
	case c.about != "" && rsxml.CheckURI(c.about) != nil:
		return usagef("--described-by: %w", rsxml.CheckURI(c.about))
	case (c.tlsCert == "") != (c.tlsKey == ""):
		return usagef("--tls-cert and --tls-key go together")
	case c.logFormat != "text" && c.logFormat != "json":
		return usagef(`--log-format %q: give text or json`, c.logFormat)
	case c.accessLog != "none" && accesslog.Check(c.accessLog) != nil:
		return usagef(`--access-log %q: give combined, json or none`, c.accessLog)
	}
	if err := c.push.check(); err != nil {
		return err
	}
	for _, set := range c.sets {
		if err := cmp.Or(set.common().checkShared(), c.checkPath(set.common())); err != nil {
			return named(set.common().name, err)
		}
		if err := set.check(c); err != nil {
			return named(set.common().name, err)
		}
	}
	return nil
}

// isAddress reports whether text has an address, which may be empty, and a port.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
}

// checkPath returns an error if the paths of a set's resources would be those of documents.
func (c *siteConfig) checkPath(s *setSettings) error {
	switch path := "/" + s.path; {
	case path == "/":
	case c.prefix != "/" && strings.HasPrefix(path, c.prefix):
		return usagef("the path %s is in %s, where the documents are; give another path, or another prefix", path, c.prefix)
	case s.path == ownHub:
		return usagef("the path %s is that of the hub; give another path", path)
	}
	return nil
}

// verify checks the configuration against this computer.
func (c *siteConfig) verify() error {
	if c.tlsCert != "" {
		if _, err := newCertificate(c.tlsCert, c.tlsKey); err != nil {
			return err
		}
	}
	for _, set := range c.sets {
		if v, ok := set.(verifier); ok {
			if err := v.verify(); err != nil {
				return named(set.common().name, err)
			}
		}
	}
	return nil
}

// named adds the name of a set, if it has one, to an error.
func named(name string, err error) error {
	if err == nil || name == "" {
		return err
	}
	return fmt.Errorf("set %s: %w", name, err)
}

func (c *siteConfig) stateIsPostgres() bool { return isPostgres(c.state) }

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// base returns the parsed base URL, which must be known.
func (c *siteConfig) base() (*url.URL, error) {
	u, err := url.Parse(c.baseURL)
	if err != nil {
		return nil, usageError{err}
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
		return "", usagef("--base-url: %v: give the address of the site, such as https://files.example.org/, and leave out users, ? and #", err)
	}
	return u.JoinPath("/").String(), nil
}

// prefixes matches paths without ".", ".." and the well-known URI, and without
// characters that must be percent-encoded.
var prefixes = regexp.MustCompile(`^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*/$`)

func cleanPrefix(prefix string) (string, error) {
	clean, ok := cleanPath(prefix)
	if !ok {
		return "", usagef("--prefix %q: give a path of letters, digits, '-', '_', '.' and '~', such as /resourcesync/, or /", prefix)
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
	return rshttp.Division{PageSize: c.pageSize, PackageSize: int64(c.pkgSize), PackageEvery: time.Duration(c.pkgEvery)}
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
