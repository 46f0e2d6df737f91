package main

import (
	"context"
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
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A publication is a folder as a Source.
type publication struct {
	folder  *dir.Dir
	set     *memory.Set
	source  *rshttp.Source
	scanner *scanner
	log     *slog.Logger

	path         string // of the folder
	resourceList string // its URL
	reserved     []place
	warned       map[place]bool // of what is in them
}

// A place in a folder is the key of a file, or of a folder. Where it is reserved,
// documents have the URLs of what is there, which cannot be published.
type place struct {
	key   string
	isDir bool
}

// publish puts together what c asks for. The first scan has yet to come.
func publish(c *serveConfig, screen *screen, log *slog.Logger) (*publication, error) {
	documents := c.baseURL + strings.TrimPrefix(c.prefix, "/")
	p := &publication{
		set:          memory.New(&memory.Options{AwaitScan: true}),
		log:          log,
		path:         c.folder,
		resourceList: documents + "resourcelist.xml",
		reserved:     reservedPlaces(c),
		warned:       make(map[place]bool),
	}
	p.scanner = &scanner{set: p.set, list: p.list, rescan: c.rescan, log: log}
	o := &dir.Options{
		Hashes:   c.hashes,
		DotFiles: c.dotFiles,
		Exclude:  func(key string, isDir bool) bool { return slices.Contains(p.reserved, place{key, isDir}) },
		Known: func(_ context.Context, key string) (resourcesync.Resource, bool, error) {
			r, ok := p.set.Get(key)
			return r, ok, nil
		},
		Logger: log,
	}
	if screen.terminal {
		o.Progress = func(now dir.Progress) {
			if !p.scanner.complete {
				screen.status(fmt.Sprintf("Looking through the folder: %d files, %d MB read", now.Files, now.Bytes/1e6))
			}
		}
	}
	var err error
	if p.folder, err = dir.Open(c.folder, c.baseURL, o); err != nil {
		return nil, usageError{err}
	}
	p.scanner.watch = p.folder.Watch
	p.source, err = rshttp.New(documents, []rshttp.Set{{Provider: p.set}}, &rshttp.Options{
		PageSize: c.pageSize,
		Sitemap:  c.sitemap,
		Robots:   c.sitemap,
		Logger:   log,
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
	return p.folder.Resources(ctx)
}

// readyLine says where to begin.
func (p *publication) readyLine() string {
	return fmt.Sprintf("Ready (files: %d). Source Description: %s Resource List: %s", p.set.Len(), p.source.Description(), p.resourceList)
}

// handler serves the documents and the files.
func (p *publication) handler() http.Handler {
	files := p.folder.Handler()
	all, linked := p.source.Wrap(files), p.source.Link(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A robots.txt in the folder is a resource like any other: with
		// sitemaps added to it, what is listed of it would not be true.
		if r.URL.Path == "/robots.txt" && p.folder.Covers(r.URL) {
			linked.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
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
