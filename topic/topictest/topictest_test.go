package topictest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

func TestMemory(t *testing.T) {
	Test(t, func(t *testing.T) (one, other topic.Outbox) {
		o := topic.NewMemoryOutbox()
		return o, o
	})
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

// findings returns what a rule finds wrong with an outbox.
func findings(t *testing.T, r rule, one, other topic.Outbox) []string {
	rec := &recorder{T: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(stop{}) {
				panic(p)
			}
		}()
		r.check(rec, one, other)
	}()
	return rec.found
}

// bent is a good outbox with some methods replaced by bad ones.
type bent struct {
	*topic.MemoryOutbox
	state         func(topic string) (topic.State, error)
	begin         func(topic string, first topic.State) (topic.State, error)
	add           func(n topic.Notification, before, next topic.State) error
	notifications func(topic string, after int64, max int) ([]topic.Notification, error)
	queue         func(topic, hub string) (topic.Queue, error)
	save          func(q topic.Queue) error
	queues        func() ([]topic.Queue, error)
	clear         func(used map[string][]string, before, idle time.Time) error
	lead          func(ctx context.Context, f func(context.Context) error) (bool, error)
	watch         func(ctx context.Context, wake func()) error
}

func (b *bent) State(_ context.Context, name string) (topic.State, error) { return b.state(name) }
func (b *bent) Begin(_ context.Context, name string, first topic.State) (topic.State, error) {
	return b.begin(name, first)
}
func (b *bent) Add(_ context.Context, n topic.Notification, before, next topic.State) error {
	return b.add(n, before, next)
}
func (b *bent) Notifications(_ context.Context, name string, after int64, max int) ([]topic.Notification, error) {
	return b.notifications(name, after, max)
}
func (b *bent) Queue(_ context.Context, name, hub string) (topic.Queue, error) {
	return b.queue(name, hub)
}
func (b *bent) Save(_ context.Context, q topic.Queue) error   { return b.save(q) }
func (b *bent) Queues(context.Context) ([]topic.Queue, error) { return b.queues() }
func (b *bent) Watch(ctx context.Context, wake func()) error  { return b.watch(ctx, wake) }
func (b *bent) Clear(_ context.Context, used map[string][]string, before, idle time.Time) error {
	return b.clear(used, before, idle)
}
func (b *bent) Lead(ctx context.Context, f func(context.Context) error) (bool, error) {
	return b.lead(ctx, f)
}

func newBent(ctx context.Context) *bent {
	o := topic.NewMemoryOutbox()
	return &bent{
		MemoryOutbox: o,
		state:        func(name string) (topic.State, error) { return o.State(ctx, name) },
		begin:        func(name string, s topic.State) (topic.State, error) { return o.Begin(ctx, name, s) },
		add:          func(n topic.Notification, before, next topic.State) error { return o.Add(ctx, n, before, next) },
		notifications: func(name string, a int64, m int) ([]topic.Notification, error) {
			return o.Notifications(ctx, name, a, m)
		},
		queue:  func(name, hub string) (topic.Queue, error) { return o.Queue(ctx, name, hub) },
		save:   func(q topic.Queue) error { return o.Save(ctx, q) },
		queues: func() ([]topic.Queue, error) { return o.Queues(ctx) },
		clear: func(used map[string][]string, before, idle time.Time) error {
			return o.Clear(ctx, used, before, idle)
		},
		lead:  o.Lead,
		watch: o.Watch,
	}
}

// TestBad holds that what is wrong with an outbox is found by the rule that is
// about it.
func TestBad(t *testing.T) {
	for _, bad := range badOutboxes {
		t.Run(strings.ReplaceAll(bad.name, " ", "_"), func(t *testing.T) {
			for _, name := range strings.Fields(bad.breaks) {
				i := slices.IndexFunc(rules, func(r rule) bool { return r.name == name })
				synctest.Test(t, func(t *testing.T) {
					b := newBent(t.Context())
					bad.bend(b, b.MemoryOutbox)
					if len(findings(t, rules[i], b, b)) == 0 {
						t.Errorf("%s has not found it", name)
					}
					time.Sleep(time.Hour) // let all end
				})
			}
		})
	}
}

// TestTwo holds that two outboxes that know nothing of each other are found out.
func TestTwo(t *testing.T) {
	for _, r := range rules {
		if slices.Contains([]string{"State", "Add/number", "Lead/end", "Watch/end"}, r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if len(findings(t, r, topic.NewMemoryOutbox(), topic.NewMemoryOutbox())) == 0 {
					t.Error("nothing was found")
				}
			})
		})
	}
}
