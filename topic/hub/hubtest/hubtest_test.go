package hubtest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// TestMemory is Test, but that claims end at once.
func TestMemory(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hub.NewMemoryStore()
				r.check(newTrial(t, Subject{One: s, Other: s}))
			})
		})
	}
}

// A recorder takes note of what a rule finds.
type recorder struct {
	*testing.T
	mu    sync.Mutex
	found []string
}

type stop struct{}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(stop{})
}

// findings returns what a rule finds wrong with a store.
func findings(t *testing.T, r rule, one, other hub.Store) []string {
	rec := &recorder{T: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(stop{}) {
				panic(p)
			}
		}()
		r.check(newTrial(rec, Subject{One: one, Other: other}))
	}()
	time.Sleep(time.Hour) // let all end
	return rec.found
}

// bent is a good store with some methods replaced by bad ones.
type bent struct {
	publish       func(m hub.Message) (int64, error)
	messages      func(topic string, after int64, max, maxBytes int) ([]hub.Message, error)
	request       func(r hub.Request, limits hub.Limits) error
	claimRequests func(owner string, max int) ([]hub.Request, error)
	apply         func(owner string, r hub.Request, expires time.Time) error
	drop          func(owner string, r hub.Request) error
	claim         func(owner string, max int) ([]hub.Subscription, error)
	save          func(owner string, progress []hub.Progress) ([]int64, error)
	end           func(id int64) error
	subscriptions func() iter.Seq2[hub.Subscription, error]
	clear         func(before time.Time) ([]hub.Dropped, error)
	watch         func(ctx context.Context, wake func()) error
}

func newBent(ctx context.Context) (*bent, *hub.MemoryStore) {
	s := hub.NewMemoryStore()
	return &bent{
		publish:       func(m hub.Message) (int64, error) { return s.Publish(ctx, m) },
		messages:      func(t string, a int64, m, b int) ([]hub.Message, error) { return s.Messages(ctx, t, a, m, b) },
		request:       func(r hub.Request, l hub.Limits) error { return s.Request(ctx, r, l) },
		claimRequests: func(owner string, max int) ([]hub.Request, error) { return s.ClaimRequests(ctx, owner, max) },
		apply:         func(owner string, r hub.Request, e time.Time) error { return s.Apply(ctx, owner, r, e) },
		drop:          func(owner string, r hub.Request) error { return s.Drop(ctx, owner, r) },
		claim:         func(owner string, max int) ([]hub.Subscription, error) { return s.Claim(ctx, owner, max) },
		save:          func(owner string, p []hub.Progress) ([]int64, error) { return s.Save(ctx, owner, p) },
		end:           func(id int64) error { return s.End(ctx, id) },
		subscriptions: func() iter.Seq2[hub.Subscription, error] { return s.Subscriptions(ctx) },
		clear:         func(before time.Time) ([]hub.Dropped, error) { return s.Clear(ctx, before) },
		watch:         s.Watch,
	}, s
}

func (b *bent) Publish(_ context.Context, m hub.Message) (int64, error) { return b.publish(m) }
func (b *bent) Messages(_ context.Context, t string, a int64, m, n int) ([]hub.Message, error) {
	return b.messages(t, a, m, n)
}
func (b *bent) Request(_ context.Context, r hub.Request, l hub.Limits) error { return b.request(r, l) }
func (b *bent) ClaimRequests(_ context.Context, owner string, max int) ([]hub.Request, error) {
	return b.claimRequests(owner, max)
}
func (b *bent) Apply(_ context.Context, owner string, r hub.Request, e time.Time) error {
	return b.apply(owner, r, e)
}
func (b *bent) Drop(_ context.Context, owner string, r hub.Request) error { return b.drop(owner, r) }
func (b *bent) Claim(_ context.Context, owner string, max int) ([]hub.Subscription, error) {
	return b.claim(owner, max)
}
func (b *bent) Save(_ context.Context, owner string, p []hub.Progress) ([]int64, error) {
	return b.save(owner, p)
}
func (b *bent) End(_ context.Context, id int64) error { return b.end(id) }
func (b *bent) Subscriptions(context.Context) iter.Seq2[hub.Subscription, error] {
	return b.subscriptions()
}
func (b *bent) Clear(_ context.Context, before time.Time) ([]hub.Dropped, error) {
	return b.clear(before)
}
func (b *bent) Watch(ctx context.Context, wake func()) error { return b.watch(ctx, wake) }

// TestBad holds that what is wrong with a store is found by the rule that is about
// it.
func TestBad(t *testing.T) {
	for _, bad := range slices.Concat(badLogs, badRequests, badClaims) {
		t.Run(strings.ReplaceAll(bad.name, " ", "_"), func(t *testing.T) {
			for _, name := range strings.Fields(bad.breaks) {
				i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
				synctest.Test(t, func(t *testing.T) {
					b, s := newBent(t.Context())
					bad.bend(b, s)
					if len(findings(t, rules[i], b, b)) == 0 {
						t.Errorf("%s has not found it", name)
					}
				})
			}
		})
	}
}

// TestTwo holds that two stores that know nothing of each other are found out.
func TestTwo(t *testing.T) {
	for _, r := range rules {
		if r.name == "Watch/end" || r.name == "ClaimRequests/race" {
			continue // these are about each process by itself
		}
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if len(findings(t, r, hub.NewMemoryStore(), hub.NewMemoryStore())) == 0 {
					t.Error("nothing was found")
				}
			})
		})
	}
}
