package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// ConfirmCommand confirms held deletions.
const ConfirmCommand = "resourcesync confirm-deletions"

// A Member is a set that is being published.
type Member struct {
	*origin.Set
	config  origin.Config
	daemon  *daemon
	Content *origin.Content
	ready   func(resources int64) // called once
	isReady atomic.Bool           // ready was called
}

// OpenMember opens the parts of a set that no daemon publishes. Nothing runs yet, and nothing is recorded.
func OpenMember(ctx context.Context, c *site.Config, set origin.Config, st *state.State, screen *terminal.Screen, log *slog.Logger) (*Member, error) {
	return openMember(ctx, &daemon{state: st, screen: screen, log: log}, c, set)
}

// openMember opens the parts of a set. Nothing runs yet, and nothing is recorded.
func openMember(ctx context.Context, p *daemon, c *site.Config, config origin.Config) (*Member, error) {
	base, err := c.Base()
	if err != nil {
		return nil, err
	}
	s := config.Shared()
	set := &origin.Set{
		Name: s.Name, Log: p.log, State: p.state, Callback: p.callback,
		Base: base, Hub: base.Path + site.HubPath, Documents: base.JoinPath(c.Prefix),
		Retained: max(c.Retain, c.Archive), Window: c.Window,
	}
	m := &Member{Set: set, config: config, daemon: p, ready: func(int64) {}}
	if s.Path != "" {
		m.Base = base.JoinPath(s.Path)
	}
	if s.Name != "" {
		m.Documents = m.Documents.JoinPath(s.Name + "/")
	}
	m.BaseURL = m.Base.String()
	if m.Name != "" {
		m.Log = m.Log.With("set", m.Name)
	}
	if m.Stored, err = c.OpenSet(ctx, p.state, config); err != nil {
		return nil, site.Named(m.Name, err)
	}
	if m.Content, err = config.Open(ctx, set); err != nil {
		return nil, site.Named(m.Name, err)
	}
	if m.Content.Origin != nil {
		if err := m.scanInto(ctx, confirmCommand(c)); err != nil {
			return nil, site.Named(m.Name, errors.Join(err, m.Close()))
		}
	}
	return m, nil
}

// scanInto joins the origin and the stored set, whose held deletions a command confirms.
func (m *Member) scanInto(ctx context.Context, confirm string) (err error) {
	c, st := m.config.Shared(), m.State
	first := &firstScan{screen: m.daemon.screen, log: m.Log, name: m.Name, unit: m.Content.Unit + "s"}
	limits := c.StoreOptions()
	o := &scan.Options{
		Every:         c.Rescan,
		MaxDelete:     limits.MaxDelete,
		MaxDeleteHold: limits.MaxDeleteHold,
		Moved:         c.Moved,
		Shared:        st.Shared,
		NoDumps:       !c.Dumps,
		Progress:      first.report,
		Question:      m.config.Question(),
		Confirm:       confirm,
		Logger:        m.Log,
	}
	if metrics := m.daemon.metrics; metrics != nil {
		o.Observe = func(r scan.Result) {
			if r.Part {
				metrics.ScannedPart(m.Name, r.ScanResult)
			} else {
				metrics.Scanned(m.Name, r.Took, r.ScanResult, r.Err)
			}
		}
	}
	m.Scanned, err = scan.Into(ctx, st.Store, m.Stored.Name(), m.Content.Origin, o)
	if other, ok := errors.AsType[*scan.OriginError](err); ok {
		return site.RefuseOrigin(st, c, other)
	}
	return err
}

// run keeps the set up to date until ctx ends.
func (m *Member) run(ctx context.Context) error {
	if m.Scanned == nil {
		m.show(ctx)
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		if m.Scanned.AwaitReady(ctx) == nil {
			m.show(ctx)
		}
		return nil
	})
	g.Go(func() error { return m.Scanned.Run(ctx) })
	return g.Wait()
}

// show reports that the set can be read.
func (m *Member) show(ctx context.Context) {
	now, err := m.Stat(ctx)
	if err != nil && ctx.Err() == nil && !errors.Is(err, resourcesync.ErrNotReady) {
		m.Log.Warn("resources not counted", "error", err)
	}
	m.isReady.Store(true)
	ready := m.ready
	m.ready = nil // it has the publication of the start, which this set may outlive
	ready(now.Count)
}

func (m *Member) Close() error {
	if m.Content == nil || m.Content.Close == nil {
		return nil
	}
	return m.Content.Close()
}

// Published returns the set as a Source publishes it. The member runs it, because it can
// outlive the Source.
func (m *Member) Published(site *site.Config) rshttp.Set {
	set := m.Content.Set
	if set.Provider == nil {
		set.Provider = m.Scanned.View
	}
	of := m.config.Shared()
	set.Name, set.About, set.DescribedBy, set.RemoteHubs = m.Name, of.About.About, of.DescribedBy, site.Push.Foreign
	set.NoFramework = of.Publish != ""
	return set
}

// Stat returns the state of the published set.
func (m *Member) Stat(ctx context.Context) (resourcesync.Stat, error) {
	if m.Scanned != nil {
		return m.Scanned.Stat(ctx, resourcesync.Range{})
	}
	stater, ok := m.Content.Set.Provider.(resourcesync.Stater)
	if !ok {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return stater.Stat(ctx, resourcesync.Range{})
}

// lastChange returns the time of the newest change, or zero if the journal has none: stat then has
// the time at which the journal began, such as the end of the first scan.
func (m *Member) lastChange(ctx context.Context, stat resourcesync.Stat) (time.Time, error) {
	var provider any = m.Content.Set.Provider
	if m.Scanned != nil {
		provider = m.Scanned.View
	}
	if journal, ok := provider.(resourcesync.Changer); ok {
		if since, err := journal.Since(ctx); err != nil || since.Equal(stat.LastModified) {
			return time.Time{}, err
		}
	}
	return stat.LastModified, nil
}

// home returns the URL at which people see the set: its page or, without pages, the Capability
// List.
func (m *Member) home(hasPages bool) string {
	if hasPages {
		return m.Documents.JoinPath("capabilitylist.html").String()
	}
	return m.CapabilityList()
}

// rescan starts a complete scan.
func (m *Member) rescan() {
	if m.Scanned != nil {
		m.Scanned.Scan()
	}
}

// ping returns the handler of pings, or nil if there is none.
func (m *Member) ping() http.Handler {
	token := m.config.Shared().PingToken
	if token == "" {
		return nil
	}
	if m.Content.Ping != nil {
		return m.Content.Ping(token)
	}
	changed := m.Content.Changed
	if changed == nil {
		changed = func(...*url.URL) { m.rescan() }
	}
	return sidecar.Ping(token, changed)
}

// Reserve sets the URL paths of documents and other sets. Paths that end in a slash are
// folders. If they have changed, the set is scanned again.
func (m *Member) Reserve(paths []string) {
	if before := m.Reserved.Swap(&paths); before != nil && !slices.Equal(*before, paths) {
		m.rescan()
	}
}

// notes returns remarks about the set for the public.
func (m *Member) notes() []string {
	if m.Content.Notes == nil {
		return nil
	}
	all := m.Content.Notes()
	if m.Name != "" {
		for i := range all {
			all[i] = "set " + m.Name + ": " + all[i]
		}
	}
	return all
}
