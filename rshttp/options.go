package rshttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// A Store stores the notifications and subscriptions of Sources. *sqlstore.Store
// implements it. All methods are safe for concurrent use.
type Store interface {
	// Log returns the log with this name. It creates the log if there is none.
	Log(ctx context.Context, name string) (topiclog.Log, error)

	// Run does the background work of the Store until ctx ends, and then returns nil.
	// Several Sources that share the Store may call it at the same time.
	Run(ctx context.Context) error

	// Health returns what prevents the Store from working, or nil.
	Health(ctx context.Context) error
}

// Options are the optional arguments of [New]. The zero value is a reasonable default.
type Options struct {
	// About tells people what the Source is.
	About About

	// DescribedBy is the URI of a document that describes the Source. The Source
	// Description links to it. If empty, it links to the page of the Source if there is one
	// and About is not zero; otherwise, there is no link.
	DescribedBy string

	// Store keeps notifications until every hub has accepted them, and the
	// subscriptions of Hub. If nil, memory is used. See "Push" of the package.
	Store Store

	// Hub gives the Source a WebSub hub of its own, to which every set links. If nil,
	// it has none. HubURI is its public URI; if empty, websub/ below the base URL.
	Hub    *hub.Options
	HubURI string

	// Push configures the publication of notifications, and their transfer to the
	// hubs of [Set].RemoteHubs.
	Push topic.Options

	// WebSocket also serves the notifications of all sets by WebSockets: a
	// *websocket.Server of package topic/websocket. If nil, there are none.
	WebSocket topic.Feed

	// Division configures how lists and dumps are divided, and Limits how much requests may use.
	Division Division
	Limits   Limits

	// Sitemaps selects the sitemaps for search engines. If zero, nothing is added for them.
	Sitemaps Sitemaps

	// Pages configures the HTML pages on which people see the documents in a browser.
	Pages Pages

	// Observe is called after each answer, except those of WebSockets, by the goroutine
	// of the request: it must be fast, and safe for concurrent use. It may be nil.
	Observe func(Answer)

	// Tracer records spans: of renderings, of the planning of packages, and of
	// deliveries by Hub and Push that have no Tracer of their own. It may be nil.
	Tracer resourcesync.Tracer

	// Logger receives errors, which clients do not see, also those of Hub and Push
	// without a Logger of their own. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// An About tells people what a Source or a set is, on its HTML page. All fields may be empty.
type About struct {
	// Title is the name, a line of at most 200 characters, and Description a text of at most
	// 2,000 characters.
	Title       string
	Description string

	// Contact is an email address or the URL of a page. A set without a contact has the
	// contact of the Source.
	Contact string
}

// A Division configures how a Source divides lists and dumps into documents and packages.
type Division struct {
	// PageSize is the number of entries for which pages of an indexed Resource List
	// are cut, and the maximum number of entries in a Change List: 1 to 50,000. A
	// page may grow to twice the number, and to 50,000 at most, before it is split.
	// It applies to lists of packages, too. If zero, 10,000 is used.
	//
	// PageSize, Window and Settle also divide a journal that is not a
	// [resourcesync.Windower]. If you change one of them, the closed Change Lists of
	// such a journal change.
	PageSize int

	// Window is the time that one Change List of an indexed journal covers. It is
	// ignored for journals that divide themselves ([resourcesync.Windower]), such as
	// those of sqlstore and memory, which have an option of their own. Windows begin at
	// multiples of it, in UTC. If zero, 24 hours is used.
	Window time.Duration

	// Settle is the maximum time between the moment at which a host assigns the
	// datetime of a change and the moment at which others can see the change, for
	// journals that do not divide themselves. A window is closed only by a change
	// that is later than its end by Settle, and a change is pushed Settle after its
	// datetime. If zero, one minute is used; if negative, changes become visible in
	// the order of their datetimes.
	Settle time.Duration

	// PackageSize is the content, in bytes, for which the packages of a Resource Dump
	// or Change Dump are cut. A package is larger only if a single resource is, or
	// until the growth of a set is detected. The number of resources in a package is
	// limited as well: to one for each 16 KiB of PackageSize, but to no less than
	// 1,000 and no more than 37,500. A change of a resource aborts the transfers that
	// have not reached it, so a large package of a busy set may never arrive. If zero,
	// 16 MiB is used.
	PackageSize int64

	// PackageEvery is the maximum time for which a package of a Change Dump stays
	// open: if it has changes, it is closed at a multiple of PackageEvery, in UTC, and
	// listed some seconds later. A full package is closed earlier. If zero, one hour is used.
	//
	// A later change closes a package. On a quiet set, [Source.Run] closes it if the
	// journal can record that, as those of sqlstore can; in other journals, the last
	// changes appear in the dump after a later one.
	PackageEvery time.Duration
}

// Limits limit what the requests to a Source may use, for all clients together unless
// stated otherwise.
type Limits struct {
	// Transfers is the maximum number of concurrent transfers of packages and of
	// versions of resources ([Set].Memento). Further requests are answered 503 with
	// Retry-After. Unlisted packages get a quarter of the transfers. A transfer takes
	// memory for three buffers, and for the plan of its package, which transfers of
	// the same package share. If zero, 64 is used.
	Transfers int

	// ClientTransfers is the maximum number of concurrent transfers to one client, so
	// that a slow or greedy client does not exclude others. Further requests are
	// answered 429 with Retry-After. A client is an address, or the IPv6 addresses
	// with the same first 64 bits. Behind a proxy, all clients are one. If zero, half
	// of Transfers is used.
	ClientTransfers int

	// CacheBytes is the maximum total size of cached documents, in compressed bytes.
	// If zero, 32 MiB is used; if negative, nothing is cached.
	CacheBytes int64

	// Renderings is the maximum number of concurrent renderings, and of packages being
	// planned at a time. If zero, twice GOMAXPROCS is used.
	Renderings int

	// Wait is the maximum time that a request waits for its turn to render or to
	// plan before it is answered 503 with Retry-After. If zero, 5 seconds is used; if
	// negative, requests do not wait.
	Wait time.Duration

	// RenderTimeout is the time limit of a rendering; when the provider takes longer,
	// the request is answered 503. It also limits the time without data when content
	// is read for its checksum. If zero, one minute is used.
	RenderTimeout time.Duration
}

// Sitemaps selects the sitemaps for search engines (section 6.3.4): PlainSitemaps,
// ResourceLists, both joined by |, or none. [Source.Wrap] names the sitemaps in the
// application's /robots.txt, whose own lines are not changed. Destinations can find the
// Source by a Resource List there, because it links to its Capability List.
type Sitemaps uint8

const (
	// PlainSitemaps adds a sitemap.xml without elements of ResourceSync beside each
	// Resource List, for search engines that object to these elements.
	PlainSitemaps Sitemaps = 1 << iota

	// ResourceLists names the Resource Lists, which are sitemaps themselves.
	ResourceLists
)

// Pages configure the HTML pages on which people see the documents in a browser.
type Pages struct {
	// Off means that there are no pages: all clients get XML.
	Off bool

	// Style is CSS that follows the built-in style sheet in each page. The names of classes may
	// change with each version. [New] fails if it contains an end tag.
	Style string

	// Header and Footer are HTML at the top and at the bottom of the body of each page. They are
	// trusted, and not escaped. The Content-Security-Policy allows no scripts and no style
	// attributes in them. If one of them or Style is set, pages may load images and fonts of
	// their own origin.
	Header, Footer string
}

// withDefaults returns o with defaults, or an error if o is invalid. o may be nil.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	l := &out.Limits
	division := document.Division(out.Division)
	if err := division.SetDefaults(); err != nil {
		return out, fmt.Errorf("rshttp: %w", err)
	}
	out.Division = Division(division)
	if min(l.RenderTimeout, out.Push.DumpInterval) < 0 || min(l.Renderings, l.Transfers, l.ClientTransfers) < 0 {
		return out, errors.New("rshttp: in Limits, only CacheBytes and Wait may be negative; DumpInterval must not")
	}
	l.Transfers = cmp.Or(l.Transfers, 64)
	l.ClientTransfers = cmp.Or(l.ClientTransfers, (l.Transfers+1)/2)
	l.CacheBytes = cmp.Or(l.CacheBytes, 32<<20)
	l.Renderings = cmp.Or(l.Renderings, 2*runtime.GOMAXPROCS(0))
	l.Wait = cmp.Or(l.Wait, 5*time.Second)
	l.RenderTimeout = cmp.Or(l.RenderTimeout, time.Minute)
	out.Push.DumpInterval = cmp.Or(out.Push.DumpInterval, 24*time.Hour)
	out.Logger = cmp.Or(out.Logger, slog.Default())
	if out.HubURI != "" && out.Hub == nil {
		return out, errors.New("rshttp: HubURI without Hub: set Hub to &hub.Options{}")
	}
	return out, nil
}

// config returns the part of o on which the documents below base depend.
func (o *Options) config(base *url.URL) document.Config {
	return document.Config{
		Base:          base,
		Division:      document.Division(o.Division),
		About:         document.About(o.About),
		DescribedBy:   o.DescribedBy,
		PlainSitemaps: o.Sitemaps&PlainSitemaps != 0,
		HTML:          !o.Pages.Off,
		Sockets:       o.WebSocket != nil,
		Wait:          o.Limits.Wait,
		RenderTimeout: o.Limits.RenderTimeout,
		Tracer:        o.Tracer,
		Log:           o.Logger,
	}
}
