package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// ownerRetry is the maximum delay after an owner could not be recorded.
const ownerRetry = time.Minute

// A member is a set that is being published.
type member struct {
	config     setConfig
	name       string // "" if the set is alone
	stored     string // the name of the set in the state
	log        *slog.Logger
	daemon     *daemon
	baseURL    string   // of the URLs that the set serves
	base       *url.URL // baseURL, parsed
	site       *url.URL // the base URL of the site
	documents  *url.URL // the base of the set's documents
	retained   span     // how long changes are in Change Lists, or in the archive
	window     span     // how much longer the rest of a Change List can be
	set        *shownSet
	owner      origin                // to be recorded
	unrecorded atomic.Pointer[error] // why the owner is not recorded
	content    *content
	scanner    *scanner // nil without scans
	first      *firstScan
	pinged     chan struct{}            // asks for a complete scan
	reserved   atomic.Pointer[[]string] // paths of URLs, as reserve gets them
	ready      func(resources int64)    // called once
}

// openMember opens what a set consists of. Nothing runs yet, and nothing is recorded.
func openMember(ctx context.Context, p *daemon, site *siteConfig, config setConfig) (*member, error) {
	base, err := site.base()
	if err != nil {
		return nil, err
	}
	s := config.common()
	m := &member{
		config: config, name: s.name, daemon: p, log: p.log,
		site: base, base: base, documents: base.JoinPath(site.prefix),
		retained: max(site.retain, site.archive), window: site.window,
		pinged: make(chan struct{}, 1), ready: func(int64) {},
	}
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
	if err := m.openStored(ctx, site); err != nil {
		return nil, named(m.name, err)
	}
	m.scanner = &scanner{set: m.set, name: m.name, rescan: s.rescan, kept: m.set.Kept, metrics: p.metrics, log: m.log}
	m.first = &firstScan{screen: p.screen, log: m.log, name: m.name, count: m.toScan}
	if m.content, err = config.open(ctx, m); err != nil {
		return nil, named(m.name, err)
	}
	m.first.unit, m.set.hidden = m.content.unit+"s", m.content.hidden
	m.scanner.list, m.scanner.part, m.scanner.scanned = m.list, m.content.part, m.content.scanned
	m.scanner.count, m.scanner.watch, m.scanner.ready = m.count, m.watch, m.show
	return m, nil
}

// openStored opens the stored set, and checks its owner.
func (m *member) openStored(ctx context.Context, site *siteConfig) error {
	st := m.daemon.state
	set, err := st.openSet(ctx, site, m.config)
	if err != nil {
		return err
	}
	m.set, m.stored = &shownSet{Set: set}, st.setName(site, m.config)
	if !st.shared {
		if m.owner, err = m.config.checkOwner(ctx, site, set); err != nil {
			return usagef("state %q: %w", st.place, err)
		}
	}
	return nil
}

// run keeps the set up to date until ctx ends.
func (m *member) run(ctx context.Context) error {
	if m.keepOwner(ctx); ctx.Err() != nil {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	if m.content.run != nil {
		g.Go(func() error { return m.content.run(ctx) })
	}
	if m.content.list == nil {
		now, err := m.stat(ctx)
		if err != nil && ctx.Err() == nil {
			m.log.Warn("resources not counted", "error", err)
		}
		m.show(now.Count)
		return g.Wait()
	}
	g.Go(func() error {
		m.scanner.run(ctx)
		return nil
	})
	return g.Wait()
}

// keepOwner records the owner. It retries until that succeeds or ctx ends. The stored
// resources stay published meanwhile, but no scan may begin: in a state with the resources of
// one origin and the record of another, the next start would take them for deleted.
func (m *member) keepOwner(ctx context.Context) {
	for retry := firstRetry; ; retry = min(2*retry, ownerRetry) {
		err := m.recordOwner(ctx)
		before := m.unrecorded.Load()
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			if before != nil {
				m.unrecorded.Store(nil)
				m.log.Info("origin of the set recorded")
			}
			return
		case before == nil || (*before).Error() != err.Error():
			m.log.Error("the origin of the set cannot be recorded, and the set is not updated until it is: make the state writable, and make room on its disk",
				"state", m.daemon.state.place, "error", err, "next_in", retry)
		}
		m.unrecorded.Store(&err)
		if before == nil && m.content.list != nil {
			_ = m.scanner.checkReady(ctx) // no scan does so before the owner is recorded
		}
		if background.Sleep(ctx, retry) != nil {
			return
		}
	}
}

func (m *member) recordOwner(ctx context.Context) error {
	if m.owner == (origin{}) {
		return nil
	}
	before, err := readOrigin(ctx, m.set.Set)
	now := m.owner
	now.BaseURL = cmp.Or(now.BaseURL, before.BaseURL)
	if err != nil || before == now {
		return err
	}
	return now.record(ctx, m.set.Set)
}

func (m *member) close() error {
	if m.content == nil || m.content.close == nil {
		return nil
	}
	return m.content.close()
}

