package pushlog

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"
)

func (l *Memory) Request(_ context.Context, r Request, limits Limits) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	replaced := func(q *memoryRequest) bool { return q.Topic == r.Topic && q.Callback == r.Callback }
	if err := l.check(r, limits, replaced); err != nil {
		return err
	}
	newest := l.state(r.Topic).Number
	for _, q := range l.requests {
		if replaced(q) && !q.End {
			newest = q.newest
		}
	}
	l.requests = slices.DeleteFunc(l.requests, replaced)
	l.lastID++
	r.ID = l.lastID
	r.Secret = bytes.Clone(r.Secret)
	l.requests = append(l.requests, &memoryRequest{Request: r, newest: newest})
	l.news.Ring()
	return nil
}

func (l *Memory) check(r Request, limits Limits, replaced func(*memoryRequest) bool) error {
	var pending, clientPending, hostPending, topic int
	for _, q := range l.requests {
		if replaced(q) {
			continue
		}
		pending++
		if q.Client == r.Client {
			clientPending++
		}
		if q.Host == r.Host {
			hostPending++
		}
		if q.Topic == r.Topic {
			topic++
		}
	}
	if l.pairs[memoryPair{r.Topic, r.Callback}] != nil {
		limits.Host, limits.Client, limits.Topic = 0, 0, 0
	}
	host, client := hostPending+l.hosts[r.Host], clientPending+l.clients[r.Client]
	if t := l.topics[r.Topic]; t != nil {
		topic += t.subscriptions
	}
	for _, limit := range []struct {
		what   string
		n, max int
	}{
		{"pending", pending, limits.Pending},
		{"client pending", clientPending, limits.ClientPending},
		{"client", client, limits.Client},
		{"host pending", hostPending, limits.HostPending},
		{"host", host, limits.Host},
		{"topic", topic, limits.Topic},
	} {
		if limit.max > 0 && limit.n >= limit.max {
			return &LimitError{What: limit.what, Max: limit.max}
		}
	}
	return nil
}

func (l *Memory) ClaimRequests(_ context.Context, owner string, max int) ([]Request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	type candidate struct {
		rank int // among the requests of the client, claimed or not
		*memoryRequest
	}
	now := time.Now()
	var free []candidate
	pending := map[string]int{} // by client
	for _, r := range l.requests {
		if !r.claim.holds(now) {
			free = append(free, candidate{pending[r.Client], r})
		}
		pending[r.Client]++
	}
	slices.SortStableFunc(free, func(a, b candidate) int { return cmp.Compare(a.rank, b.rank) })
	var claimed []Request
	for _, r := range free[:min(len(free), max)] {
		r.claim = memoryClaim{owner, now.Add(VerifyTime)}
		claimed = append(claimed, r.Request)
	}
	slices.SortFunc(claimed, func(a, b Request) int { return cmp.Compare(a.ID, b.ID) })
	return claimed, nil
}

// take removes a request that owner has claimed, and returns it.
func (l *Memory) take(owner string, id int64) (*memoryRequest, error) {
	for i, q := range l.requests {
		if q.ID == id && q.claim.owner == owner {
			l.requests = slices.Delete(l.requests, i, i+1)
			return q, nil
		}
	}
	return nil, ErrStale
}

func (l *Memory) Drop(_ context.Context, owner string, r Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.take(owner, r.ID)
	return err
}

func (l *Memory) Apply(_ context.Context, owner string, r Request, expires time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	request, err := l.take(owner, r.ID)
	if err != nil {
		return err
	}
	now := time.Now()
	sub := l.pairs[memoryPair{r.Topic, r.Callback}]
	if sub != nil && (r.End || !now.Before(sub.Expires)) {
		l.remove(sub)
		sub = nil
	}
	switch {
	case r.End:
	case sub != nil:
		sub.Secret, sub.Expires = bytes.Clone(r.Secret), expires
		if sub.changed = sub.claim.owner != ""; !sub.changed {
			sub.Progress.Retry = time.Time{}
			l.news.Ring()
		}
	default:
		t := l.topic(r.Topic)
		l.lastID++
		l.add(&memorySubscription{client: r.Client, Subscription: Subscription{
			ID:       l.lastID,
			Topic:    r.Topic,
			Callback: r.Callback,
			Host:     r.Host,
			Secret:   bytes.Clone(r.Secret),
			Made:     now,
			Expires:  expires,
			Progress: Progress{ID: l.lastID, Cursor: Cursor{Taken: min(request.newest, t.state.Number)}},
		}})
	}
	return nil
}
