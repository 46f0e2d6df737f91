package logtest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

type bad struct {
	name   string
	breaks string // the rules
	bend   func(b *bent, s *pushlog.Memory)
}

var badCursors = []bad{
	{"any number of bytes", "Read", func(b *bent, l *pushlog.Memory) {
		b.read = func(topic string, after int64, max, _ int) ([]pushlog.Notification, error) {
			return l.Read(context.Background(), topic, after, max, 1<<30)
		}
	}},
	{"only topics with notifications", "Topics", func(b *bent, l *pushlog.Memory) {
		b.topics = func() ([]string, error) {
			all, err := l.Topics(context.Background())
			return slices.DeleteFunc(all, func(topic string) bool {
				s, _ := l.State(context.Background(), topic)
				return s.Number == 0
			}), err
		}
	}},
	{"nothing expires", "Expire/subscriptions Expire/requests", func(b *bent, _ *pushlog.Memory) {
		b.expire = func() error { return nil }
	}},
	{"undelivered notifications are cleared", "Clear/subscriptions", func(b *bent, l *pushlog.Memory) {
		b.clear = func(used map[string][]string, _, idle time.Time) ([]pushlog.Dropped, error) {
			return l.Clear(context.Background(), used, time.Now().Add(time.Hour), idle)
		}
	}},
	{"silently", "Clear/dropped", func(b *bent, l *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			_, err := l.Clear(context.Background(), used, before, idle)
			return nil, err
		}
	}},
	{"each as if nobody had any", "Clear/dropped", func(b *bent, l *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			dropped, err := l.Clear(context.Background(), used, before, idle)
			for i, d := range dropped {
				dropped[i].Deliveries = d.Messages * d.Subscriptions
			}
			return dropped, err
		}
	}},
	{"wakes for notifications alone", "Watch/claims", func(b *bent, l *pushlog.Memory) {
		b.watch = func(ctx context.Context, wake func()) error { wake(); <-ctx.Done(); return ctx.Err() }
	}},
	{"some subscriptions", "Subscriptions", func(b *bent, l *pushlog.Memory) {
		b.subscriptions = func() iter.Seq2[pushlog.Subscription, error] {
			return func(yield func(pushlog.Subscription, error) bool) {
				for s, err := range l.Subscriptions(context.Background()) {
					if s.ID%5 != 0 && !yield(s, err) {
						return
					}
				}
			}
		}
	}},
}

