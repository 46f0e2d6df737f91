package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/scan"
)

var (
	_ scan.Origin         = (*Origin)(nil)
	_ scan.Binder         = (*Origin)(nil)
	_ scan.Filler         = (*Origin)(nil)
	_ scan.Watcher        = (*Origin)(nil)
	_ scan.Runner         = (*Origin)(nil)
	_ scan.Healther       = (*Origin)(nil)
	_ scan.Progresser     = (*Origin)(nil)
	_ scan.Identifier     = (*Origin)(nil)
	_ resourcesync.Opener = (*Origin)(nil)
)

// patience is how long single resources that cannot be copied keep a new set from being shown.
const patience = time.Hour

// Options are the optional arguments of [New]. The zero value is valid.
type Options struct {
	// Destination has the options of the Destination. State is in the folder of the copies if
	// empty. Logger also receives the copies that cannot be published. Progress is not used,
	// nor is MaxDelete: the guard of the set decides about deletions (scan.Options).
	Destination destination.Options

	// Every is the interval at which the Source is read, even if it sends nothing. If zero, 15
	// minutes is used.
	Every time.Duration

	// Callback receives the notifications of the hubs of the Source. The program serves it at its
	// URL, and any number of Origins can share it. If nil, or if the Source has no hub, the Source
	// is followed by WebSocket if it has one, and otherwise read at Every.
	Callback *destination.Callback

	// Exclude reports whether another handler has the path of a URL below the base, so that
	// no copy can be published there. It is called at any time, by several goroutines. If
	// nil, no path is excluded.
	Exclude func(path string) bool
}

// An Origin publishes the copies of a Source as one set: a [scan.Origin], and the
// [http.Handler] of the copies. Methods are safe for concurrent use.
//
//	library, err := replica.New("https://library.example.org/", "https://example.org/library/", "copies", nil)
//	set, err := scan.Into(ctx, store, "library", library, nil)
//	src, err := rshttp.New(base, []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store})
//	server := &http.Server{Handler: src.Wrap(library)}
//
// The set is not ready before the copy is complete. Single resources that cannot be copied delay
// that for an hour at most, and [Origin.Health] names them as long as they fail. A resource that
// the Source no longer lists stays in the copy until the set publishes its deletion.
type Origin struct {
	aggregator *Aggregator
	source     string
	options    Options
	folder     *destination.Folder
	sink       destination.Sink
	set        *filled

	mu       sync.RWMutex             // held while the Destination is used
	d        *destination.Destination // nil if it is closed
	complete chan struct{}            // closed when the copy has been complete in this process
	tried    time.Time                // when resources of a new set could not be copied for the first time
	patience time.Duration

	following atomic.Bool   // Watch has the Source read
	hint      chan struct{} // of Changed
	hinted    atomic.Bool   // the next Fill reads the Source
	last      atomic.Pointer[outcome]
	progress  atomic.Pointer[destination.Progress]
}

// An outcome is the result of the last Sync.
type outcome struct {
	report *destination.Report
	err    error
}

// New returns the Origin of the Source at a URL. Its copies are kept in folder, and
// published at URIs that begin with base. No request is sent before the set runs. o may be nil.
// Callers close the Origin after the set has stopped.
func New(source, base, folder string, o *Options) (*Origin, error) {
	g := &Origin{source: source, set: new(filled), patience: patience, complete: make(chan struct{}), hint: make(chan struct{}, 1)}
	if o != nil {
		g.options = *o
	}
	if g.options.Every < 0 {
		return nil, fmt.Errorf("replica: Every %v is negative", g.options.Every)
	}
	u, err := url.Parse(source)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("replica: %q is not the URL of a Source, like https://example.org/", source)
	}
	d := &g.options.Destination
	d.Progress = func(now destination.Progress) { g.progress.Store(&now) }
	d.MaxDelete = math.SmallestNonzeroFloat64 // all are held until the set has published them
	d.State = cmp.Or(d.State, filepath.Join(folder, ".resourcesync"))
	if g.aggregator, err = newAggregator(base, g.set, d.Logger); err != nil {
		return nil, err
	}
	g.aggregator.exclude = g.options.Exclude
	if g.folder, err = destination.OpenFolder(folder); err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	g.sink = g.aggregator.sink("", g.folder)
	return g, nil
}

// Close closes the folder of the copies.
func (g *Origin) Close() error { return errors.Join(g.closeDestination(), g.folder.Close()) }

func (g *Origin) closeDestination() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.d != nil {
		err = g.d.Close()
		g.d = nil
	}
	return err
}

