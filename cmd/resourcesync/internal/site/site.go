// Package site has the configuration of a site, from the command line or a file, and the state that it
// names.
package site

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

// A Config is the configuration of a process that publishes sets: the common part, and
// the sets.
type Config struct {
	Listen            string
	BaseURL           string // ends in a slash; empty if it follows the listener
	Prefix            string // begins and ends with a slash
	ClientHeader      string // header with the address of the client
	TlsCert           string
	TlsKey            string
	State             string // a file or a PostgreSQL URL; empty for the default file
	ReadFrom          string // the PostgreSQL URL of a standby; empty for none
	Window            time.Duration
	Retain            time.Duration
	Archive           time.Duration // zero for no archive
	PageSize          int
	pkgSize           int64
	pkgEvery          time.Duration
	Sitemap           bool
	Robots            bool // names the Resource List in robots.txt
	About             origin.About
	DescribedBy       string        // of a description of the Source
	Pages             bool          // HTML pages of documents
	ListEvery         time.Duration // between two versions of a Resource List in a bucket, at least
	PublishGzip       bool          // store documents in buckets compressed
	Push              Push
	Status            string // the address to answer operators at; empty for none
	Harvesters        bool   // operators see who harvests
	KeepHarvesters    bool   // harvesters, in the state
	ShortenHarvesters bool   // their addresses
	LogFormat         string
	AccessLog         string // the format; none for no access log

	Sets []origin.Config // one, or several that have names
	File string          // of which it is the configuration, or empty

	// Catalog has the settings of the site, and catalogs those of each set, which may
	// be the same.
	Catalog  *settings.Catalog
	Catalogs []*settings.Catalog
}

// New returns the configuration of a site with one set, whose settings are in one catalog.
func New(set origin.Config) *Config {
	c := &Config{Sets: []origin.Config{set}, Catalog: new(settings.Catalog)}
	c.Catalogs = []*settings.Catalog{c.Catalog}
	c.Declare(c.Catalog)
	set.Shared().Declare(c.Catalog)
	set.Declare(c.Catalog)
	return c
}

// Check normalizes the values. Its errors state the places of wrong ones.
func (c *Config) Check() error {
	var faults settings.Faults
	faults.Add(c.Catalog.Locate(c.checkSite()))
	for i, set := range c.Sets {
		of := c.Catalogs[i]
		faults.Add(of.Locate(set.Shared().Check()), of.Locate(c.checkPath(set.Shared())), of.Locate(c.checkPublish(set.Shared())), of.Locate(set.Check(c.State)))
	}
	return faults.Err()
}