// show makes the set visible. It is called once.
func (m *member) show(resources int64) {
	m.set.show()
	ready := m.ready
	m.ready = nil // it has the publication of the start, which this set may outlive
	ready(resources)
}

// published returns the set as a Source publishes it.
func (m *member) published(site *siteConfig) rshttp.Set {
	set := m.content.set
	if set.Provider == nil {
		set.Provider = m.set
	}
	set.Name, set.DescribedBy, set.Hubs = m.name, m.config.common().aboutSet, site.push.foreign
	return set
}

// stat returns the state of the published set.
func (m *member) stat(ctx context.Context) (resourcesync.Stat, error) {
	provider := m.content.set.Provider
	if provider == nil {
		return m.set.Stat(ctx, resourcesync.Range{})
	}
	stater, ok := provider.(resourcesync.Stater)
	if !ok {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return stater.Stat(ctx, resourcesync.Range{})
}

// capabilityList returns the URL of the set's Capability List.
func (m *member) capabilityList() string {
	return m.documents.JoinPath("capabilitylist.xml").String()
}

// count returns the number of resources in the stored set, and ErrNotReady if it must not
// be shown before a scan.
func (m *member) count(ctx context.Context) (int64, error) {
	st, err := m.set.Set.Stat(ctx, resourcesync.Range{})
	if err == nil && m.content.current != nil {
		err = m.content.current(ctx)
	}
	return st.Count, err
}

// toScan estimates the resources that the first scan of this process lists, and the bytes
// that it reads: from the set if an earlier scan has filled it.
func (m *member) toScan(ctx context.Context) (resources, bytes int64, err error) {
	if m.content.total == nil || m.set.shown.Load() {
		st, err := m.set.Stat(ctx, resourcesync.Range{})
		return st.Count, 0, err
	}
	return m.content.total(ctx)
}

// list lists the content, and reports the progress of the first scan.
func (m *member) list(ctx context.Context) listing {
	resources := m.content.list(ctx)
	return func(yield func(resourcesync.Resource, error) bool) {
		if !m.scanner.complete {
			defer m.first.begin(ctx)()
			if !m.content.reports {
				yield = m.counted(yield)
			}
		}
		resources(yield)
	}
}

// countedReports is the interval between reports about contents that report nothing.
const countedReports = 250 * time.Millisecond

// counted returns a yield that reports the number of resources.
func (m *member) counted(yield func(resourcesync.Resource, error) bool) func(resourcesync.Resource, error) bool {
	var n int64
	var reported time.Time
	return func(r resourcesync.Resource, err error) bool {
		n++
		if now := time.Now(); now.Sub(reported) >= countedReports {
			m.first.report(dir.Progress{Files: n})
			reported = now
		}
		return yield(r, err)
	}
}

// report takes the progress of a scan.
func (m *member) report(now dir.Progress) {
	m.scanner.skipped.Store(now.Skipped)
	if !m.scanner.complete {
		m.first.report(now)
	}
}

// watch passes the changes of the content and the pings on to the scanner.
func (m *member) watch(ctx context.Context, changed func(paths []string)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-m.pinged:
				changed(nil)
			}
		}
	})
	if m.content.watch != nil {
		g.Go(func() error { return m.content.watch(ctx, changed) })
	}
	return g.Wait()
}

// ping returns the handler of pings, or nil if there is none.
func (m *member) ping() http.Handler {
	token := m.config.common().pingToken
	if token == "" {
		return nil
	}
	if m.content.ping != nil {
		return m.content.ping(token)
	}
	changed := m.content.changed
	if changed == nil {
		changed = func(...*url.URL) { background.Signal(m.pinged) }
	}
	return sidecar.Ping(token, changed)
}

// reserve sets the paths of URLs that documents and other sets have. Those that end in a
// slash are folders. If they differ from those before, the set is scanned again.
func (m *member) reserve(paths []string) {
	if before := m.reserved.Swap(&paths); before != nil && !slices.Equal(*before, paths) {
		background.Signal(m.pinged)
	}
}

// isReserved reports whether a path of a URL is that of a document or another set.
func (m *member) isReserved(path string) bool {
	reserved := m.reserved.Load()
	return reserved != nil && slices.ContainsFunc(*reserved, func(at string) bool {
		return path == at || strings.HasSuffix(at, "/") && strings.HasPrefix(path, at)
	})
}

// health returns the errors that keep the set from being up to date.
func (m *member) health(ctx context.Context) error {
	kept, err := m.set.Kept(ctx)
	if err == nil {
		err = keptTrouble(kept)
	}
	var unrecorded error
	if failed := m.unrecorded.Load(); failed != nil {
		unrecorded = fmt.Errorf("the origin of the set cannot be recorded: %w", *failed)
	}
	var watch error
	if m.content.health != nil {
		watch = m.content.health()
	}
	if m.content.hidden != nil {
		if hidden := m.content.hidden(); hidden != nil {
			watch = errors.Join(watch, fmt.Errorf("%w: %w", errHidden, hidden))
		}
	}
	return m.named(errors.Join(unrecorded, m.scanner.health(), watch, err))
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