// Identity implements [scan.Identifier].
func (g *Origin) Identity() scan.Identity {
	return scan.Identity{Name: "the Source " + g.source, URIs: g.aggregator.base}
}

// Bind implements [scan.Binder]. Nothing else may change set.
func (g *Origin) Bind(_ context.Context, set scan.Stored, _ func(context.Context, string) (scan.Stored, error)) error {
	g.set.stored = set
	return nil
}

// use opens the Destination if it is closed, and keeps it open until done is called. If another
// process uses the copy, the error is ErrScanning.
func (g *Origin) use(ctx context.Context) (d *destination.Destination, done func(), err error) {
	if g.set.stored == nil {
		return nil, nil, errUnbound
	}
	for {
		if g.mu.RLock(); g.d != nil {
			return g.d, g.mu.RUnlock, nil
		}
		g.mu.RUnlock()
		g.mu.Lock()
		if err = ctx.Err(); err == nil && g.d == nil {
			g.d, err = destination.New(g.source, g.sink, &g.options.Destination)
		}
		g.mu.Unlock()
		switch {
		case errors.Is(err, destination.ErrInUse):
			return nil, nil, resourcesync.ErrScanning
		case err != nil:
			return nil, nil, err
		}
	}
}

var errUnbound = errors.New("replica: the Origin has no set: call Bind first")

// Watch implements [scan.Watcher]: it follows the Source once the copy is complete. Changes of the
// copy enter the set at once. changed is called after [Origin.Changed], and when reading the Source
// fails, succeeds again, or holds deletions.
func (g *Origin) Watch(ctx context.Context, changed func(paths []string)) error {
	select {
	case <-ctx.Done():
		return nil
	case <-g.complete:
	}
	d, done, err := g.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	g.following.Store(true)
	defer g.following.Store(false)
	var hints sync.WaitGroup
	defer hints.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	hints.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-g.hint:
				g.hinted.Store(true)
				changed(nil)
			}
		}
	})
	return d.Follow(ctx, &destination.FollowOptions{Every: g.options.Every, Callback: g.options.Callback, Report: func(report *destination.Report, err error) {
		before := g.last.Load()
		if report.Sets == 0 { // notifications say nothing about these
			report.Gone, report.Held = before.report.Gone, before.report.Held
		}
		g.last.Store(&outcome{report, err})
		if (err == nil) != (before.err == nil) || report.Held != before.report.Held {
			changed(nil)
		}
	}})
}

// Changed has the Source read soon: for a Source that sends no notifications, but pings. It does not
// block. The URLs are ignored: the Source lists the changes.
func (g *Origin) Changed(...*url.URL) { background.Signal(g.hint) }

// Run implements [scan.Runner]: it closes the Destination when ctx ends, so that another process can
// use it.
func (g *Origin) Run(ctx context.Context) error {
	<-ctx.Done()
	return g.closeDestination()
}

// Health implements [scan.Healther]. It names the Source, and the resources that are not copied.
func (g *Origin) Health() error {
	now := g.last.Load()
	if now == nil || now.err != nil {
		return nil // the scan reports it
	}
	var all []error
	if now.report.Failed > 0 {
		all = append(all, g.failing(now.report))
	}
	for _, gone := range now.report.Gone {
		if !gone.Held {
			all = append(all, g.named(fmt.Errorf("the Source no longer names the set %s, and its %d resources are kept: %s", gone.URI, gone.Resources, gone.Reason)))
		}
	}
	return errors.Join(all...)
}

// failing returns the error of resources that cannot be copied.
func (g *Origin) failing(r *destination.Report) error {
	err := fmt.Errorf("%d of its resources could not be copied", r.Failed)
	if len(r.Failures) > 0 {
		err = fmt.Errorf("%w, such as %s: %s", err, r.Failures[0].URI, r.Failures[0].Error)
	}
	return g.named(err)
}

func (g *Origin) named(err error) error { return fmt.Errorf("the Source %s: %w", g.source, err) }

// Progress implements [scan.Progresser].
func (g *Origin) Progress() (p scan.Progress) {
	if now := g.progress.Load(); now != nil {
		p.Resources, p.Bytes = now.Done, now.Bytes
	}
	if now := g.last.Load(); now != nil {
		p.Skipped = now.report.Failed
	}
	return p
}

// Open implements [resourcesync.Opener].
func (g *Origin) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return g.aggregator.Open(ctx, r)
}

// ServeHTTP serves the published copies, as [Aggregator.ServeHTTP] does.
func (g *Origin) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.aggregator.ServeHTTP(w, r) }
