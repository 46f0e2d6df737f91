package daemon

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// statusNow returns the status of the site, and a function that returns its page.
func (p *daemon) statusNow(ctx context.Context) (any, status.Health, func() ([]byte, error)) {
	now := p.now.Load()
	s := now.status(ctx)
	return s, s.Health, func() ([]byte, error) {
		return s.Page(now.base.Host, origin.Home(now.source), p.harvesters != nil, p.keeps)
	}
}

func (p *publication) status(ctx context.Context) status.Status {
	var trouble []error
	s := status.Status{Source: p.source.Counters()}
	if p.certificate != nil {
		s.CertificateExpires = p.certificate.Expires()
	}
	for _, m := range p.members {
		now, err := m.status(ctx)
		trouble = append(trouble, err)
		if now.Held != nil {
			now.Held.Release, now.Held.Hidden = p.release()
		}
		if m.Name == "" {
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
	var err error
	s.Hub, s.Subscriptions, err = p.subscriptions(ctx, s.Push)
	trouble = append(trouble, err)
	if now, has, err := p.state.Standby(ctx); has {
		s.Standby = status.StandbyOf(&now)
		trouble = append(trouble, err, s.Standby.Problem(time.Now()))
	}
	for _, pl := range p.places {
		s.Published = append(s.Published, pl.status())
	}
	if refused := p.refused.Load(); refused != nil {
		trouble = append(trouble, *refused)
	}
	if p.sockets != nil {
		s.WebSockets = new(p.sockets.Clients())
	}
	if p.harvesters != nil {
		trouble = append(trouble, p.seeNewest(ctx))
		for _, h := range p.harvesters.Recent(status.ShownHarvesters) {
			lag, known, inSync := p.harvesters.Lag(&h, time.Now())
			shown := status.Harvester{Harvester: h, InSync: inSync}
			if known {
				shown.Behind = new(lag.Seconds())
			}
			s.Harvesters = append(s.Harvesters, shown)
		}
	}
	s.Problems = texts(p.state.Place, errors.Join(append(trouble, p.health(ctx))...))
	s.Healthy = len(s.Problems) == 0
	return s
}

// watchHarvesters records the newest changes in the log of harvesters, until ctx ends. It
// takes at most a fiftieth of the time.
func (p *publication) watchHarvesters(ctx context.Context) {
	for {
		began := time.Now()
		push, err := p.source.PushStatus(ctx)
		if err == nil {
			_, _, err = p.subscriptions(ctx, &push)
		}
		err = errors.Join(err, p.seeNewest(ctx))
		if err != nil && ctx.Err() == nil {
			p.log.Debug("the progress of harvesters cannot be determined", "error", err)
		}
		if background.Sleep(ctx, max(harvestersEvery, 50*time.Since(began))) != nil {
			return
		}
	}
}

// harvestersEvery is the interval at which the progress of harvesters is compared with the newest
// changes.
const harvestersEvery = 30 * time.Second

// seeNewest records the newest changes in the log of harvesters.
func (p *publication) seeNewest(ctx context.Context) error {
	sets, err := p.source.SetStatus(ctx)
	for _, set := range sets {
		p.harvesters.See(set.Set, set.Changed)
	}
	return err
}

// subscriptions returns the status of the hub and its subscriptions that need attention first, and
// records in the log of harvesters what callbacks have accepted. push may be nil.
func (p *publication) subscriptions(ctx context.Context, push *topic.Status) (*hub.Status, []status.Subscription, error) {
	own := p.source.Hub()
	if own == nil {
		return nil, nil, nil
	}
	topics := make(map[string]*topic.TopicStatus)
	if push != nil {
		for i, t := range push.Topics {
			topics[t.Topic] = &push.Topics[i]
		}
	}
	var worst status.Worst
	now, err := own.Inspect(ctx, func(sub hub.Subscription) {
		if t := topics[sub.Topic]; t != nil && sub.Expires.After(time.Now()) {
			worst.Add(p.subscription(&sub, t))
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return &now, worst.First(), nil
}

// subscription describes a subscription to a topic.
func (p *publication) subscription(sub *hub.Subscription, t *topic.TopicStatus) status.Subscription {
	s := status.Subscription{
		Set: t.Set, Capability: t.Capability, Expires: sub.Expires, Delivered: sub.Delivered, LastSuccess: sub.LastDelivered,
		Pending: max(t.Newest-sub.Taken, 0), GivenUp: sub.GivenUp,
		Failures: sub.Failures, FailingSince: sub.FailingSince, LastError: sub.LastError, Next: sub.Retry,
	}
	if u, err := url.Parse(sub.Callback); err == nil {
		s.Host = u.Host
	}
	if p.harvesters == nil {
		return s
	}
	s.Agent, s.Address, _ = p.harvesters.Subscriber(sub.Topic, sub.Callback)
	// After a notification that was given up, the callback lacks changes, even if it accepts later ones.
	if t.Capability == resourcesync.ChangeNotification && sub.GivenUp == 0 && s.Pending == 0 {
		p.harvesters.Accepted(sub.Topic, sub.Callback, t.Set, t.Until)
	}
	return s
}

// status describes the set.
func (m *Member) status(ctx context.Context) (status.Set, error) {
	s := status.Set{Name: m.Name}
	if m.Name != "" {
		s.Kind = m.config.Shared().Kind
	}
	if m.Scanned != nil {
		if r := m.Scanned.Last(); r != nil {
			s.Scan = &status.Scan{
				Ended: r.Ended, Seconds: r.Took.Seconds(), Failed: r.Err != nil, Since: r.FailingSince, Created: r.Created, Updated: r.Updated, Deleted: r.Deleted, Unchanged: r.Unchanged,
				Skipped: r.Skipped, Unreadable: r.Unreadable,
			}
		}
	}
	set, err := m.Stat(ctx)
	if err == nil {
		s.Changed, err = m.lastChange(ctx, set)
	}
	switch {
	case err == nil:
		if s.Uncounted = set.Count < 0; !s.Uncounted {
			s.Files = &set.Count
		}
	case errors.Is(err, resourcesync.ErrNotReady):
		err = nil
	}
	if kept, err := m.Stored.Kept(ctx); err == nil && kept.Held > 0 {
		s.Held = &status.Held{Files: kept.Held, Since: kept.Since, Until: kept.Until, Confirmed: kept.Confirmed, Unit: m.Content.Unit, Question: m.config.Question()}
	}
	if m.Content.Status != nil {
		m.Content.Status(&s)
	}
	s.Notes = m.notes()
	return s, m.named(err)
}
