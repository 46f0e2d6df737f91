package pushlog

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"
)

// A memoryPair identifies a subscription: a topic has at most one for each callback.
type memoryPair struct{ topic, callback string }

type memoryClaim struct {
	owner string
	until time.Time
}

func (c *memoryClaim) holds(now time.Time) bool { return c.owner != "" && now.Before(c.until) }

type memorySubscription struct {
	client string // that requested it
	Subscription
	claim   memoryClaim
	changed bool // by a request, since it was claimed
}

type memoryRequest struct {
	Request
	newest int64 // notification when it was made
	claim  memoryClaim
}

func (l *Memory) add(sub *memorySubscription) {
	l.subscriptions[sub.ID] = sub
	l.pairs[memoryPair{sub.Topic, sub.Callback}] = sub
	l.hosts[sub.Host]++
	l.clients[sub.client]++
	l.topic(sub.Topic).subscriptions++
}

func (l *Memory) remove(sub *memorySubscription) {
	delete(l.subscriptions, sub.ID)
	delete(l.pairs, memoryPair{sub.Topic, sub.Callback})
	if l.clients[sub.client]--; l.clients[sub.client] == 0 {
		delete(l.clients, sub.client)
	}
	if l.hosts[sub.Host]--; l.hosts[sub.Host] == 0 {
		delete(l.hosts, sub.Host)
	}
	l.topics[sub.Topic].subscriptions--
}

// Claim implements [Subscriptions]. It visits every subscription, which is fast enough
// for tens of thousands.
func (l *Memory) Claim(_ context.Context, owner string, max int) ([]Subscription, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type candidate struct {
		since time.Time // it has waited
		*memorySubscription
	}
	now := time.Now()
	var waiting []candidate
	for _, sub := range l.subscriptions {
		next := l.topics[sub.Topic].after(sub.Progress.Taken)
		if len(next) == 0 || sub.claim.holds(now) || sub.Progress.Retry.After(now) || !now.Before(sub.Expires) {
			continue
		}
		since := next[0].Made
		if sub.Progress.Retry.After(since) {
			since = sub.Progress.Retry
		}
		waiting = append(waiting, candidate{since, sub})
	}
	slices.SortFunc(waiting, func(a, b candidate) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.ID, b.ID))
	})
	var claimed []Subscription
	for _, sub := range waiting[:min(len(waiting), max)] {
		sub.claim, sub.changed = memoryClaim{owner, now.Add(ClaimTime)}, false
		claimed = append(claimed, sub.Subscription)
	}
	return claimed, nil
}

func (l *Memory) Save(_ context.Context, owner string, progress []Progress) (lost []int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := time.Now().Add(ClaimTime)
	for _, p := range progress {
		sub := l.subscriptions[p.ID]
		if sub == nil || sub.claim.owner != owner {
			lost = append(lost, p.ID)
			continue
		}
		if p.End && !sub.changed {
			l.remove(sub)
			continue
		}
		release := p.Release || sub.changed
		if sub.changed {
			lost = append(lost, p.ID)
			l.news.Ring()
		}
		p.Release, p.End = false, false
		sub.Progress, sub.changed = p, false
		if release {
			sub.claim = memoryClaim{}
		} else {
			sub.claim.until = until
		}
	}
	return lost, nil
}

func (l *Memory) End(_ context.Context, id int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sub := l.subscriptions[id]; sub != nil {
		l.remove(sub)
	}
	return nil
}

// Subscriptions implements [Subscriptions]. It yields the subscriptions that exist when
// the iteration begins.
func (l *Memory) Subscriptions(ctx context.Context) iter.Seq2[Subscription, error] {
	return func(yield func(Subscription, error) bool) {
		l.mu.Lock()
		all := make([]Subscription, 0, len(l.subscriptions))
		for _, sub := range l.subscriptions {
			all = append(all, sub.Subscription)
		}
		l.mu.Unlock()
		slices.SortFunc(all, func(a, b Subscription) int { return cmp.Compare(a.ID, b.ID) })
		for _, sub := range all {
			if err := ctx.Err(); err != nil {
				yield(Subscription{}, err)
				return
			}
			if !yield(sub, nil) {
				return
			}
		}
	}
}

type memoryHub struct{ topic, hub string }

type memoryHubCursor struct {
	HubCursor
	used time.Time
}

func (l *Memory) HubCursor(_ context.Context, topic, hub string) (HubCursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.hubs[memoryHub{topic, hub}]
	if c == nil {
		c = l.putHubCursor(HubCursor{Topic: topic, Hub: hub, Cursor: Cursor{Taken: l.state(topic).Number}})
	}
	return c.HubCursor, nil
}

func (l *Memory) SaveHubCursor(_ context.Context, c HubCursor) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putHubCursor(c)
	return nil
}

func (l *Memory) putHubCursor(c HubCursor) *memoryHubCursor {
	key := memoryHub{c.Topic, c.Hub}
	if l.hubs[key] == nil {
		l.hubs[key] = &memoryHubCursor{used: time.Now()}
	}
	l.hubs[key].HubCursor = c
	return l.hubs[key]
}

func (l *Memory) AllHubCursors(context.Context) ([]HubCursor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]HubCursor, 0, len(l.hubs))
	for _, c := range l.hubs {
		all = append(all, c.HubCursor)
	}
	slices.SortFunc(all, func(a, b HubCursor) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Hub, b.Hub))
	})
	return all, nil
}
