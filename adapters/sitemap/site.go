package sitemap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync"
)

// Verify says how a page is checked before it is listed.
type Verify string

const (
	// VerifyGet reads the page: it gets a length and a hash, and robots rules and
	// canonical links in its head are honoured.
	VerifyGet Verify = "get"

	// VerifyHead requests the header alone. Pages with noindex in their text are
	// listed, and changes without a new validator are not noticed.
	VerifyHead Verify = "head"

	// VerifyNone lists the pages in the sitemaps without requesting them. Private
	// pages are listed if the sitemaps name them.
	VerifyNone Verify = "none"
)

// A Set holds the known pages of a [Site], which reads and updates it, such as a
// sqlstore.Set.
type Set interface {
	// Known returns the resources with these keys, in the same order, each
	// zero if there is none.
	Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error)

	// Resources yields the resources in a range of keys, in their order.
	resourcesync.Provider

	// Put adds resources or replaces those with the same keys.
	Put(ctx context.Context, resources ...resourcesync.Resource) error

	// Withdraw removes resources at once. It may publish their deletions
	// later, in case too many pages stop qualifying and come back.
	Withdraw(ctx context.Context, keys ...string) error
}

// A WithheldSet remembers pages that are not published, such as another sqlstore.Set.
type WithheldSet interface {
	Known(ctx context.Context, keys []string) ([]resourcesync.Resource, error)
	resourcesync.Provider
	Put(ctx context.Context, resources ...resourcesync.Resource) error
	Delete(ctx context.Context, keys ...string) error
}

// Options configure [New]. The zero value is valid.
type Options struct {
	// Sitemaps are the URLs of the sitemaps, absolute or relative to the site. If
	// empty, they are discovered.
	Sitemaps []string

	// Recent are the URLs of short lists of recent changes, absolute or relative to
	// the site: feeds, sitemaps, or JSON such as
	// /wp-json/wp/v2/posts?orderby=modified. They are read by every scan and after a
	// hint. They must name only pages that the sitemaps name, too.
	Recent []string

	// Exclude reports whether a URL of the site is not to be listed. If nil,
	// all are.
	Exclude func(u *url.URL) bool

	// Verify says how pages are checked. If empty, VerifyGet is used.
	Verify Verify

	// Upstream is the URL, without a path, at which the site is reached, if that is
	// not its public one. Requests still have the public host.
	Upstream string

	// Transport sends the requests. If nil, http.DefaultTransport is used.
	Transport http.RoundTripper

	// Rate bounds the requests per second that scans and hints make, and Revisit
	// those that check pages again in turn. If zero, 20 and 1 are used; a negative
	// Revisit disables these checks. The rates apply to each process that calls
	// [Site.Run].
	Rate    float64
	Revisit float64

	// Concurrency is how many requests are under way at once. If zero, 2.
	Concurrency int

	// Folder keeps copies of the sitemaps and how far Revisit has come. If
	// empty, every scan reads every sitemap anew.
	Folder string

	// Withheld remembers the pages that sitemaps name and that do not qualify, so
	// that a scan need not check them again. It must not be the set that is
	// published. If nil, each scan requests them.
	Withheld WithheldSet

	// UserAgent is sent with requests. If empty, "resourcesync" is used.
	UserAgent string

	// Logger receives skipped pages and errors. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Site is a website with sitemaps. All methods are safe for concurrent use.
type Site struct {
	base    *url.URL // its public URL
	set     Set
	options Options
	client  *client
	copies  *copies
	recent  []*url.URL
	log     *slog.Logger

	revisits *rate.Limiter
	hints    *hints
	turns    turns

	mu     sync.Mutex
	status Status

	robotsNamed atomic.Bool // robots.txt has named a sitemap
}

// A Status describes the last scan and the checks of a Site.
type Status struct {
	// Sitemaps counts the sitemaps that the last scan read, and Unchanged those
	// of them that the site said were unchanged.
	Sitemaps  int `json:"sitemaps"`
	Unchanged int `json:"unchanged"`

	// Foreign counts the URLs in them that are of other sites, Invalid those
	// that cannot be listed, and Withheld those that do not qualify, by reason.
	Foreign  int            `json:"foreign"`
	Invalid  int            `json:"invalid"`
	Withheld map[string]int `json:"withheld,omitempty"`

	// Failed counts the pages whose checks failed, and which stay as they were.
	Failed int `json:"failed"`

	// Oldest is a time after which every page has been requested; zero if that
	// is not known yet. Pages whose requests failed stay as they were.
	Oldest time.Time `json:"oldest,omitzero"`
}

// New returns the website at base, an absolute http or https URL without a query.
// Pages whose URLs do not begin with it are foreign. set has the known pages, and
// receives the pages found between scans.
func New(base string, set Set, o *Options) (*Site, error) {
	if o == nil {
		o = &Options{}
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sitemap: %w", err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, fmt.Errorf("sitemap: %q must be like https://example.org/", base)
	case set == nil:
		return nil, errors.New("sitemap: a Site needs a Set")
	}
	if !strings.HasSuffix(u.Path, "/") {
		u.Path += "/"
	}
	s := &Site{base: u, set: set, options: *o, log: o.Logger, hints: newHints()}
	s.log = cmp.Or(s.log, slog.Default())
	if err := s.options.complete(); err != nil {
		return nil, err
	}
	for _, text := range o.Recent {
		recent, err := u.Parse(text)
		if err != nil || recent.Host != u.Host {
			return nil, fmt.Errorf("sitemap: Recent %q must be a URL of the site", text)
		}
		s.recent = append(s.recent, recent)
	}
	if s.client, err = newClient(u, &s.options); err != nil {
		return nil, err
	}
	if s.copies, err = openCopies(o.Folder); err != nil {
		return nil, err
	}
	s.revisits = rate.NewLimiter(rate.Limit(s.options.Revisit), 1)
	return s, nil
}

func (o *Options) complete() error {
	o.Verify = cmp.Or(o.Verify, VerifyGet)
	o.Rate = cmp.Or(o.Rate, 20)
	o.Revisit = cmp.Or(o.Revisit, 1)
	o.Concurrency = cmp.Or(o.Concurrency, 2)
	o.UserAgent = cmp.Or(o.UserAgent, "resourcesync")
	switch {
	case o.Verify != VerifyGet && o.Verify != VerifyHead && o.Verify != VerifyNone:
		return fmt.Errorf("sitemap: Verify %q: use get, head or none", o.Verify)
	case o.Rate < 0 || o.Concurrency < 0:
		return errors.New("sitemap: Rate and Concurrency must not be negative")
	}
	return nil
}

// Status returns the status of s.
func (s *Site) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.status
	now.Withheld = maps.Clone(now.Withheld)
	return now
}

// key returns the key of the page at u, and whether it belongs to the site.
func (s *Site) key(u *url.URL) (key string, ok bool) {
	if u.Scheme != s.base.Scheme || !strings.EqualFold(u.Host, s.base.Host) || u.User != nil {
		return "", false
	}
	path, ok := strings.CutPrefix(u.EscapedPath(), s.base.EscapedPath())
	if !ok {
		return "", false
	}
	if u.RawQuery != "" || u.ForceQuery {
		path += "?" + u.RawQuery
	}
	return shortKey("/" + path), true
}
