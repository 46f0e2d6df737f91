// Package build writes the documents of a folder as files or as objects of a bucket.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/daemon"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/paths"
	"github.com/resourcesync-go/resourcesync/static"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// Run scans a folder and writes its documents as files or as objects of a bucket.
func (c *Config) Run(ctx context.Context, stdout, stderr io.Writer) error {
	if err := c.verify(); err != nil {
		return err
	}
	screen := terminal.New(stderr)
	log := terminal.NewLogger(screen, c.site.LogFormat)
	st, err := c.site.OpenState(ctx, log)
	if err != nil {
		return err
	}
	defer func() {
		if err := st.Close(); err != nil {
			log.Warn("state not closed", "error", err)
		}
	}()
	stop := runStore(ctx, st)
	defer stop()
	m, err := daemon.OpenMember(ctx, c.site, c.folder, st, screen, log)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := c.run(ctx, m, stdout); ctx.Err() == nil || err == nil {
		return err
	}
	return errors.New("stopped before all documents were written; run it again")
}

// runStore runs the background work of the state until the returned function is called.
func runStore(ctx context.Context, st *state.State) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { st.Store.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

func (c *Config) run(ctx context.Context, m *daemon.Member, stdout io.Writer) error {
	src, err := c.source(m)
	if err != nil {
		return settings.Errorf("%w", err)
	}
	reserved, err := c.reserved(m, src)
	if err != nil {
		return err
	}
	m.Reserve(reserved)
	if _, err := m.Scanned.Update(ctx); err != nil {
		return fmt.Errorf("the folder cannot be scanned, and no document has been changed: %w", err)
	}
	begun := time.Now()
	report, err := c.write(ctx, m, src)
	if errors.Is(err, static.ErrLocked) {
		err = fmt.Errorf("--out %q: %w; run this build again when that has ended", c.out, err)
		if len(report.Written)+len(report.Removed) == 0 {
			return err
		}
	}
	if errors.Is(err, objectstore.ErrTooLarge) {
		err = fmt.Errorf("--out %q: %w; leave large files out with --exclude, or leave out --dumps", c.out, err)
	}
	c.print(ctx, stdout, m, src, report, time.Since(begun))
	if err != nil {
		return err
	}
	kept, err := m.Scanned.Kept(ctx)
	if err != nil {
		return err
	}
	return kept.Err(c.folder.Question(), daemon.ConfirmCommand)
}

// write writes the documents to the folder or the bucket.
func (c *Config) write(ctx context.Context, m *daemon.Member, src *static.Source) (static.Report, error) {
	o := &static.Options{Gzip: c.gzip, Grace: orAtOnce(c.grace), DumpEvery: orAtOnce(c.dumpEvery), Logger: m.Log}
	if c.bucket == nil {
		return static.Write(ctx, c.out, src, o)
	}
	client, done, err := c.bucket.Objects(ctx)
	if err != nil {
		return static.Report{}, settings.Errorf("%w", err)
	}
	defer done()
	store, err := objectstore.New(client, &objectstore.Options{Prefix: c.bucket.Prefix, TryLock: m.State.LockOf(c.bucket.String()), Logger: m.Log})
	if err != nil {
		return static.Report{}, err
	}
	return static.WriteTo(ctx, store, src, o)
}

// source returns the documents of m.
func (c *Config) source(m *daemon.Member) (*static.Source, error) {
	set := m.Published(c.site)
	return static.New(m.Documents.String(), []static.Set{{
		Name: set.Name, Provider: set.Provider, Stater: set.Stater, Cutter: set.Cutter, Changer: set.Changer,
		Opener: set.Opener, ChangeOpener: set.ChangeOpener, DescribedBy: set.DescribedBy,
	}}, &static.SourceOptions{
		DescribedBy:   c.site.DescribedBy,
		Division:      static.Division(c.site.Division()),
		PlainSitemaps: c.site.Sitemap,
		RenderTimeout: time.Hour, // no client waits
		Logger:        m.Log,
	})
}

// reserved returns the URL paths that resources must not have: the paths of the documents, and
// of the folder with the documents if it is in the published one.
func (c *Config) reserved(m *daemon.Member, src *static.Source) ([]string, error) {
	taken := []string{wellknown.Path}
	for _, name := range static.OwnFiles() { // beside the documents
		taken = append(taken, m.Documents.Path+name)
	}
	if c.site.Prefix != "/" {
		taken = append(taken, m.Documents.Path)
	} else {
		for _, path := range src.Paths() {
			taken = append(taken, m.Documents.Path+path)
		}
	}
	if c.bucket != nil {
		return taken, nil
	}
	published, err := paths.Real(c.folder.Dir)
	if err != nil {
		return nil, err
	}
	out, err := paths.Real(c.out)
	if err != nil {
		return nil, err
	}
	if inside, err := filepath.Rel(published, out); err == nil && inside != "." && filepath.IsLocal(inside) {
		taken = append(taken, m.Base.Path+filepath.ToSlash(inside)+"/")
	}
	return taken, nil
}
