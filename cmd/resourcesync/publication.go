package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// A publication is a folder or a website as a Source.
type publication struct {
	folder   *dir.Dir        // nil if a website is published
	site     *sitemap.Site   // nil if a folder is
	versions *versions.Store // nil if none are kept
	set      *shownSet
	source   *rshttp.Source
	sockets  *websocket.Server // nil if there are none
	scanner  *scanner
	first    *firstScan
	healthz  *healthHandler
	screen   *screen
	log      *slog.Logger

	handler     http.Handler // of the documents, the hub and the folder or website
	certificate *certificate // nil for http
	uploads     bool         // the handler bounds the bodies of requests

	from      slog.Attr // the folder or the web server
	path      string    // of the folder
	state     string    // its place, for messages
	shared    bool      // the state, with other processes
	baseURL   string
	base      *url.URL // baseURL, parsed
	documents *url.URL // the base of the documents
	robots    bool     // robots.txt names lists
	reserved  []place
	robotsLog sparse.Log
	warned    map[place]bool // reserved places whose files have been logged
}

// newPublication returns what the publications of serve and proxy have in common.
func newPublication(c *serveConfig, st *state, screen *screen, log *slog.Logger) (*publication, error) {
	base, err := url.Parse(c.baseURL)
	if err != nil {
		return nil, usageError{err}
	}
	p := &publication{
		set:       &shownSet{Set: st.set},
		screen:    screen,
		log:       log,
		state:     st.place,
		shared:    st.shared,
		baseURL:   c.baseURL,
		base:      base,
		documents: base.JoinPath(c.prefix),
	}
	p.scanner = &scanner{set: p.set, rescan: c.rescan, kept: st.set.Kept, log: log}
	p.healthz = &healthHandler{log: log, check: p.health}
	return p, nil
}

func (c *serveConfig) publication(_ context.Context, st *state, screen *screen, log *slog.Logger) (*publication, error) {
	p, err := newPublication(c, st, screen, log)
	if err != nil {
		return nil, err
	}
	p.path, p.from = c.folder, slog.String("folder", c.folder)
	p.robots = c.robots || c.sitemap
	p.warned = make(map[place]bool)
	o := &dir.Options{
		Hashes:   c.hashes,
		DotFiles: c.dotFiles,
		Exclude:  func(key string, isDir bool) bool { return slices.Contains(p.reserved, place{key, isDir}) },
		Known:    p.set.Known,
		Logger:   log,
	}
	if c.keep > 0 {
		if p.versions, err = openVersions(c, st); err != nil {
			return nil, err
		}
		o.Keep = p.keepVersion
	}
	p.first = &firstScan{screen: screen, log: log, count: p.toScan}
	o.Progress = func(now dir.Progress) {
		p.scanner.skipped.Store(now.Skipped)
		if !p.scanner.complete {
			p.first.report(now)
		}
	}
	if p.folder, err = dir.Open(c.folder, c.baseURL, o); err != nil {
		return nil, usageError{err}
	}
	p.scanner.list, p.scanner.part, p.scanner.count, p.scanner.watch = p.list, p.folder.Part, p.count, p.folder.Watch
	set := rshttp.Set{Provider: p.set}
	if c.dumps {
		set.Opener = p.folder
	}
	if p.versions != nil {
		set.ChangeOpener = history{p.versions, p.folder}
		set.Memento = true
	}
	if err := p.newSource(c, st, set); err != nil {
		p.close()
		return nil, err
	}
	p.reserve(c)
	p.handler = p.withOwn(p.source.Wrap(p.withRobots(p.folder.Handler())), nil)
	return p, nil
}

func (p *publication) newSource(c *serveConfig, st *state, set rshttp.Set) (err error) {
	set.DescribedBy, set.Hubs = c.aboutSet, c.push.foreign
	o := &rshttp.Options{
		DescribedBy:         c.about,
		PageSize:            c.pageSize,
		PackageSize:         int64(c.pkgSize),
		Sitemap:             c.sitemap,
		Robots:              c.sitemap,
		RobotsResourceLists: c.robots,
		Store:               st,
		Logger:              p.log,
		PackageEvery:        time.Duration(c.pkgEvery),
	}
	if err := p.addPush(c, o); err != nil {
		return err
	}
	if p.source, err = rshttp.New(p.documents.String(), []rshttp.Set{set}, o); err != nil {
		return usageError{err}
	}
	return nil
}

