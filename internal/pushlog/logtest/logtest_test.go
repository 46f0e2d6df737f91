package logtest

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

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// TestMemory is Test, except that sleeping takes no time.
func TestMemory(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := pushlog.NewMemory()
				r.check(newTrial(t, Subject{One: l, Other: l}))
			})
		})
	}
}

// A recorder records the findings of a rule.
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

// findings returns the faults that a rule finds in a store.
func findings(t *testing.T, r rule, one, other pushlog.Log) []string {
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

// bent is a good log with some methods replaced by bad ones.
type bent struct {
	*pushlog.Memory
	state         func(topic string) (pushlog.State, error)
	topics        func() ([]string, error)
	begin         func(topic string, first pushlog.State) (pushlog.State, error)
	add           func(n pushlog.Notification, before, next pushlog.State) error
	read          func(topic string, after int64, max, maxBytes int) ([]pushlog.Notification, error)
	hubCursor     func(topic, hub string) (pushlog.HubCursor, error)
	saveHubCursor func(c pushlog.HubCursor) error
	allHubCursors func() ([]pushlog.HubCursor, error)
	clear         func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error)
	lead          func(ctx context.Context, f func(context.Context) error) (bool, error)
	watch         func(ctx context.Context, wake func()) error
	request       func(r pushlog.Request, limits pushlog.Limits) error
	claimRequests func(owner string, max int) ([]pushlog.Request, error)
	apply         func(owner string, r pushlog.Request, expires time.Time) error
	drop          func(owner string, r pushlog.Request) error
	claim         func(owner string, max int) ([]pushlog.Subscription, error)
	save          func(owner string, progress []pushlog.Progress) ([]int64, error)
	end           func(id int64) error
	subscriptions func() iter.Seq2[pushlog.Subscription, error]
	expire        func() error
}

func newBent(ctx context.Context) *bent {
	l := pushlog.NewMemory()
	return &bent{
		Memory: l,
		state:  func(topic string) (pushlog.State, error) { return l.State(ctx, topic) },
		topics: func() ([]string, error) { return l.Topics(ctx) },
		begin:  func(topic string, s pushlog.State) (pushlog.State, error) { return l.Begin(ctx, topic, s) },
		add:    func(n pushlog.Notification, before, next pushlog.State) error { return l.Append(ctx, n, before, next) },
		read: func(topic string, a int64, m, b int) ([]pushlog.Notification, error) {
			return l.Read(ctx, topic, a, m, b)
		},
		hubCursor:     func(topic, hub string) (pushlog.HubCursor, error) { return l.HubCursor(ctx, topic, hub) },
		saveHubCursor: func(c pushlog.HubCursor) error { return l.SaveHubCursor(ctx, c) },
		allHubCursors: func() ([]pushlog.HubCursor, error) { return l.AllHubCursors(ctx) },
		clear: func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			return l.Clear(ctx, used, before, idle)
		},
		lead:          l.Lead,
		watch:         l.Watch,
		request:       func(r pushlog.Request, limits pushlog.Limits) error { return l.Request(ctx, r, limits) },
		claimRequests: func(owner string, max int) ([]pushlog.Request, error) { return l.ClaimRequests(ctx, owner, max) },
		apply:         func(owner string, r pushlog.Request, e time.Time) error { return l.Apply(ctx, owner, r, e) },
		drop:          func(owner string, r pushlog.Request) error { return l.Drop(ctx, owner, r) },
		claim:         func(owner string, max int) ([]pushlog.Subscription, error) { return l.Claim(ctx, owner, max) },
		save:          func(owner string, p []pushlog.Progress) ([]int64, error) { return l.Save(ctx, owner, p) },
		end:           func(id int64) error { return l.End(ctx, id) },
		subscriptions: func() iter.Seq2[pushlog.Subscription, error] { return l.Subscriptions(ctx) },
		expire:        func() error { return l.Expire(ctx) },
	}
}

func (b *bent) State(_ context.Context, topic string) (pushlog.State, error) { return b.state(topic) }
func (b *bent) Topics(context.Context) ([]string, error)                     { return b.topics() }
func (b *bent) Begin(_ context.Context, topic string, first pushlog.State) (pushlog.State, error) {
	return b.begin(topic, first)
}
func (b *bent) Append(_ context.Context, n pushlog.Notification, before, next pushlog.State) error {
	return b.add(n, before, next)
}
func (b *bent) Read(_ context.Context, topic string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
	return b.read(topic, after, max, maxBytes)
}
func (b *bent) HubCursor(_ context.Context, topic, hub string) (pushlog.HubCursor, error) {
	return b.hubCursor(topic, hub)
}
func (b *bent) SaveHubCursor(_ context.Context, c pushlog.HubCursor) error { return b.saveHubCursor(c) }
func (b *bent) AllHubCursors(context.Context) ([]pushlog.HubCursor, error) { return b.allHubCursors() }
func (b *bent) Clear(_ context.Context, used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
	return b.clear(used, before, idle)
}
func (b *bent) Lead(ctx context.Context, f func(context.Context) error) (bool, error) {
	return b.lead(ctx, f)
}
func (b *bent) Watch(ctx context.Context, wake func()) error { return b.watch(ctx, wake) }
func (b *bent) Request(_ context.Context, r pushlog.Request, l pushlog.Limits) error {
	return b.request(r, l)
}
func (b *bent) ClaimRequests(_ context.Context, owner string, max int) ([]pushlog.Request, error) {
	return b.claimRequests(owner, max)
}
func (b *bent) Apply(_ context.Context, owner string, r pushlog.Request, expires time.Time) error {
	return b.apply(owner, r, expires)
}
func (b *bent) Drop(_ context.Context, owner string, r pushlog.Request) error {
	return b.drop(owner, r)
}
func (b *bent) Claim(_ context.Context, owner string, max int) ([]pushlog.Subscription, error) {
	return b.claim(owner, max)
}
func (b *bent) Save(_ context.Context, owner string, p []pushlog.Progress) ([]int64, error) {
	return b.save(owner, p)
}
func (b *bent) End(_ context.Context, id int64) error { return b.end(id) }
func (b *bent) Subscriptions(context.Context) iter.Seq2[pushlog.Subscription, error] {
	return b.subscriptions()
}
func (b *bent) Expire(context.Context) error { return b.expire() }

// TestBad: each fault of a log is found by the rule about it.
func TestBad(t *testing.T) {
	for _, bad := range slices.Concat(badLogs, badCursors, badRequests, badClaims) {
		t.Run(strings.ReplaceAll(bad.name, " ", "_"), func(t *testing.T) {
			for _, name := range strings.Fields(bad.breaks) {
				i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
				synctest.Test(t, func(t *testing.T) {
					b := newBent(t.Context())
					bad.bend(b, b.Memory)
					if len(findings(t, rules[i], b, b)) == 0 {
						t.Errorf("%s has not found it", name)
					}
				})
			}
		})
	}
}

// TestTwo: two logs that are not connected are detected.
func TestTwo(t *testing.T) {
	for _, r := range rules {
		// These rules are about each process by itself.
		if slices.Contains([]string{"State", "Append/number", "Lead/end", "Watch/end", "ClaimRequests/race"}, r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if len(findings(t, r, pushlog.NewMemory(), pushlog.NewMemory())) == 0 {
					t.Error("nothing was found")
				}
			})
		})
	}
}
