package main

import (
	"context"
	"errors"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
)

// statusNow returns the status of the site, and a function that returns its page.
func (p *daemon) statusNow(ctx context.Context) (any, status.Health, func() ([]byte, error)) {
	now := p.now.Load()
	s := now.status(ctx)
	return s, s.Health, func() ([]byte, error) { return s.Page(now.base.Host, home(now.source), p.harvesters != nil) }
}

func (p *publication) status(ctx context.Context) status.Status {
	var trouble []error
	s := status.Status{Source: p.source.Counters()}
	for _, m := range p.members {
		now, err := m.status(ctx)
		trouble = append(trouble, err)
		if m.name == "" {
			s.Set = now
			break
		}
		s.Sets = append(s.Sets, now)
		s.Add(&now)
	}
	if now, err := p.source.PushStatus(ctx); err != nil {
		trouble = append(trouble, err)
	} else if len(now.Topics) > 0 {
		s.Push = &now
	}
	if hub := p.source.Hub(); hub != nil {
		now, err := hub.Status(ctx)
		trouble = append(trouble, err)
		if err == nil {
			s.Hub = &now
		}
	}
	if p.sockets != nil {
		s.WebSockets = new(p.sockets.Clients())
	}
	if p.harvesters != nil {
		for _, h := range p.harvesters.Recent(status.ShownHarvesters) {
			s.Harvesters = append(s.Harvesters, status.Harvester{Harvester: h, Behind: status.Behind(h.Until, s.Changed)})
		}
	}
	s.Problems = texts(errors.Join(append(trouble, p.health(ctx))...))
	s.Healthy = len(s.Problems) == 0
	return s
}

// status describes the set.
func (m *member) status(ctx context.Context) (status.Set, error) {
	s := status.Set{Name: m.name}
	if m.name != "" {
		s.Kind = m.config.common().kind
	}
	if m.set != nil {
		if r := m.set.Last(); r != nil {
			s.Scan = &status.Scan{
				Ended: r.Ended, Seconds: r.Took.Seconds(), Created: r.Created, Updated: r.Updated, Deleted: r.Deleted, Unchanged: r.Unchanged,
				Skipped: r.Skipped, Unreadable: r.Unreadable,
			}
		}
	}
	set, err := m.stat(ctx)
	switch {
	case err == nil:
		if s.Changed, s.Uncounted = set.LastModified, set.Count < 0; !s.Uncounted {
			s.Files = &set.Count
		}
	case errors.Is(err, resourcesync.ErrNotReady):
		err = nil
	}
	if kept, err := m.stored.Kept(ctx); err == nil && kept.Held > 0 {
		s.Held = &status.Held{Files: kept.Held, Since: kept.Since, Until: kept.Until, Confirmed: kept.Confirmed}
	}
	if m.content.status != nil {
		m.content.status(&s)
	}
	s.Notes = m.notes()
	return s, m.named(err)
}

// texts returns the texts of the errors that err joins, sorted and without duplicates.
func texts(err error) []string {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	var all []string
	for _, err := range joined.Unwrap() {
		all = append(all, texts(err)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
