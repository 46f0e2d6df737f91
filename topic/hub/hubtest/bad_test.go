package hubtest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/topic/hub"
)

type bad struct {
	name   string
	breaks string // the rules
	bend   func(b *bent, s *hub.MemoryStore)
}

var badLogs = []bad{
	{"appended again", "Publish/twice Clear/messages", func(b *bent, s *hub.MemoryStore) {
		b.publish = func(m hub.Message) (int64, error) {
			m.ID += time.Now().String() + string(m.Body)
			time.Sleep(time.Nanosecond)
			return s.Publish(context.Background(), m)
		}
	}},
	{"one ID in all topics", "Publish/twice", func(b *bent, s *hub.MemoryStore) {
		var mu sync.Mutex
		seen := map[string]int64{}
		b.publish = func(m hub.Message) (int64, error) {
			mu.Lock()
			defer mu.Unlock()
			if n, found := seen[m.ID]; found {
				return n, nil
			}
			n, err := s.Publish(context.Background(), m)
			seen[m.ID] = n
			return n, err
		}
	}},
	{"seen too early", "Publish/race", func(b *bent, s *hub.MemoryStore) {
		b.messages = func(topic string, after int64, max, maxBytes int) ([]hub.Message, error) {
			all, err := s.Messages(context.Background(), topic, after, max, maxBytes)
			return all[len(all)/2:], err
		}
	}},
	{"one too many", "Messages", func(b *bent, s *hub.MemoryStore) {
		b.messages = func(topic string, after int64, max, maxBytes int) ([]hub.Message, error) {
			return s.Messages(context.Background(), topic, after, max+1, maxBytes)
		}
	}},
	{"any number of bytes", "Messages", func(b *bent, s *hub.MemoryStore) {
		b.messages = func(topic string, after int64, max, _ int) ([]hub.Message, error) {
			return s.Messages(context.Background(), topic, after, max, 1<<30)
		}
	}},
	{"nothing is cleared", "Clear/subscriptions Clear/requests Clear/messages Clear/before", func(b *bent, _ *hub.MemoryStore) {
		b.clear = func(time.Time) ([]hub.Dropped, error) { return nil, nil }
	}},
	{"however old", "Clear/before", func(b *bent, s *hub.MemoryStore) {
		b.clear = func(time.Time) ([]hub.Dropped, error) { return s.Clear(context.Background(), time.Time{}) }
	}},
	{"whoever needs it", "Clear/messages", func(b *bent, s *hub.MemoryStore) {
		b.clear = func(time.Time) ([]hub.Dropped, error) { return s.Clear(context.Background(), time.Now()) }
	}},
	{"silently", "Clear/dropped", func(b *bent, s *hub.MemoryStore) {
		b.clear = func(before time.Time) ([]hub.Dropped, error) {
			_, err := s.Clear(context.Background(), before)
			return nil, err
		}
	}},
	{"each as if nobody had any", "Clear/dropped", func(b *bent, s *hub.MemoryStore) {
		b.clear = func(before time.Time) ([]hub.Dropped, error) {
			dropped, err := s.Clear(context.Background(), before)
			for i, d := range dropped {
				dropped[i].Deliveries = d.Messages * d.Subscriptions
			}
			return dropped, err
		}
	}},
	{"does not wake", "Watch", func(b *bent, _ *hub.MemoryStore) {
		b.watch = func(ctx context.Context, wake func()) error { wake(); <-ctx.Done(); return ctx.Err() }
	}},
	{"does not go on watching", "Watch/end", func(b *bent, _ *hub.MemoryStore) {
		b.watch = func(context.Context, func()) error { return nil }
	}},
	{"some subscriptions", "Subscriptions", func(b *bent, s *hub.MemoryStore) {
		b.subscriptions = func() iter.Seq2[hub.Subscription, error] {
			return func(yield func(hub.Subscription, error) bool) {
				for s, err := range s.Subscriptions(context.Background()) {
					if s.ID%5 != 0 && !yield(s, err) {
						return
					}
				}
			}
		}
	}},
}

