package daemon

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// same returns the member that has this configuration, or nil. p may be nil.
func (p *publication) same(config origin.Config) *Member {
	if p == nil {
		return nil
	}
	for _, m := range p.members {
		if reflect.DeepEqual(m.config, config) {
			return m
		}
	}
	return nil
}

// without returns the members of p that another publication, which may be nil, does not
// have.
func (p *publication) without(other *publication) []*Member {
	return slices.DeleteFunc(slices.Clone(p.members), func(m *Member) bool {
		return other != nil && slices.Contains(other.members, m)
	})
}

// runPublications runs the current publication, and replaces it after each signal by the
// one that load returns, until ctx ends or a publication fails.
func (p *daemon) runPublications(ctx context.Context, reloads <-chan os.Signal, load func() (*site.Config, error)) error {
	g, ctx := errgroup.WithContext(ctx)
	start := func(run func(ctx context.Context) error) (stop func()) {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		g.Go(func() error {
			defer close(done)
			return run(ctx)
		})
		return func() { cancel(); <-done }
	}
	running := make(map[*Member]func()) // stops
	stopSource := p.begin(start, running, nil)
	for {
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-reloads:
		}
		before := p.now.Load()
		next, err := p.prepare(ctx, before, load)
		if err != nil {
			if ctx.Err() == nil {
				p.refused.Store(new(fmt.Errorf("the configuration was not reloaded at %s; the previous one stays in effect: %w", timetext.Of(time.Now()), err)))
				p.log.Error("configuration not reloaded; the previous one stays in effect", "error", err)
			}
			continue
		}
		// From here on, nothing ends the process. The new Source serves documents and accepts
		// subscriptions at once; the pending work of the sets and the hub is in the state.
		for _, m := range next.without(before) {
			m.ready = func(resources int64) {
				if resources < 0 {
					m.Log.Info("set ready")
				} else {
					m.Log.Info("set ready", "resources", resources)
				}
			}
		}
		p.refused.Store(nil)
		p.swap.Lock()
		p.now.Store(next)
		p.swap.Unlock()
		stopSource()
		replaced := before.without(next)
		var stopping sync.WaitGroup
		for _, m := range replaced {
			stopping.Go(running[m])
			delete(running, m)
		}
		stopping.Wait()
		stopSource = p.begin(start, running, before)
		go func() {
			before.requests.Wait()
			before.closePlaces()
			closeAll(replaced)
		}()
		p.logReload(before, next)
	}
}

// begin starts the Source of the current publication, and the members that are not
// running.
func (p *daemon) begin(start func(run func(ctx context.Context) error) (stop func()), running map[*Member]func(), before *publication) (stopSource func()) {
	now := p.now.Load()
	now.reserve()
	if p.metrics != nil {
		p.metrics.Attach(now.source)
	}
	stopSource = start(now.runSource)
	var waiting, listed atomic.Int64
	var uncounted atomic.Bool
	waiting.Store(int64(len(now.members)))
	for _, m := range now.without(before) {
		if before == nil {
			m.ready = func(resources int64) {
				if resources < 0 {
					uncounted.Store(true)
				}
				listed.Add(resources)
				switch {
				case waiting.Add(-1) > 0:
				case uncounted.Load():
					now.announceReady(-1)
				default:
					now.announceReady(listed.Load())
				}
			}
		}
		running[m] = start(m.run)
	}
	return stopSource
}

// prepare opens the changed parts of the configuration. It changes nothing.
func (p *daemon) prepare(ctx context.Context, before *publication, load func() (*site.Config, error)) (*publication, error) {
	c, err := load()
	if err != nil {
		return nil, err
	}
	if c.BaseURL == "" && before.derived {
		c.BaseURL = before.site.BaseURL
	}
	if err := needRestart(before.site, c); err != nil {
		return nil, err
	}
	if err := c.Verify(); err != nil {
		return nil, err
	}
	if !p.state.Shared && c.State != "" {
		if _, err := c.StateFile(); err != nil {
			return nil, err
		}
	}
	next, err := newPublication(ctx, p, c, before)
	if err == nil {
		next.derived = before.derived
	}
	return next, err
}

// needRestart returns an error if a configuration differs from the one before in a setting
// that cannot change while the process runs.
func needRestart(before, now *site.Config) error {
	changed := now.Catalog.NeedRestart(before.Catalog)
	if before.IsNamed() != now.IsNamed() {
		changed = append(changed, "whether sets have names")
	}
	if len(changed) > 0 {
		return fmt.Errorf("a restart is needed to change %s", strings.Join(changed, ", "))
	}
	return nil
}

// logReload logs the result for each set.
func (p *daemon) logReload(before, now *publication) {
	names := func(members []*Member) (names []string) {
		for _, m := range members {
			names = append(names, m.Name)
		}
		return names
	}
	began, ended := names(now.without(before)), names(before.without(now))
	var added, changed, removed []string
	for _, name := range began {
		if slices.Contains(ended, name) {
			changed = append(changed, name)
		} else {
			added = append(added, name)
		}
	}
	for _, name := range ended {
		if !slices.Contains(began, name) {
			removed = append(removed, name)
		}
	}
	p.log.Info("configuration reloaded", "added", strings.Join(added, " "), "changed", strings.Join(changed, " "), "removed", strings.Join(removed, " "),
		"unchanged", len(now.members)-len(began))
}
