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

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A publication is a folder as a Source.
type publication struct {
	store    *sqlstore.Store
	folder   *dir.Dir
	versions *versions.Store // nil if none are kept
	set      *shownSet
	push     *push
	source   *rshttp.Source
	scanner  *scanner
	healthz  *healthHandler
	screen   *screen
	log      *slog.Logger

	path      string // of the folder
	baseURL   string
	documents *url.URL // below which they are
	reserved  []place
	warned    map[place]bool // of what is in them
}

// A place in a folder is the key of a file, or of a folder. Where it is reserved,
// documents have the URLs of what is there, which cannot be published.
type place struct {
	key   string
	isDir bool
}

// publish puts together what c asks for. The first scan has yet to come.
func publish(c *serveConfig, st *state, screen *screen, log *slog.Logger) (*publication, error) {
	documents, err := url.Parse(c.baseURL + strings.TrimPrefix(c.prefix, "/"))
	if err != nil {
		return nil, usageError{err}
	}
	p := &publication{
		store:     st.store,
		set:       &shownSet{Set: st.set},
		screen:    screen,
		log:       log,
		path:      c.folder,
		baseURL:   c.baseURL,
		documents: documents,
		reserved:  reservedPlaces(c),
		warned:    make(map[place]bool),
	}
	p.scanner = &scanner{set: p.set, list: p.list, rescan: c.rescan, count: p.count, log: log}
	p.healthz = &healthHandler{log: log, check: p.health}
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
	if screen.terminal {
		o.Progress = func(now dir.Progress) {
			if !p.scanner.complete {
				screen.status(fmt.Sprintf("Looking through the folder: %d files, %d MB read", now.Files, now.Bytes/1e6))
			}
		}
	}
	if p.folder, err = dir.Open(c.folder, c.baseURL, o); err != nil {
		return nil, usageError{err}
	}
	p.scanner.watch = p.folder.Watch
	if p.push, err = newPush(c, st, log); err != nil {
		p.close()
		return nil, err
	}
	set := rshttp.Set{Provider: p.set, Hubs: p.push.hubs}
	if c.dumps {
		set.Opener = p.folder
	}
	if p.versions != nil {
		set.ChangeOpener = history{p.versions, p.folder}
	}
	p.source, err = rshttp.New(documents.String(), []rshttp.Set{set}, &rshttp.Options{
		PageSize:     c.pageSize,
		PackageSize:  int64(c.pkgSize),
		TransferRate: int64(c.dumpRate),
		Sitemap:      c.sitemap,
		Robots:       c.sitemap,
		Outbox:       st.outbox,
		WebSocket:    p.push.feed,
		Logger:       log,
	})
	if err != nil {
		p.close()
		return nil, usageError{err}
	}
	return p, nil
}

func (p *publication) close() { p.folder.Close() }

// list lists the folder. Of what is in a reserved place it warns once, whenever
// that appears.
func (p *publication) list(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	for _, at := range p.reserved {
		path := filepath.Join(p.path, filepath.FromSlash(at.key))
		if info, err := os.Lstat(path); err == nil && info.IsDir() == at.isDir && !p.warned[at] {
			p.warned[at] = true
			p.log.Warn("not published, because its address is that of ResourceSync documents", "path", path)
		}
	}
	return func(yield func(resourcesync.Resource, error) bool) {
		defer p.screen.status("")
		p.pruneVersions(ctx) // here, where no other server of the site scans
		p.folder.Resources(ctx)(yield)
	}
}

// count returns the number of files in the set, and ErrNotReady if it cannot be
// shown before a scan: if there has never been one, or if the state is of another
// base URL. Then its URIs are of the site as it was.
func (p *publication) count(ctx context.Context) (int64, error) {
	st, err := p.set.Set.Stat(ctx, resourcesync.Range{})
	if err != nil || p.scanner.complete {
		return st.Count, err
	}
	for r, err := range p.set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			return 0, err
		}
		path, ok := strings.CutPrefix(r.URI, p.baseURL)
		if key, err := url.PathUnescape(path); !ok || err != nil || key != r.Key {
			return 0, resourcesync.ErrNotReady
		}
	}
	return st.Count, nil
}

// readyLine says where to begin.
func (p *publication) readyLine(files int64) string {
	return fmt.Sprintf("Ready (files: %d). Source Description: %s Resource List: %s", files, p.source.Description(), p.documents.JoinPath("resourcelist.xml"))
}

// handler serves the documents, the hub and the files, and tells whether all is
// well.
func (p *publication) handler() http.Handler {
	files := p.folder.Handler()
	all, linked := p.source.Wrap(files), p.source.Link(files)
	healthz := p.documents.JoinPath("healthz").Path // in a place that is reserved for documents
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == healthz:
			p.healthz.ServeHTTP(w, r)
		case p.push.own != nil && r.URL.Path == p.push.path:
			p.push.own.ServeHTTP(w, r)
		// A robots.txt in the folder is a resource like any other: with
		// sitemaps added to it, what is listed of it would not be true.
		case r.URL.Path == "/robots.txt" && p.folder.Covers(r.URL):
			linked.ServeHTTP(w, r)
		default:
			all.ServeHTTP(w, r)
		}
	})
}

// health returns what keeps this process from publishing what is in the folder and
// from telling of changes.
func (p *publication) health(ctx context.Context) error {
	err := errors.Join(p.scanner.health(), p.store.Health(ctx))
	if publisher := p.source.Push(); publisher != nil {
		err = errors.Join(err, publisher.Health(ctx))
	}
	return err
}

// reservedPlaces are the folder of the prefix, and the file of the well-known URI
// if that is below the base URL and dot-files are published.
func reservedPlaces(c *serveConfig) []place {
	reserved := []place{{strings.Trim(c.prefix, "/"), true}}
	if base, err := url.Parse(c.baseURL); err == nil && c.dotFiles {
		if key, ok := strings.CutPrefix(wellknown.Path, base.Path); ok {
			reserved = append(reserved, place{key, false})
		}
	}
	return reserved
}