func (p *publication) close() {
	if p.folder != nil {
		p.folder.Close()
	}
}

// list lists the folder. It logs files in reserved places once.
func (p *publication) list(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	for _, at := range p.reserved {
		path := filepath.Join(p.path, filepath.FromSlash(at.key))
		if info, err := os.Lstat(path); err == nil && info.IsDir() == at.isDir && !p.warned[at] {
			p.warned[at] = true
			if at == robotsFile {
				p.log.Info("not listed, because it is served with additional lines for the Resource List or the sitemap", "path", path)
			} else {
				p.log.Warn("not published, because ResourceSync documents have its URL", "path", path)
			}
		}
	}
	return func(yield func(resourcesync.Resource, error) bool) {
		if !p.scanner.complete {
			defer p.first.begin(ctx)()
		}
		if p.versions != nil { // here, where no other server of the site scans
			if err := p.versions.Prune(ctx); err != nil {
				p.log.Warn("old versions not removed", "error", err)
			}
		}
		p.folder.Resources(ctx)(yield)
	}
}

// toScan estimates the files that the first scan of this process lists, and the bytes
// that it reads: from the set if an earlier scan has filled it, or else by counting.
func (p *publication) toScan(ctx context.Context) (files, bytes int64, err error) {
	if p.set.shown.Load() {
		st, err := p.set.Stat(ctx, resourcesync.Range{})
		return st.Count, 0, err
	}
	return p.folder.Count(ctx)
}

// withOwn returns a handler that serves healthz, readyz and, if it is not nil, ping. It
// passes other requests to next. These paths are reserved for documents.
func (p *publication) withOwn(next, ping http.Handler) http.Handler {
	own := map[string]http.Handler{"healthz": p.healthz, "readyz": http.HandlerFunc(p.serveReady)}
	if ping != nil {
		own["ping"] = ping
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := next
		if name, ok := strings.CutPrefix(r.URL.Path, p.documents.Path); ok && own[name] != nil {
			h = own[name]
		}
		h.ServeHTTP(w, r)
	})
}

// health returns the errors that keep this process from publishing the folder or
// website and from sending notifications.
func (p *publication) health(ctx context.Context) error {
	kept, err := p.set.Kept(ctx)
	if err == nil {
		err = keptTrouble(kept)
	}
	err = errors.Join(p.scanner.health(), err, p.source.Health(ctx))
	if errors.Is(err, sqlstore.ErrDamaged) {
		err = errors.Join(err, fmt.Errorf("%w: stop serve, then restore a copy of %s, or delete it and the files beside it whose names begin with its name; serve then reads all files again, and the listed changes and the subscriptions are lost", errDamaged, p.state))
	}
	return err
}

// A shownSet is a set that is not ready until it is shown, because a state of another
// base URL has old URIs. All uses of a set call Stat first.
type shownSet struct {
	*sqlstore.Set
	shown atomic.Bool
	bell  background.Bell // the set is shown
}

func (s *shownSet) show() {
	s.shown.Store(true)
	s.bell.Ring()
}

// Watch implements [resourcesync.Watcher]. It also wakes when the set is shown.
func (s *shownSet) Watch(ctx context.Context, wake func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.bell.Listen(ctx, wake) })
	g.Go(func() error { return s.Set.Watch(ctx, wake) })
	return g.Wait()
}

func (s *shownSet) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if !s.shown.Load() {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return s.Set.Stat(ctx, r)
}

func (s *shownSet) Since(ctx context.Context) (time.Time, error) {
	if !s.shown.Load() {
		return time.Time{}, resourcesync.ErrNotReady
	}
	return s.Set.Since(ctx)
}

func (s *shownSet) Covers(u *url.URL) bool { return s.shown.Load() && s.Set.Covers(u) }
