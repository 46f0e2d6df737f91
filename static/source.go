package static

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A Set is a set of resources whose documents are written (section 9). Provider is mandatory. It
// has the fields of rshttp.Set that need no process: upgrades are found on Provider, and a field
// with the name of an interface overrides the upgrade.
type Set struct {
	Name     string // the folder of its documents; may be empty if there is only one set
	Provider resourcesync.Provider

	Stater         resourcesync.Stater
	Cutter         resourcesync.Cutter
	Changer        resourcesync.Changer
	Opener         resourcesync.Opener
	ChangeOpener   resourcesync.ChangeOpener
	Archiver       resourcesync.Archiver
	ChangeArchiver resourcesync.ChangeArchiver
	Watcher        resourcesync.Watcher // wakes a Publication

	NoDumps bool // leaves out dumps, even if Provider can open resources

	// Hubs are the URIs of the hubs of the set's Change Notification channel, which a process
	// serves: an rshttp.Source with the same base URL, whose Set has NoFramework. The
	// Capability List names the channel.
	Hubs []string

	Require     []resourcesync.Capability // that the set must have, or else New fails
	DescribedBy string                    // URI of a document that describes the set; may be empty
}

// A Division is how lists and dumps are divided into documents and packages. The fields have the
// meaning and the defaults of rshttp.Division.
type Division struct {
	PageSize     int
	Window       time.Duration
	Settle       time.Duration
	PackageSize  int64
	PackageEvery time.Duration
}

// SourceOptions are the optional arguments of [New].
type SourceOptions struct {
	DescribedBy string // URI of a document that describes the Source; may be empty
	Division    Division

	// PlainSitemaps adds a sitemap.xml without elements of ResourceSync beside each
	// Resource List.
	PlainSitemaps bool

	// RenderTimeout is the time limit for one document. It also limits the time without
	// data when content is read for its checksum. If zero, one minute is used.
	RenderTimeout time.Duration

	// WebSockets says that the process of the channels serves them by WebSockets, too.
	WebSockets bool

	// Others are further sets of the Source Description, whose documents are elsewhere.
	Others []wellknown.Set

	// Logger receives warnings and errors. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Source is all documents of some sets, to be written by [Write]. They are the documents
// that an rshttp.Source with the same sets serves, with one difference: the names of parts and
// packages are short and do not depend on the case of letters, so that every file system can
// hold them. The name of a package also depends on its version, so that a package never
// changes under its name.
//
// A Source is used by one goroutine at a time.
type Source struct {
	site  *document.Site
	plans *packages.Planner[*document.State]
	print string // a digest of all that documents depend on beside the data of the sets
}

// New returns the documents of sets below the URL base, such as
// "https://example.org/resourcesync/". It fails if an argument is invalid. opts may be nil.
func New(base string, sets []Set, opts *SourceOptions) (*Source, error) {
	var o SourceOptions
	if opts != nil {
		o = *opts
	}
	u, err := baseurl.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("static: base URL: %w", err)
	}
	given := make([]document.Given, len(sets))
	for i, s := range sets {
		given[i] = document.Given{
			Name: s.Name, Provider: s.Provider, Stater: s.Stater, Cutter: s.Cutter, Changer: s.Changer,
			Opener: s.Opener, ChangeOpener: s.ChangeOpener, Archiver: s.Archiver, ChangeArchiver: s.ChangeArchiver,
			Watcher: s.Watcher, Hubs: s.Hubs, NoFramework: true, NoDumps: s.NoDumps, Require: s.Require, DescribedBy: s.DescribedBy,
		}
	}
	site, err := document.NewSite(document.Config{
		Base: u, Division: document.Division(o.Division), DescribedBy: o.DescribedBy, PlainSitemaps: o.PlainSitemaps, Static: true,
		Sockets: o.WebSockets, Others: o.Others,
		Wait: time.Hour, RenderTimeout: o.RenderTimeout, Log: o.Logger, // no client waits
	}, given)
	if err != nil {
		return nil, fmt.Errorf("static: %w", err)
	}
	s := &Source{site: site, plans: site.NewPlanner(1, new(packages.Counters))}
	all := []string{u.String(), fmt.Sprint(site.Division), string(site.Description.Text)}
	for _, st := range site.Order {
		all = append(all, st.Name, st.DescribedBy, fmt.Sprint(st.Capabilities(), st.Hubs, st.Sockets))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		all = append(all, info.String())
	}
	s.print = document.DigestOf(all...)
	return s, nil
}

// Description returns the public URL of the Source Description.
func (s *Source) Description() string { return s.site.Routes.URL(document.KindDescription, nil, "") }

// Paths returns the paths below the base URL that documents can have. A path that ends in a
// slash is a folder.
func (s *Source) Paths() []string { return s.site.Paths() }

// Sitemaps returns the URLs that robots.txt should name (section 6.3.4): of the plain sitemaps,
// if there are any, and of the Resource Lists.
func (s *Source) Sitemaps() []string {
	return append(s.site.URLs(document.KindSitemap), s.site.URLs(document.KindResourceList)...)
}

// moved reports whether a walk can begin again after err, because a set has changed.
func moved(err error) bool {
	_, gone := errors.AsType[*document.Gone](err)
	return gone || errors.Is(err, document.ErrMoved)
}
