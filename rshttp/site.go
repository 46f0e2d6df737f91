package rshttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/packages"
)

// A config is all that documents depend on beside the data of the sets.
type config struct {
	Base          *url.URL // of the folder of the documents, with a slash at its end
	Division      division
	DescribedBy   string // URI
	PlainSitemaps bool   // Resource Lists also exist as plain sitemaps
	HTML          bool   // documents have HTML pages
	Sockets       bool   // channels are also served by WebSockets
	Static        bool   // the names of parts are short, and do not depend on the case of letters

	Wait          time.Duration // for the division of a set; negative for none
	RenderTimeout time.Duration
	Tracer        resourcesync.Tracer // or nil
	Log           *slog.Logger
}

// A division is how lists and dumps are divided.
type division struct {
	PageSize     int
	Window       time.Duration
	Settle       time.Duration
	PackageSize  int64
	PackageEvery time.Duration
}

// A site is the documents of a Source.
type site struct {
	config
	routes      *routes
	sets        map[string]*set
	order       []*set // as given
	description description
	made        time.Time

	leftOut, dropped atomic.Uint64 // entries and fields that documents omit
}

func newSite(c config, sets []given) (*site, error) {
	s := &site{config: c, sets: make(map[string]*set, len(sets)), made: time.Now()}
	if len(sets) == 0 {
		return nil, errors.New("a Source needs at least one set")
	}
	for _, g := range sets {
		st, err := newSet(s, g, len(sets) == 1)
		if err != nil {
			return nil, err
		}
		if s.sets[st.Name] != nil {
			return nil, fmt.Errorf("two sets have the name %q", st.Name)
		}
		s.sets[st.Name] = st
		s.order = append(s.order, st)
	}
	channels := slices.ContainsFunc(s.order, func(st *set) bool { return len(st.channels()) > 0 })
	s.routes = newRoutes(c.Base, s.order[0].Name != "", c.Static, kinds(&s.config, &s.description, channels))
	return s, s.description.write(s)
}

func (s *site) packageSize() packages.Size { return packages.Size(s.Division.PackageSize) }

// runSets does the background work of the sets until ctx ends.
func (s *site) runSets(ctx context.Context) error {
	var running sync.WaitGroup
	for _, st := range s.order {
		running.Go(func() { st.pages.Run(ctx, s.Log) })
		if st.Opener != nil {
			running.Go(func() { st.packages.Run(ctx, s.Log) })
		}
		if st.has(resourcesync.ChangeDump) {
			running.Go(func() { st.changePackages.Run(ctx, s.Log) })
		}
		if st.Watcher != nil {
			running.Go(func() {
				background.Watch(ctx, st.Watcher.Watch, func() {
					st.pages.Wake()
					st.packages.Wake()
				}, st.Log.With("set", st.Name), "watching a set has ended; restarting")
			})
		}
	}
	running.Wait()
	return nil
}
