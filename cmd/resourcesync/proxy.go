package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// proxy publishes a website until ctx is done.
func proxy(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseProxy(args)
	if err != nil {
		return err
	}
	return publish(ctx, &c, stdout, stderr)
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
	flags.Var(&c.sitemaps, "from-sitemap", "")
	flags.Var(&c.recent, "recent", "")
	flags.StringVar(&c.pingToken, "ping-token", "", "")
	flags.Func("trust-proxy", "", func(text string) error {
		if text == "none" {
			c.distrust = true
			return nil
		}
		return c.trusted.Set(text)
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

// checkOwner returns an error if the state belongs to another website, whose pages
// would all be published as deleted. Otherwise it records the website.
func (c *proxyConfig) checkOwner(ctx context.Context, set *sqlstore.Set) error {
	before, err := readOrigin(ctx, set)
	switch {
	case err != nil || before.BaseURL == c.baseURL:
		return err
	case before.BaseURL != "" && !c.moved:
		return fmt.Errorf("is the state of %s, not of %s; if the website has moved, start once with --moved; otherwise give another file with --state", before.BaseURL, c.baseURL)
	}
	return origin{BaseURL: c.baseURL}.record(ctx, set)
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