func (c *Config) checkSite() error {
	var f settings.Faults
	var err error
	if c.BaseURL, err = cleanBaseURL(c.BaseURL); err != nil {
		f.Add(err)
	}
	if c.Prefix, err = cleanPrefix(c.Prefix); err != nil {
		f.Add(err)
	}
	c.ClientHeader = http.CanonicalHeaderKey(c.ClientHeader)
	f.Add(server.CheckClientHeader(c.ClientHeader), origin.CheckURI("described-by", c.DescribedBy), c.About.Check())
	f.If(!isAddress(c.Listen), "listen", "give an address and a port, such as 127.0.0.1:8081")
	f.If(c.Status != "" && !isAddress(c.Status), "status", "give an address and a port of this computer, such as 127.0.0.1:8081")
	f.If(isAddress(c.Listen) && isSame(c.Status, c.Listen), "status", "--listen has this address and port; give another port")
	f.If(c.KeepHarvesters && (c.Status == "" || !c.Harvesters), "harvesters-keep", "needs --status, which shows them, and excludes --harvesters=false")
	f.If(c.PageSize < 1 || c.PageSize > rsxml.MaxEntries, "page-size", "a page has 1 to %d entries", rsxml.MaxEntries)
	f.If(strings.Contains(c.State, "://") && !c.StateIsPostgres(), "state", "give a file, or a database of PostgreSQL as in postgres://user@host/database")
	if err := settings.CheckAddress(c.State); err != nil {
		f.Add(settings.Fault("state", "%w", err))
	}
	f.If(c.ReadFrom != "" && !c.StateIsPostgres(), "read-from", "needs a --state in PostgreSQL, of which it names a standby")
	f.If(c.ReadFrom != "" && !tabledb.IsPostgres(c.ReadFrom), "read-from", "give a database of PostgreSQL, as in postgres://user@standby/database")
	if err := settings.CheckAddress(c.ReadFrom); err != nil {
		f.Add(settings.Fault("read-from", "%w", err))
	}
	f.If(c.Window < time.Second, "window", "give a second or more, such as 1h, 24h or 7d")
	f.If(c.ListEvery < time.Second, "publish-lists", "give a second or more, such as 10m or 1h")
	f.If(c.Retain < time.Second, "retain", "give a second or more, such as 48h or 90d")
	f.If(c.Archive != 0 && c.Archive < c.Retain, "archive", "give --retain (%s) or more, because changes are archived after that, or 0", settings.SpanText(c.Retain))
	f.If(c.pkgEvery < time.Second, "package-every", "give a second or more, such as 15m or 1h")
	f.If(c.pkgSize < 1<<10, "package-size", "give 1KiB or more, such as 16MiB or 500MB")
	f.If(c.TlsCert == "" && c.TlsKey != "", "tls-key", "give --tls-cert as well")
	f.If(c.TlsCert != "" && c.TlsKey == "", "tls-cert", "give --tls-key as well")
	f.Add(c.Push.check())
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
func (c *Config) checkPath(s *origin.Common) error {
	switch path := "/" + s.Path; {
	case path == "/":
	case c.Prefix != "/" && strings.HasPrefix(path, c.Prefix):
		return settings.Fault("path", "the documents are in %s; give another path, or another prefix", c.Prefix)
	case s.Path == HubPath:
		return settings.Fault("path", "the built-in hub has this path; give another path")
	}
	return nil
}

// checkPublish returns an error if the documents of a set cannot be kept in a bucket.
func (c *Config) checkPublish(s *origin.Common) error {
	var f settings.Faults
	if s.Publish != "" {
		f.If(c.BaseURL == "", "publish", "needs --base-url: the public URL of the bucket, or of the CDN in front of it")
		f.If(c.ListEvery >= c.Retain, "publish", "needs a --publish-lists (%s) shorter than --retain (%s), because the Change List must reach back to the Resource List", settings.SpanText(c.ListEvery), settings.SpanText(c.Retain))
		f.If(c.PublishGzip && s.PublishAt != nil && s.PublishAt.Decompresses(), "publish", "excludes --publish-gzip, because Google Cloud Storage decompresses such objects for some clients")
	}
	return f.Err()
}

// Named adds the name of a set, if it has one, to an error.
func Named(name string, err error) error {
	if err == nil || name == "" {
		return err
	}
	return fmt.Errorf("set %s: %w", name, err)
}

func (c *Config) StateIsPostgres() bool { return tabledb.IsPostgres(c.State) }

// Base returns the parsed base URL, which must be known.
func (c *Config) Base() (*url.URL, error) {
	u, err := url.Parse(c.BaseURL)
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
		return base, settings.Fault("base-url", "%w: give the address of the site, such as https://files.example.org/, and leave out user names, ? and #", err)
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

// Division returns how lists and dumps are divided.
func (c *Config) Division() rshttp.Division {
	return rshttp.Division{PageSize: c.PageSize, PackageSize: c.pkgSize, PackageEvery: c.pkgEvery}
}

// Sitemaps returns the sitemaps for search engines.
func (c *Config) Sitemaps() (s rshttp.Sitemaps) {
	if c.Sitemap {
		s |= rshttp.PlainSitemaps
	}
	if c.Robots {
		s |= rshttp.ResourceLists
	}
	return s
}

// Scheme returns the scheme of the URLs of the listener.
func (c *Config) Scheme() string {
	if c.TlsCert != "" {
		return "https"
	}
	return "http"
}

// IsNamed reports whether the sets have names, so that the documents of each have a folder.
func (c *Config) IsNamed() bool { return c.Sets[0].Shared().Name != "" }
