// Package document is the documents of a Source: their kinds, the sets that they describe, the
// states that determine them, and how they are rendered. It knows nothing of requests: HTTP,
// HTML pages, files and notifications are four ways to give out the same documents.
//
// The table in kinds.go is the map: a row for each kind of document. A [Target] is a document:
// a kind, a set and a part. Its [State] is read first, and its text rendered from it.
package document

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A Config is all that documents depend on beside the data of the sets.
type Config struct {
	Base          *url.URL // of the folder of the documents, with a slash at its end
	Division      Division
	About         About
	DescribedBy   string // URI
	PlainSitemaps bool   // Resource Lists also exist as plain sitemaps
	HTML          bool   // documents have HTML pages
	Sockets       bool   // channels are also served by WebSockets
	Static        bool   // the names of parts are short, and do not depend on the case of letters

	Others []wellknown.Set // further sets in the Source Description

	Wait          time.Duration // for the division of a set; negative for none
	RenderTimeout time.Duration
	Tracer        resourcesync.Tracer // or nil
	Log           *slog.Logger
}

// A Division configures how lists and dumps are divided.
type Division struct {
	PageSize     int
	Window       time.Duration
	Settle       time.Duration
	PackageSize  int64
	PackageEvery time.Duration
}

// A Site is the documents of a Source.
type Site struct {
	Config
	Routes      *Routes
	Sets        map[string]*Set
	Order       []*Set // as given
	Description Description
	Made        time.Time

	LeftOut, Dropped atomic.Uint64 // entries and fields that documents omit
}

// SetDefaults gives the zero fields of d their defaults. It fails if a field is invalid.
func (d *Division) SetDefaults() error {
	if d.PageSize = cmp.Or(d.PageSize, 10_000); d.PageSize < 1 || d.PageSize > rsxml.MaxEntries {
		return fmt.Errorf("PageSize %d: must be 1 to %d", d.PageSize, rsxml.MaxEntries)
	}
	if min(d.Window, d.PackageEvery) < 0 || d.PackageSize < 0 {
		return errors.New("of the fields of Division, only Settle may be negative")
	}
	d.Window = cmp.Or(d.Window, 24*time.Hour)
	d.Settle = cmp.Or(d.Settle, time.Minute)
	d.PackageSize = cmp.Or(d.PackageSize, 16<<20)
	d.PackageEvery = cmp.Or(d.PackageEvery, time.Hour)
	return nil
}

// NewSite returns the documents of sets.
func NewSite(c Config, sets []Given) (*Site, error) {
	if err := c.Division.SetDefaults(); err != nil {
		return nil, err
	}
	c.RenderTimeout, c.Log = cmp.Or(c.RenderTimeout, time.Minute), cmp.Or(c.Log, slog.Default())
	if strings.ContainsAny(c.Base.Path, "{}") {
		return nil, fmt.Errorf("base URL %q must not have a path with { or }", c.Base) // of templates
	}
	s := &Site{Config: c, Sets: make(map[string]*Set, len(sets)), Made: time.Now()}
	if len(sets) == 0 {
		return nil, errors.New("a Source needs at least one set")
	}
	if field, err := c.About.Check(); err != nil {
		return nil, fmt.Errorf("%s of About: %w", field, err)
	}
	for _, g := range sets {
		st, err := newSet(s, g, len(sets) == 1)
		if err != nil {
			return nil, err
		}
		if s.Sets[st.Name] != nil {
			return nil, fmt.Errorf("two sets have the name %q", st.Name)
		}
		s.Sets[st.Name] = st
		s.Order = append(s.Order, st)
	}
	channels := slices.ContainsFunc(s.Order, func(st *Set) bool { return len(st.Channels()) > 0 })
	s.Routes = newRoutes(c.Base, s.Order[0].Name != "", c.Static, kinds(&s.Config, &s.Description, channels))
	return s, s.Describe(s.Order)
}

// NewPlanner returns a planner of the packages of s that plans some of them at the same time.
func (s *Site) NewPlanner(concurrency int, c *packages.Counters) *packages.Planner[*State] {
	return packages.NewPlanner[*State](packages.Options{Size: s.packageSize(), Concurrency: concurrency, Wait: s.Wait, ReadTimeout: s.RenderTimeout}, c)
}

// URLs returns the public URLs of the documents of a kind, one of each set.
func (s *Site) URLs(kind string) []string {
	if s.Routes.Kinds[kind] == nil {
		return nil
	}
	var all []string
	for _, st := range s.Order {
		all = append(all, st.URL(kind, ""))
	}
	return all
}

func (s *Site) packageSize() packages.Size { return packages.Size(s.Division.PackageSize) }

// RunSets does the background work of the sets until ctx ends.
func (s *Site) RunSets(ctx context.Context) error {
	var running sync.WaitGroup
	for _, st := range s.Order {
		running.Go(func() { st.Pages.Run(ctx, s.Log) })
		if st.Opener != nil {
			running.Go(func() { st.Packages.Run(ctx, s.Log) })
		}
		if st.Has(resourcesync.ChangeDump) {
			running.Go(func() { st.ChangePackages.Run(ctx, s.Log) })
		}
		if st.Watcher != nil {
			running.Go(func() {
				st.Covered.Watch(true)
				defer st.Covered.Watch(false)
				background.Watch(ctx, st.Watcher.Watch, func() {
					st.Pages.Wake()
					st.Packages.Wake()
					st.Covered.Wake()
				}, st.Log.With("set", st.Name), "watching a set has ended; restarting")
			})
		}
	}
	running.Wait()
	return nil
}
