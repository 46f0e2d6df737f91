package topictest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

var badOutboxes = []struct {
	name   string
	breaks string // the rules
	bend   func(b *bent, o *topic.MemoryOutbox)
}{
	{"states begin now", "State Begin", func(b *bent, o *topic.MemoryOutbox) {
		b.state = func(name string) (topic.State, error) {
			s, err := o.State(context.Background(), name)
			if s.Until.IsZero() {
				s.Until = time.Now()
			}
			return s, err
		}
	}},
	{"the last one begins", "Begin", func(b *bent, o *topic.MemoryOutbox) {
		last := map[string]topic.State{}
		b.begin = func(name string, s topic.State) (topic.State, error) { last[name] = s; return s, nil }
		b.state = func(name string) (topic.State, error) { return last[name], nil }
	}},
	{"nobody hears who has begun", "Begin/race", func(b *bent, o *topic.MemoryOutbox) {
		b.begin = func(name string, s topic.State) (topic.State, error) {
			_, err := o.Begin(context.Background(), name, s)
			return s, err
		}
	}},
	{"zero is not begun", "Begin", func(b *bent, o *topic.MemoryOutbox) {
		b.begin = func(name string, s topic.State) (topic.State, error) {
			if s.Equal(topic.State{}) {
				return s, nil
			}
			return o.Begin(context.Background(), name, s)
		}
	}},
	{"microseconds", "Begin Add/keeps Add/moved", func(b *bent, o *topic.MemoryOutbox) {
		cut := func(s topic.State) topic.State { s.Until = s.Until.Truncate(time.Microsecond); return s }
		b.begin = func(name string, s topic.State) (topic.State, error) {
			return o.Begin(context.Background(), name, cut(s))
		}
		b.add = func(n topic.Notification, before, next topic.State) error {
			n.From, n.Until = n.From.Truncate(time.Microsecond), n.Until.Truncate(time.Microsecond)
			return o.Add(context.Background(), n, cut(before), cut(next))
		}
	}},
	{"the number of the notification", "Add", func(b *bent, o *topic.MemoryOutbox) {
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			all, err := o.Notifications(context.Background(), name, after, max)
			for i := range all {
				all[i].Number = 77
			}
			return all, err
		}
	}},
	{"the body is the caller's", "Add/keeps", func(b *bent, o *topic.MemoryOutbox) {
		bodies := map[int64][]byte{}
		b.add = func(n topic.Notification, before, next topic.State) error {
			bodies[next.Number] = n.Body
			return o.Add(context.Background(), n, before, next)
		}
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			all, err := o.Notifications(context.Background(), name, after, max)
			for i := range all {
				all[i].Body = bodies[all[i].Number]
			}
			return all, err
		}
	}},
	{"only the number is compared", "Add/moved", func(b *bent, o *topic.MemoryOutbox) {
		b.add = func(n topic.Notification, before, next topic.State) error {
			s, _ := o.State(context.Background(), n.Topic)
			if s.Number == before.Number {
				before = s
			}
			return o.Add(context.Background(), n, before, next)
		}
	}},
	{"added all the same", "Add/moved", func(b *bent, o *topic.MemoryOutbox) {
		b.add = func(n topic.Notification, before, next topic.State) error {
			err := o.Add(context.Background(), n, before, next)
			if errors.Is(err, topic.ErrMoved) {
				s, _ := o.State(context.Background(), n.Topic)
				o.Add(context.Background(), n, s, after(s))
			}
			return err
		}
	}},
	{"any number", "Add/number", func(b *bent, o *topic.MemoryOutbox) {
		b.add = func(n topic.Notification, before, next topic.State) error {
			next.Number = before.Number + 1
			return o.Add(context.Background(), n, before, next)
		}
	}},
	{"not in one transaction", "Add/race", func(b *bent, o *topic.MemoryOutbox) {
		var mu sync.Mutex
		var states []topic.State
		var all []topic.Notification
		b.state = func(string) (topic.State, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(states) == 0 {
				return topic.State{}, nil
			}
			return states[len(states)-1], nil
		}
		b.add = func(n topic.Notification, before, next topic.State) error {
			s, _ := b.state(n.Topic)
			if !s.Equal(before) {
				return topic.ErrMoved
			}
			time.Sleep(time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			n.Number = next.Number
			states, all = append(states, next), append(all, n)
			return nil
		}
		b.notifications = func(_ string, after int64, max int) ([]topic.Notification, error) {
			mu.Lock()
			defer mu.Unlock()
			i := slices.IndexFunc(all, func(n topic.Notification) bool { return n.Number > after })
			if i < 0 {
				return nil, nil
			}
			return slices.Clone(all[i:min(i+max, len(all))]), nil
		}
	}},
	{"seen too early", "Add/race", func(b *bent, o *topic.MemoryOutbox) {
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			all, err := o.Notifications(context.Background(), name, after, max)
			return all[len(all)/2:], err
		}
	}},
	{"one too many", "Notifications", func(b *bent, o *topic.MemoryOutbox) {
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			return o.Notifications(context.Background(), name, after, max+1)
		}
	}},
	{"inclusive", "Notifications", func(b *bent, o *topic.MemoryOutbox) {
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			return o.Notifications(context.Background(), name, after-1, max)
		}
	}},
	{"newest first", "Notifications", func(b *bent, o *topic.MemoryOutbox) {
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			all, err := o.Notifications(context.Background(), name, after, max)
			slices.Reverse(all)
			return all, err
		}
	}},
	{"new hubs begin at the beginning", "Queue", func(b *bent, o *topic.MemoryOutbox) {
		b.queue = func(name, hub string) (topic.Queue, error) {
			q, err := o.Queue(context.Background(), name, hub)
			if q.Failures == 0 {
				q.Taken = 0
			}
			return q, err
		}
	}},
	{"queues are not made", "Queue", func(b *bent, o *topic.MemoryOutbox) {
		b.queue = func(name, hub string) (topic.Queue, error) {
			s, err := o.State(context.Background(), name)
			return topic.Queue{Topic: name, Hub: hub, Taken: s.Number}, err
		}
	}},
	{"half of a queue is kept", "Save", func(b *bent, o *topic.MemoryOutbox) {
		b.save = func(q topic.Queue) error {
			q.RefusedError = ""
			return o.Save(context.Background(), q)
		}
	}},
	{"seconds", "Save", func(b *bent, o *topic.MemoryOutbox) {
		b.save = func(q topic.Queue) error {
			q.Retry = q.Retry.Truncate(time.Second)
			return o.Save(context.Background(), q)
		}
	}},
	{"only queues that are there", "Save", func(b *bent, o *topic.MemoryOutbox) {
		b.save = func(q topic.Queue) error {
			all, _ := o.Queues(context.Background())
			if !slices.ContainsFunc(all, func(p topic.Queue) bool { return p.Topic == q.Topic && p.Hub == q.Hub }) {
				return nil
			}
			return o.Save(context.Background(), q)
		}
	}},
	{"no strange texts", "Save", func(b *bent, o *topic.MemoryOutbox) {
		b.save = func(q topic.Queue) error {
			if slices.Contains([]byte(q.LastError), 0) {
				return errors.New("invalid text")
			}
			return o.Save(context.Background(), q)
		}
	}},
	{"in any order", "Queues", func(b *bent, o *topic.MemoryOutbox) {
		b.queues = func() ([]topic.Queue, error) {
			all, err := o.Queues(context.Background())
			slices.Reverse(all)
			return all, err
		}
	}},
	{"nothing is cleared", "Clear/taken Clear/before Clear/queues Clear/topics Clear/many", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(map[string][]string, time.Time, time.Time) error { return nil }
	}},
	{"whatever one hub has taken", "Clear/taken", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			first := map[string][]string{}
			for name, hubs := range used {
				first[name] = hubs[:min(len(hubs), 1)]
			}
			return o.Clear(context.Background(), first, before, time.Now().Add(time.Hour))
		}
	}},
	{"the newest, too", "Clear/taken Clear/before Clear/topics Clear/many", func(b *bent, o *topic.MemoryOutbox) {
		none := false
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			none = true
			return o.Clear(context.Background(), used, before, idle)
		}
		b.notifications = func(name string, after int64, max int) ([]topic.Notification, error) {
			all, err := o.Notifications(context.Background(), name, after, max)
			if none && len(all) == 1 {
				all = nil
			}
			return all, err
		}
	}},
	{"however old", "Clear/before Clear/topics", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, _, idle time.Time) error {
			return o.Clear(context.Background(), used, time.Time{}, idle)
		}
	}},
	{"however new", "Clear/before Clear/topics", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, _, idle time.Time) error {
			return o.Clear(context.Background(), used, time.Now().Add(time.Hour), idle)
		}
	}},
	{"queues are moved on", "Clear/before", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			all, _ := o.Queues(context.Background())
			for _, q := range all {
				q.Lost++
				o.Save(context.Background(), q)
			}
			return o.Clear(context.Background(), used, before, idle)
		}
	}},
	{"some queues are left", "Clear/queues", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			more := map[string][]string{}
			for name, hubs := range used {
				more[name] = append([]string{hubB}, hubs...)
			}
			return o.Clear(context.Background(), more, before, idle)
		}
	}},
	{"queues that are not in use go at once", "Clear/queues", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, _ time.Time) error {
			return o.Clear(context.Background(), used, before, time.Now().Add(time.Hour))
		}
	}},
	{"a hub is in use for all topics", "Clear/queues", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			all := map[string][]string{}
			for name := range used {
				all[name] = slices.Concat(slices.Collect(maps.Values(used))...)
			}
			return o.Clear(context.Background(), all, before, idle)
		}
	}},
	{"topics stay", "Clear/topics", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			all := maps.Clone(used)
			if all == nil {
				all = map[string][]string{}
			}
			all[changes] = []string{hubA}
			return o.Clear(context.Background(), all, before, idle)
		}
	}},
	{"their queues stay", "Clear/topics", func(b *bent, o *topic.MemoryOutbox) {
		b.clear = func(used map[string][]string, before, idle time.Time) error {
			all, _ := o.Queues(context.Background())
			err := o.Clear(context.Background(), used, before, idle)
			for _, q := range all {
				o.Save(context.Background(), q)
			}
			return err
		}
	}},
	{"everybody leads", "Lead", func(b *bent, o *topic.MemoryOutbox) {
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) { return true, f(ctx) }
	}},
	{"nobody leads", "Lead Lead/end", func(b *bent, o *topic.MemoryOutbox) {
		b.lead = func(context.Context, func(context.Context) error) (bool, error) { return false, nil }
	}},
	{"leads once", "Lead", func(b *bent, o *topic.MemoryOutbox) {
		led := false
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) {
			if led {
				return false, nil
			}
			led = true
			return true, f(ctx)
		}
	}},
	{"hides the error", "Lead Lead/end", func(b *bent, o *topic.MemoryOutbox) {
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) {
			led, _ := o.Lead(ctx, f)
			return led, nil
		}
	}},
	{"leads for ever", "Lead/end", func(b *bent, o *topic.MemoryOutbox) {
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) {
			return o.Lead(context.WithoutCancel(ctx), f)
		}
	}},
	{"does not wake", "Watch", func(b *bent, o *topic.MemoryOutbox) {
		b.watch = func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() }
	}},
	{"wakes once", "Watch", func(b *bent, o *topic.MemoryOutbox) {
		b.watch = func(ctx context.Context, wake func()) error { wake(); <-ctx.Done(); return ctx.Err() }
	}},
	{"does not wake to begin with", "Watch", func(b *bent, o *topic.MemoryOutbox) {
		b.watch = func(ctx context.Context, wake func()) error {
			first := true
			return o.Watch(ctx, func() {
				if !first {
					wake()
				}
				first = false
			})
		}
	}},
	{"does not go on watching", "Watch Watch/end", func(b *bent, o *topic.MemoryOutbox) {
		b.watch = func(_ context.Context, wake func()) error { wake(); return nil }
	}},
	{"watches for ever", "Watch/end", func(b *bent, o *topic.MemoryOutbox) {
		b.watch = func(ctx context.Context, wake func()) error {
			<-ctx.Done()
			time.Sleep(2 * patience)
			return ctx.Err()
		}
	}},
	{"ends well", "Watch/end", func(b *bent, o *topic.MemoryOutbox) {
		b.watch = func(ctx context.Context, wake func()) error { <-ctx.Done(); return nil }
	}},
}