var badRequests = []bad{
	{"without limits", "Request/limits Request/race", func(b *bent, s *hub.MemoryStore) {
		b.request = func(r hub.Request, _ hub.Limits) error { return s.Request(context.Background(), r, hub.Limits{}) }
	}},
	{"one too few", "Request/limits", func(b *bent, s *hub.MemoryStore) {
		b.request = func(r hub.Request, l hub.Limits) error {
			for _, n := range []*int{&l.Host, &l.HostPending, &l.Client, &l.ClientPending, &l.Topic, &l.Pending} {
				if *n > 1 {
					*n--
				}
			}
			return s.Request(context.Background(), r, l)
		}
	}},
	{"callbacks are the same whatever follows", "Request/replaced ClaimRequests", func(b *bent, s *hub.MemoryStore) {
		b.request = func(r hub.Request, l hub.Limits) error {
			r.Callback = r.Callback[:8]
			return s.Request(context.Background(), r, l)
		}
	}},
	{"newest first", "ClaimRequests", func(b *bent, s *hub.MemoryStore) {
		b.claimRequests = func(owner string, max int) ([]hub.Request, error) {
			all, err := s.ClaimRequests(context.Background(), owner, max)
			slices.Reverse(all)
			return all, err
		}
	}},
	{"whichever client", "ClaimRequests/fair", func(b *bent, s *hub.MemoryStore) {
		b.request = func(r hub.Request, l hub.Limits) error {
			r.Client = ""
			return s.Request(context.Background(), r, l)
		}
	}},
	{"all claim the same", "ClaimRequests/race ClaimRequests/end", func(b *bent, s *hub.MemoryStore) {
		var mu sync.Mutex
		var all []hub.Request
		b.claimRequests = func(owner string, max int) ([]hub.Request, error) {
			mu.Lock()
			defer mu.Unlock()
			more, err := s.ClaimRequests(context.Background(), owner, max)
			all = append(all, more...)
			return all[:min(len(all), max)], err
		}
	}},
	{"whoever asks", "Apply/stale", func(b *bent, s *hub.MemoryStore) {
		b.apply = func(_ string, r hub.Request, e time.Time) error { return s.Apply(context.Background(), ann, r, e) }
	}},
	{"renewed as new", "Apply/renewal", func(b *bent, s *hub.MemoryStore) {
		b.apply = func(owner string, r hub.Request, e time.Time) error {
			for old := range s.Subscriptions(context.Background()) {
				if old.Topic == r.Topic && old.Callback == r.Callback {
					s.End(context.Background(), old.ID)
				}
			}
			return s.Apply(context.Background(), owner, r, e)
		}
	}},
	{"never ended", "Apply/end Save/lost", func(b *bent, s *hub.MemoryStore) {
		b.apply = func(owner string, r hub.Request, e time.Time) error {
			if r.End {
				return s.Drop(context.Background(), owner, r)
			}
			return s.Apply(context.Background(), owner, r, e)
		}
	}},
	{"nothing is dropped", "Drop", func(b *bent, _ *hub.MemoryStore) {
		b.drop = func(string, hub.Request) error { return nil }
	}},
	{"nothing ends", "End", func(b *bent, _ *hub.MemoryStore) { b.end = func(int64) error { return nil } }},
}

var badClaims = []bad{
	{"one too many", "Claim Claim/race", func(b *bent, s *hub.MemoryStore) {
		b.claim = func(owner string, max int) ([]hub.Subscription, error) {
			return s.Claim(context.Background(), owner, max+1)
		}
	}},
	{"in any order", "Claim/order", func(b *bent, s *hub.MemoryStore) {
		b.claim = func(owner string, max int) ([]hub.Subscription, error) {
			all, err := s.Claim(context.Background(), owner, 100)
			var rest []hub.Progress
			slices.Reverse(all)
			for _, s := range all[min(len(all), max):] {
				s.Progress.Release = true
				rest = append(rest, s.Progress)
			}
			s.Save(context.Background(), owner, rest)
			return all[:min(len(all), max)], err
		}
	}},
	{"claims do not hold", "Claim Claim/race Claim/end", func(b *bent, s *hub.MemoryStore) {
		b.claim = func(owner string, max int) ([]hub.Subscription, error) {
			all, err := s.Claim(context.Background(), owner, max)
			for _, c := range all {
				c.Progress.Release = true
				s.Save(context.Background(), owner, []hub.Progress{c.Progress})
			}
			return all, err
		}
	}},
	{"retry at once", "Claim/retry", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].Retry = time.Time{}
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"never released", "Save Save/changed", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].Release = false
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"always released", "Save/renew", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].Release = true
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"nothing is lost", "Save/lost Save/changed Claim/end", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			_, err := s.Save(context.Background(), owner, all)
			return nil, err
		}
	}},
	{"whoever has changed it", "Save/end", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			lost, err := s.Save(context.Background(), owner, all)
			for _, p := range all {
				if p.End {
					s.End(context.Background(), p.ID)
				}
			}
			return lost, err
		}
	}},
	{"nothing ends", "Save/end", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].End = false
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"half is kept", "Save Apply/renewal", func(b *bent, s *hub.MemoryStore) {
		b.save = func(owner string, all []hub.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].LastGivenUp = 0
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
}
