package hub

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"
)

// Request implements [Store].
func (s *MemoryStore) Request(_ context.Context, r Request, limits Limits) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	replaced := func(q *memoryRequest) bool { return q.Topic == r.Topic && q.Callback == r.Callback }
	if err := s.check(r, limits, replaced); err != nil {
		return err
	}
	s.requests = slices.DeleteFunc(s.requests, replaced)
	s.lastID++
	r.ID = s.lastID
	r.Secret = bytes.Clone(r.Secret)
	s.requests = append(s.requests, &memoryRequest{Request: r})
	s.news.Ring()
	return nil
}

func (s *MemoryStore) check(r Request, limits Limits, replaced func(*memoryRequest) bool) error {
	var pending, clientPending, hostPending, topic int
	for _, q := range s.requests {
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
	if s.pairs[memoryPair{r.Topic, r.Callback}] != nil {
		limits.Host, limits.Client, limits.Topic = 0, 0, 0
	}
	host, client := hostPending+s.hosts[r.Host], clientPending+s.clients[r.Client]
	if t := s.topics[r.Topic]; t != nil {
		topic += t.subscriptions
	}
	for _, l := range []struct {
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
		if l.max > 0 && l.n >= l.max {
			return &LimitError{What: l.what, Max: l.max}
		}
	}
	return nil
}

// ClaimRequests implements [Store].
func (s *MemoryStore) ClaimRequests(_ context.Context, owner string, max int) ([]Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type candidate struct {
		rank int // among the requests of the client, claimed or not
		*memoryRequest
	}
	now := time.Now()
	var free []candidate
	pending := map[string]int{} // by client
	for _, r := range s.requests {
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

// take removes a request that owner has claimed.
func (s *MemoryStore) take(owner string, id int64) error {
	for i, q := range s.requests {
		if q.ID == id && q.claim.owner == owner {
			s.requests = slices.Delete(s.requests, i, i+1)
			return nil
		}
	}
	return ErrStale
}

// Drop implements [Store].
func (s *MemoryStore) Drop(_ context.Context, owner string, r Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(owner, r.ID)
}

// Apply implements [Store].
func (s *MemoryStore) Apply(_ context.Context, owner string, r Request, expires time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(owner, r.ID); err != nil {
		return err
	}
	now := time.Now()
	sub := s.pairs[memoryPair{r.Topic, r.Callback}]
	if sub != nil && (r.End || !now.Before(sub.Expires)) {
		s.remove(sub)
		sub = nil
	}
	switch {
	case r.End:
	case sub != nil:
		sub.Secret, sub.Expires = bytes.Clone(r.Secret), expires
		if sub.changed = sub.claim.owner != ""; !sub.changed {
			sub.Progress.Retry = time.Time{}
			s.news.Ring()
		}
	default:
		t := s.topic(r.Topic)
		s.lastID++
		s.add(&memorySubscription{client: r.Client, Subscription: Subscription{
			ID:       s.lastID,
			Topic:    r.Topic,
			Callback: r.Callback,
			Host:     r.Host,
			Secret:   bytes.Clone(r.Secret),
			Made:     now,
			Expires:  expires,
			Progress: Progress{ID: s.lastID, Taken: t.newest},
		}})
	}
	return nil
}
