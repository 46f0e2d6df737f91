package rshttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
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

// Options are the optional arguments of [New].
type Options struct {
	// DescribedBy is the URI of a document that describes the Source. The Source
	// Description links to it. If empty, there is no link.
	DescribedBy string

	// PageSize is the number of entries for which pages of an indexed Resource List
	// are cut, and the maximum number of entries in a Change List: 1 to 50,000. A
	// page may grow to twice the number, and to 50,000 at most, before it is split.
	// It applies to lists of packages, too. If zero, 10,000 is used.
	//
	// PageSize, Window and Settle also divide a journal that is no
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
	// open: it is closed, and listed, at a multiple of PackageEvery, in UTC, if it
	// has changes. A full package is closed earlier. If zero, one hour is used.
	//
	// A later change closes a package. On a quiet set, [Source.Run] closes it if the
	// journal is a [resourcesync.Sealer]; in other journals, the last changes appear
	// in the dump after a later one.
	PackageEvery time.Duration

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

	// Renderings is the maximum number of concurrent renderings, and that of
	// packages being planned. If zero, twice GOMAXPROCS is used.
	Renderings int

	// Wait is the maximum time that a request waits for its turn to render or to
	// plan before it is answered 503 with Retry-After. If zero, 5 seconds is used; if
	// negative, requests do not wait.
	Wait time.Duration

	// RenderTimeout is the time limit of a rendering; when the provider takes longer,
	// the request is answered 503. It also limits the time without data when content
	// is read for its checksum. If zero, one minute is used.
	RenderTimeout time.Duration

	// Sitemap adds a plain sitemap.xml, without elements of ResourceSync, beside each
	// Resource List, for search engines that object to these elements.
	Sitemap bool

	// Robots makes [Source.Wrap] name the sitemaps in the application's /robots.txt
	// (section 6.3.4): the plain ones if Sitemap is set, otherwise the Resource
	// Lists. The application's own lines are not changed.
	Robots bool

	// RobotsResourceLists makes [Source.Wrap] name the Resource Lists there in any
	// case. Destinations can find the Source by them: a Resource List links to its
	// Capability List, which a plain sitemap cannot.
	RobotsResourceLists bool

	// Store keeps notifications until every hub has accepted them, and the
	// subscriptions of Hub. [Source.Run] runs it. Usually it is the *sqlstore.Store
	// that also has the journals of the sets. All processes that serve the same sets
	// share one Store, in which the base URL identifies the Source. If nil, memory is
	// used. A restart then loses all subscriptions and the notifications that were not
	// accepted, and each channel starts again with the first change after it.
	// Destinations see the gap before the next notification, and read the Change List.
	//
	// With a Store, the removal of a set is announced to the hubs of the set, even if
	// no other set has hubs. The Store does not keep tokens, so a hub that needs a
	// Token or a Ping is notified only if another set has it.
	Store Store

	// Hub gives the Source a WebSub hub of its own. [Source.Wrap] and
	// [Source.ServeHTTP] serve it, [Source.Run] runs it, and every set links to it,
	// before the hubs of [Set].Hubs. Without a Logger it uses that of the Source. If
	// nil, the Source has no hub of its own.
	Hub *hub.Options

	// HubURI is the public URI of Hub; the Source serves Hub at its path. If empty,
	// websub/ below the base URL is used.
	HubURI string

	// DumpInterval is the minimum time between two Framework Notifications of a
	// changed Resource Dump. A dump changes whenever its set does, and Destinations
	// can only fetch all of it again. If zero, 24 hours is used.
	DumpInterval time.Duration

	// Push configures the publication of notifications and their transfer to the hubs
	// of the sets. Without a Logger, it uses that of the Source.
	Push *topic.Options

	// WebSocket also serves the notification channels of all sets by WebSockets.
	// Package topic/websocket implements it; [Source.Run] runs it. If nil, there are
	// no WebSockets.
	WebSocket topic.Feed

	// Observe is called after each answer to a request for a document, a package, a
	// version of a resource or a topic, and to the Hub: for metrics, or to see who
	// harvests. It is called by the goroutine of the request, so it must be fast, and
	// safe for concurrent use. WebSockets are not observed. If nil, it costs nothing.
	Observe func(Answer)

	// Tracer records spans: of renderings and of the planning of packages, as children of
	// the request that causes them, and of deliveries by Hub and Push, unless these have
	// a Tracer of their own. If nil, it costs nothing.
	Tracer resourcesync.Tracer

	// Pages has templates that replace those of the HTML pages on which people see the
	// documents in a browser; the folders templates of internal/pages and look of
	// internal/webpage have the built-in ones, which files with the same names replace.
	// The data of templates may change with each version. [New] fails if one of them has a
	// fault, or a name that replaces none. If nil, the built-in ones are used; with
	// [NoPages], there are no pages.
	Pages fs.FS

	// Logger receives errors, which clients do not see. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// withDefaults returns o with defaults, or an error if o is invalid. o may be nil.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.PageSize = cmp.Or(out.PageSize, 10_000); out.PageSize < 1 || out.PageSize > rsxml.MaxEntries {
		return out, fmt.Errorf("rshttp: PageSize %d: must be 1 to %d", out.PageSize, rsxml.MaxEntries)
	}
	if min(out.Window, out.DumpInterval, out.PackageEvery, out.RenderTimeout) < 0 ||
		min(out.Renderings, out.Transfers, out.ClientTransfers) < 0 || out.PackageSize < 0 {
		return out, errors.New("rshttp: only Settle, CacheBytes and Wait of Options may be negative")
	}
	out.Window = cmp.Or(out.Window, 24*time.Hour)
	out.Settle = cmp.Or(out.Settle, time.Minute)
	out.DumpInterval = cmp.Or(out.DumpInterval, 24*time.Hour)
	out.PackageSize = cmp.Or(out.PackageSize, 16<<20)
	out.PackageEvery = cmp.Or(out.PackageEvery, time.Hour)
	out.Transfers = cmp.Or(out.Transfers, 64)
	out.ClientTransfers = cmp.Or(out.ClientTransfers, (out.Transfers+1)/2)
	out.CacheBytes = cmp.Or(out.CacheBytes, 32<<20)
	out.Renderings = cmp.Or(out.Renderings, 2*runtime.GOMAXPROCS(0))
	out.Wait = cmp.Or(out.Wait, 5*time.Second)
	out.RenderTimeout = cmp.Or(out.RenderTimeout, time.Minute)
	out.Logger = cmp.Or(out.Logger, slog.Default())
	if out.HubURI != "" && out.Hub == nil {
		return out, errors.New("rshttp: HubURI without Hub: set Hub to &hub.Options{}")
	}
	return out, nil
}
