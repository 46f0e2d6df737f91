// Package sitemap publishes a website that has sitemaps as a set of resources. The website can run
// any software.
//
//	site, err := sitemap.New("https://example.org/", &sitemap.Options{Upstream: "http://127.0.0.1:8000"})
//	...
//	set, err := scan.Into(ctx, store, "pages", site, nil)
//
// A scan lists the pages that the sitemaps name. Between scans, [Site.Run]
// checks pages that hints name at once, and all others in rotation.
//
// # Listed pages
//
// The sitemaps are those that robots.txt names or, if it names none, /sitemap.xml or
// /wp-sitemap.xml. They may be sitemap indexes, RSS or Atom feeds, or plain text, and
// compressed with gzip. A URL in them is listed if it belongs to the site and is
// public: a GET without cookies and credentials is answered with 200, and the page
// neither says noindex nor names a canonical URL on another host.
//
// A page that stops qualifying (401, 403, 404, 410, 451, a redirect, noindex) is
// withdrawn at once. If many pages do so within a short time, the set holds their
// deletions ([scan.SetOptions]), because a broken plug-in looks the same. A
// server error, a time-out or an unreadable sitemap changes nothing: the affected pages
// stay unchanged.
//
// # The cost of a scan
//
// A scan requests each sitemap with the validators of the last response, and reads an unchanged
// one from a copy in [Options.Folder]. It requests a page only if the page is new or the lastmod
// in its sitemap has changed. Many changes, above all changes of permissions, do not change
// the lastmod, so [Site.Run] requests all pages again in turn, at the rate of
// [Options.Revisit].
package sitemap

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Site is a website with sitemaps. It is a [scan.Origin] and a [resourcesync.Opener]. All
// methods are safe for concurrent use.
type Site struct {
	base     *url.URL    // its public URL
	set      scan.Stored // nil before Bind
	withheld scan.Stored // pages that sitemaps name and that do not qualify, so that scans need not check them again

	options Options
	variant string // of the rules and of Options, shortened for stamps
	client  *client
	copies  *copies
	recent  []*url.URL
	log     *slog.Logger

	wordpress *wordpress // nil if it is not used

	revisits *rate.Limiter
	unsaved  bool // the progress of visits
	hints    *hints
	locks    keyLocks
	latest   atomic.Pointer[pass]

	mu       sync.Mutex
	status   Status
	refusals int64          // of listed pages to a Stranger, which were withdrawn since the set was last hidden
	lately   tally          // the recent ones of these
	judged   time.Time      // when the last sample was judged
	hidden   *StrangerError // see Hidden
	judging  chan struct{}  // full while a sample is requested

	follows   following
	confirmed atomic.Bool // pages that strangers are refused are private
	scanBegan time.Time   // see scannedFrom

	robotsNamed atomic.Bool // robots.txt has named a sitemap
}

// A Status describes the last scan and the checks of a Site.
type Status struct {
	// Sitemaps is the number of sitemaps that the last scan read, and Unchanged the
	// number of those that the site answered with 304.
	Sitemaps  int `json:"sitemaps"`
	Unchanged int `json:"unchanged"`

	// Foreign is the number of URLs of other sites, and ForeignURL the first of them. Invalid
	// is the number of URLs that cannot be listed, and Withheld the number of pages that do
	// not qualify, by reason.
	Foreign    int            `json:"foreign"`
	ForeignURL string         `json:"foreignURL,omitempty"`
	Invalid    int            `json:"invalid"`
	Withheld   map[string]int `json:"withheld,omitempty"`

	// Uncacheable is the number of listed pages whose Cache-Control says private or no-store.
	// Some may be meant for one visitor; see [Options].RespectCacheControl.
	Uncacheable int `json:"uncacheable"`

	// Refused is the number of listed pages withdrawn since the set was last hidden, because
	// the website refuses them to a Stranger only.
	Refused int64 `json:"refused,omitempty"`

	// Failed is the number of pages whose checks failed; they stay unchanged.
	Failed int `json:"failed"`

	// Oldest is a time after which every page has been requested; zero if it is not
	// known yet.
	Oldest time.Time `json:"oldest,omitzero"`
}

// New returns a Site for the website at base, an absolute http or https URL without a
// query. Pages whose URLs do not begin with base are foreign. o may be nil.
func New(base string, o *Options) (*Site, error) {
	if o == nil {
		o = &Options{}
	}
	u, err := baseurl.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("sitemap: base URL: %w", err)
	}
	s := &Site{base: u, options: *o, log: o.Logger, hints: newHints(), judging: make(chan struct{}, 1)}
	s.log = cmp.Or(s.log, slog.Default())
	s.variant = shortVariant(rules + o.Variant)
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
	if len(s.recent) == 0 && !o.NoREST && s.options.Verify != VerifyNone {
		s.wordpress = newWordPress(s)
	}
	s.revisits = rate.NewLimiter(rate.Limit(s.options.Revisit), 1)
	return s, nil
}

// Status returns the status of s.
func (s *Site) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.status
	now.Withheld = maps.Clone(now.Withheld)
	now.Refused = s.refusals
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

// urlOf returns the URL of a stored page. After the site has moved, r.URI may still begin with the
// former base URL. It reports false if r does not belong to the site.
func (s *Site) urlOf(r resourcesync.Resource) (u *url.URL, ok bool) {
	u, err := url.Parse(r.URI)
	if err != nil {
		return nil, false
	}
	if key, ok := s.key(u); ok && key == r.Key {
		return u, true
	}
	path := u.RequestURI()
	for i := range path {
		if path[i] == '/' && shortKey(path[i:]) == r.Key {
			u, err := url.Parse(s.base.String() + path[i+1:])
			return u, err == nil
		}
	}
	return nil, false
}

// shortKey returns key or, if it is too long, a prefix of it with a digest.
func shortKey(key string) string {
	if len(key) <= resourcesync.MaxKeyLength {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	digest := "~" + hex.EncodeToString(sum[:])
	return key[:resourcesync.MaxKeyLength-len(digest)] + digest
}
