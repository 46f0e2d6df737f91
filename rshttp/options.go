package rshttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// A Store keeps the notifications and subscriptions of Sources. *sqlstore.Store
// implements it. All methods are safe for concurrent use.
type Store interface {
	// Log returns the log with this name. It creates the log if there is none.
	Log(ctx context.Context, name string) (topic.Log, error)

	// Run does the background work of the Store until ctx ends, and then returns nil.
	// Several Sources that share the Store may call it at the same time.
	Run(ctx context.Context) error

	// Health returns what prevents the Store from working, or nil.
	Health(ctx context.Context) error
}

// Options configure a [Source]. The zero value is a reasonable default.
type Options struct {
	// DescribedBy is the URI of a document about the Source, linked from
	// the Source Description. If empty, there is no link.
	DescribedBy string

	// PageSize is the number of entries that a page of an indexed Resource
	// List is cut for, and the greatest number in a Change List: 1 to
	// 50,000. A page may grow to twice the number, but never beyond 50,000,
	// before it is divided. The packages of dumps are listed in the same way.
	// If zero, 10,000 is used.
	//
	// Like Window and Settle it also says how a journal that does not divide
	// itself is divided: with another value, closed lists are others.
	PageSize int

	// Window is the span of time of one Change List of an indexed set, for
	// journals that do not divide themselves; windows begin at multiples
	// of it, in UTC. If zero, 24 hours is used.
	Window time.Duration

	// Settle is how long after the end of a window a change with a datetime
	// inside it may still come to light, for journals that do not divide
	// themselves: the greatest time between the moment a host gives a
	// change its datetime and the moment others can see it. A window is
	// closed only by a change that is later than its end by this much, and a
	// change is pushed this much after its datetime. If zero, one minute is
	// used; if negative, changes are taken to come to light in order.
	Settle time.Duration

	// PackageSize is how many bytes of content a package of a Resource Dump or
	// Change Dump is cut for. It has more only if a single resource has, or until
	// the growth of a set is noticed. It also has no more resources than one for
	// each 16 KiB of PackageSize, but 1,000 in any case and 37,500 at most. A change
	// of a resource in it breaks off the transfers that have not reached that
	// resource, so a large package of a busy set may never arrive. If zero, 16 MiB
	// is used.
	PackageSize int64

	// PackageEvery is how often a package of a Change Dump is closed, and so
	// listed, at the latest: at multiples of it, in UTC, if there are changes. A
	// package that is full is closed earlier. If zero, one hour is used.
	//
	// A later change closes a package. On a quiet set, [Source.Run] closes it if the
	// journal is a [resourcesync.Sealer]; other journals have their last changes
	// dumped after a later one.
	PackageEvery time.Duration

	// Transfers is how many packages, and versions of resources ([Set].Memento),
	// may be sent at the same time. Requests beyond are answered 503 with
	// Retry-After, and so are those beyond a quarter of them for packages that no
	// dump lists. Each package takes memory for three buffers, and for its plan,
	// which it shares with other transfers of the same package. If zero, 64 is
	// used.
	Transfers int

	// ClientTransfers is how many of them one client may have, so that others
	// get packages when one is slow, or wants many at once; its requests beyond
	// are answered 429 with Retry-After. A client is an address, or the IPv6
	// addresses that begin with the same 64 bits; behind a proxy, all clients
	// are one. If zero, half of Transfers is used.
	ClientTransfers int

	// CacheBytes bounds the memory held by rendered documents, in bytes of
	// their compressed form. If zero, 64 MiB is used; if negative, nothing
	// is kept.
	CacheBytes int64

	// Renderings is how many documents may be rendered at the same time, and
	// how many packages may be planned. If zero, twice GOMAXPROCS is used.
	Renderings int

	// Wait is how long a request waits for its turn to render or to lay out
	// before it is answered 503 with Retry-After. If zero, 5 seconds is used; if
	// negative, it does not wait.
	Wait time.Duration

	// RenderTimeout ends a rendering for which the provider takes too long;
	// it is answered 503. Reading content for its checksum ends when nothing
	// comes for as long. If zero, one minute is used.
	RenderTimeout time.Duration

	// Sitemap adds, beside each Resource List, the same list as a plain
	// sitemap.xml without ResourceSync elements, for search engines that
	// object to them.
	Sitemap bool

	// Robots makes [Source.Wrap] name the sitemaps in the application's
	// /robots.txt: the plain ones if Sitemap is set, else the Resource
	// Lists (section 6.3.4). The application's own lines stay as they are.
	Robots bool

	// RobotsResourceLists makes [Source.Wrap] name the Resource Lists there in
	// any case. Destinations find the Source by them: a Resource List links to
	// its Capability List, a plain sitemap cannot.
	RobotsResourceLists bool

	// Store keeps notifications until every hub has accepted them, and the
	// subscriptions of Hub. [Source.Run] runs it. Usually it is the *sqlstore.Store
	// that also has the journals of the sets. All processes that serve the same sets
	// share one Store, in which the base URL identifies the Source. If nil, memory is
	// used. After a restart, notifications that were not accepted and all subscriptions
	// are then lost, and each channel begins again with the changes from then on.
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

	// DumpInterval is the least time between two Framework Notifications of a
	// changed Resource Dump. A dump changes whenever its set does, and Destinations
	// can only fetch all of it again. If zero, 24 hours is used.
	DumpInterval time.Duration

	// Push configures how notifications are made and sent to the hubs of the
	// sets. If it has no Logger, that of the Source is used.
	Push *topic.Options

	// WebSocket serves the notification channels of all sets by WebSockets as
	// well. Package topic/websocket has one; [Source.Run] runs it. If nil, the
	// channels are not served so.
	WebSocket topic.Feed

	// Logger receives what clients are not told. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// withDefaults returns the options to work with, or what is wrong with o.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	if out.PageSize == 0 {
		out.PageSize = 10_000
	}
	if out.PageSize < 1 || out.PageSize > rsxml.MaxEntries {
		return out, fmt.Errorf("rshttp: PageSize %d: must be 1 to %d", out.PageSize, rsxml.MaxEntries)
	}
	if out.Window < 0 || out.DumpInterval < 0 || out.PackageEvery < 0 {
		return out, errors.New("rshttp: Window, DumpInterval and PackageEvery must not be negative")
	}
	if out.DescribedBy != "" {
		if err := rsxml.CheckURI(out.DescribedBy); err != nil {
			return out, fmt.Errorf("rshttp: DescribedBy: %w", err)
		}
	}
	out.Window = cmp.Or(out.Window, 24*time.Hour)
	out.Settle = cmp.Or(out.Settle, time.Minute)
	out.DumpInterval = cmp.Or(out.DumpInterval, 24*time.Hour)
	out.PackageSize = cmp.Or(out.PackageSize, 16<<20)
	out.PackageEvery = cmp.Or(out.PackageEvery, time.Hour)
	out.Transfers = cmp.Or(out.Transfers, 64)
	out.ClientTransfers = cmp.Or(out.ClientTransfers, (out.Transfers+1)/2)
	out.CacheBytes = cmp.Or(out.CacheBytes, 64<<20)
	out.Renderings = cmp.Or(out.Renderings, 2*runtime.GOMAXPROCS(0))
	out.Wait = cmp.Or(out.Wait, 5*time.Second)
	out.RenderTimeout = cmp.Or(out.RenderTimeout, time.Minute)
	if out.Renderings < 0 || out.RenderTimeout < 0 {
		return out, errors.New("rshttp: Renderings and RenderTimeout must not be negative")
	}
	if out.PackageSize < 0 || out.Transfers < 0 || out.ClientTransfers < 0 {
		return out, errors.New("rshttp: PackageSize, Transfers and ClientTransfers must not be negative")
	}
	if out.HubURI != "" && out.Hub == nil {
		return out, errors.New("rshttp: HubURI without Hub: give &hub.Options{}")
	}
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out, nil
}
