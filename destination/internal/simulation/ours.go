package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/static"
)

// ours is a Source of this module.
type ours struct {
	http.Handler
	put    []func(resourcesync.Resource) error // by set
	delete []func(key string) error

	static *static.Source // or nil
	folder string         // of its documents
	log    *slog.Logger
	stop   func()
}

// changesPerList is the number of entries of a page or Change List, and window is the time of a
// Change List. They are small, so that there are several.
const (
	changesPerList = 3
	window         = time.Hour
)

func newOurs(w *World) (*ours, error) {
	o := &ours{folder: filepath.Join(w.disk, "static"), log: slog.New(slog.DiscardHandler), stop: func() {}}
	now := func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now() // a lastmod of the log is never in the future
	}
	sets, err := o.sets(w, now)
	if err != nil {
		return nil, err
	}
	options := &rshttp.Options{Division: rshttp.Division{PageSize: changesPerList, Window: window, PackageEvery: time.Minute}, Logger: o.log, Pages: rshttp.Pages{Off: true}}
	if w.Source == "static" {
		files := make([]static.Set, len(sets))
		for i, s := range sets {
			files[i] = static.Set{Name: s.Name, Provider: s.Provider, Opener: s.Opener, ChangeOpener: s.ChangeOpener}
		}
		o.static, err = static.New(Site+"resourcesync/", files, &static.SourceOptions{Division: static.Division(options.Division), Logger: o.log})
		o.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { o.serveFile(w, rw, r) })
		return o, err
	}
	src, err := rshttp.New(Site+"resourcesync/", sets, options)
	if err == nil {
		o.Handler = src.Wrap(http.HandlerFunc(w.serveResource))
	}
	return o, err
}

// sets returns the sets of the Source.
func (o *ours) sets(w *World, now func() time.Time) (sets []rshttp.Set, err error) {
	var store *sqlstore.Store
	if w.Source == "sqlite" {
		if store, err = o.openStore(w, now); err != nil {
			return nil, err
		}
	}
	for i := range w.sets() {
		s := rshttp.Set{Name: fmt.Sprintf("set%d", i)}
		var set scan.Stored = memory.New(&memory.Options{Window: window, Now: now})
		if store != nil {
			if set, err = store.Set(context.Background(), s.Name, nil); err != nil {
				return nil, err
			}
		}
		s.Provider = set
		o.put = append(o.put, func(r resourcesync.Resource) error { return set.Put(context.Background(), r) })
		o.delete = append(o.delete, func(key string) error { return set.Delete(context.Background(), key) })
		if !w.NoHash {
			s.Opener, s.ChangeOpener = contents{w}, contents{w}
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// emptyStore is the file of a store without sets. Creating it takes long.
var emptyStore = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "source.db")
	store, err := sqlitestore.OpenFile(context.Background(), file, nil)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// openStore opens a store without running it. A running store would wait for the disk, and virtual
// time would stand still.
func (o *ours) openStore(w *World, now func() time.Time) (*sqlstore.Store, error) {
	text, err := emptyStore()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(w.disk, "source.db")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	store, err := sqlitestore.OpenFile(context.Background(), file, &sqlstore.Options{Window: window, Now: now, Logger: o.log})
	if err == nil {
		o.stop = func() { store.Close() }
	}
	return store, err
}

func (o *ours) close() { o.stop() }

// note applies the change in the log to a set, and writes the documents of a static
// Source.
func (o *ours) note(w *World, e *entry) error {
	switch e.verb {
	case "created", "updated":
		r := resourcesync.Resource{Key: e.name, URI: e.uri(), LastModified: e.lastmod}
		text := e.content()
		if !w.NoLength {
			r.Length = resourcesync.Bytes(int64(len(text)))
		}
		if !w.NoHash {
			r.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: e.digest()}}
		}
		return o.put[e.set](r)
	case "deleted":
		return o.delete[e.set](e.name)
	case "publish":
		if o.static == nil {
			return nil
		}
		_, err := static.Write(context.Background(), o.folder, o.static, &static.Options{DumpEvery: -1, Logger: o.log})
		return err
	}
	return nil
}

// serveFile serves the file of a document, or a resource.
func (o *ours) serveFile(w *World, rw http.ResponseWriter, r *http.Request) {
	name := filepath.Join(o.folder, filepath.FromSlash(r.URL.Path))
	text, err := os.ReadFile(name)
	if err != nil {
		w.serveResource(rw, r)
		return
	}
	info, err := os.Stat(name)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	serve(rw, r, text, w.Documents, info.ModTime())
}

// contents opens the content of all versions.
type contents struct{ w *World }

// Open implements [resourcesync.Opener].
func (c contents) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for _, e := range c.w.log {
		if e.name != "" && e.uri() == r.URI && len(r.Hashes) > 0 && e.digest() == r.Hashes[0].Digest {
			return io.NopCloser(bytes.NewReader(e.content())), nil
		}
	}
	return nil, fs.ErrNotExist
}

// OpenChange implements [resourcesync.ChangeOpener].
func (c contents) OpenChange(ctx context.Context, change resourcesync.Change) (io.ReadCloser, error) {
	return c.Open(ctx, change.Resource)
}

// A cached document is one that a cache may return later.
type cached struct {
	when time.Time
	text string
}

// remember keeps a document of a Source of ours for caches.
func (w *World) remember(name, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache[name] = append(w.cache[name], cached{time.Now(), text})
}

// serveOld serves the version of a document that a cache has at the moment of r.
func (w *World) serveOld(rw http.ResponseWriter, r *http.Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.cache[strings.TrimPrefix(r.URL.Path, "/")]
	for i := len(all) - 1; i >= 0; i-- {
		if !all[i].when.After(asOf(r)) {
			serve(rw, r, []byte(all[i].text), "none", time.Time{})
			return nil
		}
	}
	return errors.New("there is no older document")
}
