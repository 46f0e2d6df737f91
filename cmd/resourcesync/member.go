package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// confirmCommand confirms held deletions.
const confirmCommand = "resourcesync confirm-deletions"

// A member is a set that is being published.
type member struct {
	*originSet
	config  setConfig
	daemon  *daemon
	content *content
	ready   func(resources int64) // called once
	isReady atomic.Bool           // ready was called
}

// openAlone opens the parts of a set that no daemon publishes. Nothing runs yet, and nothing is recorded.
func openAlone(ctx context.Context, c *siteConfig, set setConfig, st *state.State, screen *terminal.Screen, log *slog.Logger) (*member, error) {
	return openMember(ctx, &daemon{state: st, screen: screen, log: log}, c, set)
}

// openMember opens the parts of a set. Nothing runs yet, and nothing is recorded.
func openMember(ctx context.Context, p *daemon, c *siteConfig, config setConfig) (*member, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	s := config.shared()
	set := &originSet{
		name: s.name, log: p.log, state: p.state, callback: p.callback,
		base: base, hub: base.Path + ownHub, documents: base.JoinPath(c.prefix),
		retained: max(c.retain, c.archive), window: c.window,
	}
	m := &member{originSet: set, config: config, daemon: p, ready: func(int64) {}}
	if s.path != "" {
		m.base = base.JoinPath(s.path)
	}
	if s.name != "" {
		m.documents = m.documents.JoinPath(s.name + "/")
	}
	m.baseURL = m.base.String()
	if m.name != "" {
		m.log = m.log.With("set", m.name)
	}
	if m.stored, err = c.openSet(ctx, p.state, config); err != nil {
		return nil, named(m.name, err)
	}
	if m.content, err = config.open(ctx, set); err != nil {
		return nil, named(m.name, err)
	}
	if m.content.origin != nil {
		if err := m.scanInto(ctx); err != nil {
			return nil, named(m.name, errors.Join(err, m.close()))
		}
	}
	return m, nil
}

// scanInto joins the origin and the stored set.
func (m *member) scanInto(ctx context.Context) (err error) {
	c, st := m.config.shared(), m.state
	first := &firstScan{screen: m.daemon.screen, log: m.log, name: m.name, unit: m.content.unit + "s"}
	limits := c.storeOptions()
	o := &scan.Options{
		Every:         c.rescan,
		MaxDelete:     limits.MaxDelete,
		MaxDeleteHold: limits.MaxDeleteHold,
		Moved:         c.moved,
		Shared:        st.Shared,
		NoDumps:       !c.dumps,
		Progress:      first.report,
		Confirm:       confirmCommand,
		Logger:        m.log,
	}
	if metrics := m.daemon.metrics; metrics != nil {
		o.Observe = func(r scan.Result) {
			if r.Part {
				metrics.ScannedPart(m.name, r.ScanResult)
			} else {
				metrics.Scanned(m.name, r.Took, r.ScanResult, r.Err)
			}
		}
	}
	m.scanned, err = scan.Into(ctx, st.Store, m.stored.Name(), m.content.origin, o)
	if other, ok := errors.AsType[*scan.OriginError](err); ok {
		return refuseOrigin(st, c, other)
	}
	return err
}

// run keeps the set up to date until ctx ends.
func (m *member) run(ctx context.Context) error {
	if m.scanned == nil {
		m.show(ctx)
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if m.scanned.AwaitReady(ctx) == nil {
			m.show(ctx)
		}
		return nil
	})
	g.Go(func() error { return m.scanned.Run(ctx) })
	return g.Wait()
}

// show reports that the set can be read.
func (m *member) show(ctx context.Context) {
	now, err := m.stat(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, resourcesync.ErrNotReady) {
		m.log.Warn("resources not counted", "error", err)
	}
	m.isReady.Store(true)
	ready := m.ready
	m.ready = nil // it has the publication of the start, which this set may outlive
	ready(now.Count)
}

func (m *member) close() error {
	if m.content == nil || m.content.close == nil {
		return nil
	}
	return m.content.close()
}

// published returns the set as a Source publishes it. The member runs it, because it can
// outlive the Source.
func (m *member) published(site *siteConfig) rshttp.Set {
	set := m.content.set
	if set.Provider == nil {
		set.Provider = m.scanned.View
	}
	of := m.config.shared()
	set.Name, set.About, set.DescribedBy, set.RemoteHubs = m.name, of.about.About, of.aboutSet, site.push.foreign
	set.NoFramework = of.publish != ""
	return set
}

// stat returns the state of the published set.
func (m *member) stat(ctx context.Context) (resourcesync.Stat, error) {
	if m.scanned != nil {
		return m.scanned.Stat(ctx, resourcesync.Range{})
	}
	stater, ok := m.content.set.Provider.(resourcesync.Stater)
	if !ok {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return stater.Stat(ctx, resourcesync.Range{})
}

// home returns the URL at which people see the set: its page or, without pages, the Capability
// List.
func (m *member) home(hasPages bool) string {
	if hasPages {
		return m.documents.JoinPath("capabilitylist.html").String()
	}
	return m.capabilityList()
}

// rescan starts a complete scan.
func (m *member) rescan() {
	if m.scanned != nil {
		m.scanned.Scan()
	}
}

// ping returns the handler of pings, or nil if there is none.
func (m *member) ping() http.Handler {
	token := m.config.shared().pingToken
	if token == "" {
		return nil
	}
	if m.content.ping != nil {
		return m.content.ping(token)
	}
	changed := m.content.changed
	if changed == nil {
		changed = func(...*url.URL) { m.rescan() }
	}
	return sidecar.Ping(token, changed)
}

// reserve sets the URL paths of documents and other sets. Paths that end in a slash are
// folders. If they have changed, the set is scanned again.
func (m *member) reserve(paths []string) {
	if before := m.reserved.Swap(&paths); before != nil && !slices.Equal(*before, paths) {
		m.rescan()
	}
}

// health returns the errors because of which the set is not up to date.
func (m *member) health(ctx context.Context) error {
	var all []error
	if m.scanned != nil {
		all = append(all, m.scanned.Health(ctx))
	}
	if m.content.health != nil {
		all = append(all, m.content.health())
	}
	return m.named(errors.Join(all...))
}

// notes returns remarks about the set for the public.
func (m *member) notes() []string {
	if m.content.notes == nil {
		return nil
	}
	all := m.content.notes()
	if m.name != "" {
		for i := range all {
			all[i] = "set " + m.name + ": " + all[i]
		}
	}
	return all
}

// named adds the name of the set, if it has one, to each error that err joins.
func (m *member) named(err error) error {
	if err == nil || m.name == "" {
		return err
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("set %s: %w", m.name, err)
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, m.named(err))
	}
	return errors.Join(all...)
}