var badRequests = []bad{
	{"without limits", "Request/limits Request/race", func(b *bent, s *pushlog.Memory) {
		b.request = func(r pushlog.Request, _ pushlog.Limits) error {
			return s.Request(context.Background(), r, pushlog.Limits{})
		}
	}},
	{"one too few", "Request/limits", func(b *bent, s *pushlog.Memory) {
		b.request = func(r pushlog.Request, l pushlog.Limits) error {
			for _, n := range []*int{&l.Host, &l.HostPending, &l.Client, &l.ClientPending, &l.Topic, &l.Pending} {
				if *n > 1 {
					*n--
				}
			}
			return s.Request(context.Background(), r, l)
		}
	}},
	{"callbacks are the same whatever follows", "Request/replaced ClaimRequests", func(b *bent, s *pushlog.Memory) {
		b.request = func(r pushlog.Request, l pushlog.Limits) error {
			r.Callback = r.Callback[:8]
			return s.Request(context.Background(), r, l)
		}
	}},
	{"newest first", "ClaimRequests", func(b *bent, s *pushlog.Memory) {
		b.claimRequests = func(owner string, max int) ([]pushlog.Request, error) {
			all, err := s.ClaimRequests(context.Background(), owner, max)
			slices.Reverse(all)
			return all, err
		}
	}},
	{"whichever client", "ClaimRequests/fair", func(b *bent, s *pushlog.Memory) {
		b.request = func(r pushlog.Request, l pushlog.Limits) error {
			r.Client = ""
			return s.Request(context.Background(), r, l)
		}
	}},
	{"all claim the same", "ClaimRequests/race ClaimRequests/end", func(b *bent, s *pushlog.Memory) {
		var mu sync.Mutex
		var all []pushlog.Request
		b.claimRequests = func(owner string, max int) ([]pushlog.Request, error) {
			mu.Lock()
			defer mu.Unlock()
			more, err := s.ClaimRequests(context.Background(), owner, max)
			all = append(all, more...)
			return all[:min(len(all), max)], err
		}
	}},
	{"a stale owner is accepted", "Apply/stale", func(b *bent, s *pushlog.Memory) {
		b.apply = func(_ string, r pushlog.Request, e time.Time) error { return s.Apply(context.Background(), ann, r, e) }
	}},
	{"from the confirmation", "Apply/begin", func(b *bent, s *pushlog.Memory) {
		b.apply = func(owner string, r pushlog.Request, e time.Time) error {
			ctx := context.Background()
			if err := s.Drop(ctx, owner, r); err != nil {
				return err
			}
			_ = s.Request(ctx, r, pushlog.Limits{})
			again, _ := s.ClaimRequests(ctx, owner, 1)
			return s.Apply(ctx, owner, again[0], e)
		}
	}},
	{"from a repeated request", "Apply/begin", func(b *bent, s *pushlog.Memory) {
		b.request = func(r pushlog.Request, l pushlog.Limits) error {
			if !r.End {
				end := r
				end.End = true
				_ = s.Request(context.Background(), end, pushlog.Limits{}) // forgets the number
			}
			return s.Request(context.Background(), r, l)
		}
	}},
	{"renewed as new", "Apply/renewal", func(b *bent, s *pushlog.Memory) {
		b.apply = func(owner string, r pushlog.Request, e time.Time) error {
			for old := range s.Subscriptions(context.Background()) {
				if old.Topic == r.Topic && old.Callback == r.Callback {
					s.End(context.Background(), old.ID)
				}
			}
			return s.Apply(context.Background(), owner, r, e)
		}
	}},
	{"never ended", "Apply/end Save/lost", func(b *bent, s *pushlog.Memory) {
		b.apply = func(owner string, r pushlog.Request, e time.Time) error {
			if r.End {
				return s.Drop(context.Background(), owner, r)
			}
			return s.Apply(context.Background(), owner, r, e)
		}
	}},
	{"nothing is dropped", "Drop", func(b *bent, _ *pushlog.Memory) {
		b.drop = func(string, pushlog.Request) error { return nil }
	}},
	{"nothing ends", "End", func(b *bent, _ *pushlog.Memory) { b.end = func(int64) error { return nil } }},
}

var badClaims = []bad{
	{"one too many", "Claim Claim/race", func(b *bent, s *pushlog.Memory) {
		b.claim = func(owner string, max int) ([]pushlog.Subscription, error) {
			return s.Claim(context.Background(), owner, max+1)
		}
	}},
	{"in any order", "Claim/order", func(b *bent, s *pushlog.Memory) {
		b.claim = func(owner string, max int) ([]pushlog.Subscription, error) {
			all, err := s.Claim(context.Background(), owner, 100)
			var rest []pushlog.Progress
			slices.Reverse(all)
			for _, s := range all[min(len(all), max):] {
				s.Progress.Release = true
				rest = append(rest, s.Progress)
			}
			s.Save(context.Background(), owner, rest)
			return all[:min(len(all), max)], err
		}
	}},
	{"claims do not hold", "Claim Claim/race Claim/end", func(b *bent, s *pushlog.Memory) {
		b.claim = func(owner string, max int) ([]pushlog.Subscription, error) {
			all, err := s.Claim(context.Background(), owner, max)
			for _, c := range all {
				c.Progress.Release = true
				s.Save(context.Background(), owner, []pushlog.Progress{c.Progress})
			}
			return all, err
		}
	}},
	{"retry at once", "Claim/retry", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].Retry = time.Time{}
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"never released", "Save Save/changed", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].Release = false
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"always released", "Save/renew", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].Release = true
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"nothing is lost", "Save/lost Save/changed Claim/end", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			_, err := s.Save(context.Background(), owner, all)
			return nil, err
		}
	}},
	{"a lost claim ends the subscription", "Save/end", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			lost, err := s.Save(context.Background(), owner, all)
			for _, p := range all {
				if p.End {
					s.End(context.Background(), p.ID)
				}
			}
			return lost, err
		}
	}},
	{"nothing ends", "Save/end", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].End = false
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"half is kept", "Save Apply/renewal", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].LastGivenUp = 0
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
	{"the last delivery is lost", "Save Apply/renewal", func(b *bent, s *pushlog.Memory) {
		b.save = func(owner string, all []pushlog.Progress) ([]int64, error) {
			all = slices.Clone(all)
			for i := range all {
				all[i].LastDelivered = time.Time{}
			}
			return s.Save(context.Background(), owner, all)
		}
	}},
}
