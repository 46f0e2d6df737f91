package logtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

var badLogs = []bad{
	{"states begin now", "State Begin", func(b *bent, o *pushlog.Memory) {
		b.state = func(name string) (pushlog.State, error) {
			s, err := o.State(context.Background(), name)
			if s.Until.IsZero() {
				s.Until = time.Now()
			}
			return s, err
		}
	}},
	{"the last one begins", "Begin", func(b *bent, o *pushlog.Memory) {
		last := map[string]pushlog.State{}
		b.begin = func(name string, s pushlog.State) (pushlog.State, error) { last[name] = s; return s, nil }
		b.state = func(name string) (pushlog.State, error) { return last[name], nil }
	}},
	{"a lost race is not reported", "Begin/race", func(b *bent, o *pushlog.Memory) {
		b.begin = func(name string, s pushlog.State) (pushlog.State, error) {
			_, err := o.Begin(context.Background(), name, s)
			return s, err
		}
	}},
	{"microseconds", "Begin Append/keeps Append/moved", func(b *bent, o *pushlog.Memory) {
		cut := func(s pushlog.State) pushlog.State { s.Until = s.Until.Truncate(time.Microsecond); return s }
		b.begin = func(name string, s pushlog.State) (pushlog.State, error) {
			return o.Begin(context.Background(), name, cut(s))
		}
		b.add = func(n pushlog.Notification, before, next pushlog.State) error {
			n.From, n.Until = n.From.Truncate(time.Microsecond), n.Until.Truncate(time.Microsecond)
			return o.Append(context.Background(), n, cut(before), cut(next))
		}
	}},
	{"the number of the notification", "Append", func(b *bent, o *pushlog.Memory) {
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			all, err := o.Read(context.Background(), name, after, max, maxBytes)
			for i := range all {
				all[i].Number = 77
			}
			return all, err
		}
	}},
	{"the body is the caller's", "Append/keeps", func(b *bent, o *pushlog.Memory) {
		bodies := map[int64][]byte{}
		b.add = func(n pushlog.Notification, before, next pushlog.State) error {
			bodies[next.Number] = n.Body
			return o.Append(context.Background(), n, before, next)
		}
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			all, err := o.Read(context.Background(), name, after, max, maxBytes)
			for i := range all {
				all[i].Body = bodies[all[i].Number]
			}
			return all, err
		}
	}},
	{"only the number is compared", "Append/moved", func(b *bent, o *pushlog.Memory) {
		b.add = func(n pushlog.Notification, before, next pushlog.State) error {
			s, _ := o.State(context.Background(), n.Topic)
			if s.Number == before.Number {
				before = s
			}
			return o.Append(context.Background(), n, before, next)
		}
	}},
	{"added all the same", "Append/moved", func(b *bent, o *pushlog.Memory) {
		b.add = func(n pushlog.Notification, before, next pushlog.State) error {
			err := o.Append(context.Background(), n, before, next)
			if errors.Is(err, pushlog.ErrMoved) {
				s, _ := o.State(context.Background(), n.Topic)
				o.Append(context.Background(), n, s, after(s))
			}
			return err
		}
	}},
	{"any number", "Append/number", func(b *bent, o *pushlog.Memory) {
		b.add = func(n pushlog.Notification, before, next pushlog.State) error {
			next.Number = before.Number + 1
			return o.Append(context.Background(), n, before, next)
		}
	}},
	{"not in one transaction", "Append/race", func(b *bent, o *pushlog.Memory) {
		var mu sync.Mutex
		var states []pushlog.State
		var all []pushlog.Notification
		b.state = func(string) (pushlog.State, error) {
			mu.Lock()
			defer mu.Unlock()
			if len(states) == 0 {
				return pushlog.State{}, nil
			}
			return states[len(states)-1], nil
		}
		b.add = func(n pushlog.Notification, before, next pushlog.State) error {
			s, _ := b.state(n.Topic)
			if !s.Equal(before) {
				return pushlog.ErrMoved
			}
			time.Sleep(time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			n.Number = next.Number
			states, all = append(states, next), append(all, n)
			return nil
		}
		b.read = func(_ string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			mu.Lock()
			defer mu.Unlock()
			i := slices.IndexFunc(all, func(n pushlog.Notification) bool { return n.Number > after })
			if i < 0 {
				return nil, nil
			}
			return slices.Clone(all[i:min(i+max, len(all))]), nil
		}
	}},
	{"seen too early", "Append/race", func(b *bent, o *pushlog.Memory) {
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			all, err := o.Read(context.Background(), name, after, max, maxBytes)
			return all[len(all)/2:], err
		}
	}},
	{"one too many", "Read", func(b *bent, o *pushlog.Memory) {
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			return o.Read(context.Background(), name, after, max+1, maxBytes)
		}
	}},
	{"inclusive", "Read", func(b *bent, o *pushlog.Memory) {
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			return o.Read(context.Background(), name, after-1, max, maxBytes)
		}
	}},
	{"newest first", "Read", func(b *bent, o *pushlog.Memory) {
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			all, err := o.Read(context.Background(), name, after, max, maxBytes)
			slices.Reverse(all)
			return all, err
		}
	}},
	{"new hubs begin at the beginning", "HubCursor", func(b *bent, o *pushlog.Memory) {
		b.hubCursor = func(name, hub string) (pushlog.HubCursor, error) {
			q, err := o.HubCursor(context.Background(), name, hub)
			if q.Failures == 0 {
				q.Taken = 0
			}
			return q, err
		}
	}},
	{"queues are not made", "HubCursor", func(b *bent, o *pushlog.Memory) {
		b.hubCursor = func(name, hub string) (pushlog.HubCursor, error) {
			s, err := o.State(context.Background(), name)
			return pushlog.HubCursor{Topic: name, Hub: hub, Cursor: pushlog.Cursor{Taken: s.Number}}, err
		}
	}},
	{"half of a queue is kept", "SaveHubCursor", func(b *bent, o *pushlog.Memory) {
		b.saveHubCursor = func(q pushlog.HubCursor) error {
			q.RefusedError = ""
			return o.SaveHubCursor(context.Background(), q)
		}
	}},
	{"seconds", "SaveHubCursor", func(b *bent, o *pushlog.Memory) {
		b.saveHubCursor = func(q pushlog.HubCursor) error {
			q.Retry = q.Retry.Truncate(time.Second)
			return o.SaveHubCursor(context.Background(), q)
		}
	}},
	{"only queues that are there", "SaveHubCursor", func(b *bent, o *pushlog.Memory) {
		b.saveHubCursor = func(q pushlog.HubCursor) error {
			all, _ := o.AllHubCursors(context.Background())
			if !slices.ContainsFunc(all, func(p pushlog.HubCursor) bool { return p.Topic == q.Topic && p.Hub == q.Hub }) {
				return nil
			}
			return o.SaveHubCursor(context.Background(), q)
		}
	}},
	{"no strange texts", "SaveHubCursor", func(b *bent, o *pushlog.Memory) {
		b.saveHubCursor = func(q pushlog.HubCursor) error {
			if slices.Contains([]byte(q.LastError), 0) {
				return errors.New("invalid text")
			}
			return o.SaveHubCursor(context.Background(), q)
		}
	}},
	{"in any order", "AllHubCursors", func(b *bent, o *pushlog.Memory) {
		b.allHubCursors = func() ([]pushlog.HubCursor, error) {
			all, err := o.AllHubCursors(context.Background())
			slices.Reverse(all)
			return all, err
		}
	}},
	{"nothing is cleared", "Clear/taken Clear/before Clear/hubs Clear/topics Clear/many", func(b *bent, o *pushlog.Memory) {
		b.clear = func(map[string][]string, time.Time, time.Time) ([]pushlog.Dropped, error) { return nil, nil }
	}},
	{"whatever one hub has taken", "Clear/taken", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			first := map[string][]string{}
			for name, hubs := range used {
				first[name] = hubs[:min(len(hubs), 1)]
			}
			return o.Clear(context.Background(), first, before, time.Now().Add(time.Hour))
		}
	}},
	{"the newest, too", "Clear/taken Clear/before Clear/topics Clear/many", func(b *bent, o *pushlog.Memory) {
		none := false
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			none = true
			return o.Clear(context.Background(), used, before, idle)
		}
		b.read = func(name string, after int64, max, maxBytes int) ([]pushlog.Notification, error) {
			all, err := o.Read(context.Background(), name, after, max, maxBytes)
			if none && len(all) == 1 {
				all = nil
			}
			return all, err
		}
	}},
	{"however old", "Clear/before Clear/topics", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, _, idle time.Time) ([]pushlog.Dropped, error) {
			return o.Clear(context.Background(), used, time.Time{}, idle)
		}
	}},
	{"however new", "Clear/before Clear/topics", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, _, idle time.Time) ([]pushlog.Dropped, error) {
			return o.Clear(context.Background(), used, time.Now().Add(time.Hour), idle)
		}
	}},
	{"queues are moved on", "Clear/before", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			all, _ := o.AllHubCursors(context.Background())
			for _, q := range all {
				q.Lost++
				o.SaveHubCursor(context.Background(), q)
			}
			return o.Clear(context.Background(), used, before, idle)
		}
	}},
	{"some queues are left", "Clear/hubs", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			more := map[string][]string{}
			for name, hubs := range used {
				more[name] = append([]string{hubB}, hubs...)
			}
			return o.Clear(context.Background(), more, before, idle)
		}
	}},
	{"queues that are not in use go at once", "Clear/hubs", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, _ time.Time) ([]pushlog.Dropped, error) {
			return o.Clear(context.Background(), used, before, time.Now().Add(time.Hour))
		}
	}},
	{"a hub is in use for all topics", "Clear/hubs", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			all := map[string][]string{}
			for name := range used {
				all[name] = slices.Concat(slices.Collect(maps.Values(used))...)
			}
			return o.Clear(context.Background(), all, before, idle)
		}
	}},
	{"topics stay", "Clear/topics", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			all := maps.Clone(used)
			if all == nil {
				all = map[string][]string{}
			}
			all[changes] = []string{hubA}
			return o.Clear(context.Background(), all, before, idle)
		}
	}},
	{"their queues stay", "Clear/topics", func(b *bent, o *pushlog.Memory) {
		b.clear = func(used map[string][]string, before, idle time.Time) ([]pushlog.Dropped, error) {
			all, _ := o.AllHubCursors(context.Background())
			dropped, err := o.Clear(context.Background(), used, before, idle)
			for _, q := range all {
				o.SaveHubCursor(context.Background(), q)
			}
			return dropped, err
		}
	}},
	{"everybody leads", "Lead", func(b *bent, o *pushlog.Memory) {
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) { return true, f(ctx) }
	}},
	{"nobody leads", "Lead Lead/end", func(b *bent, o *pushlog.Memory) {
		b.lead = func(context.Context, func(context.Context) error) (bool, error) { return false, nil }
	}},
	{"leads once", "Lead", func(b *bent, o *pushlog.Memory) {
		led := false
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) {
			if led {
				return false, nil
			}
			led = true
			return true, f(ctx)
		}
	}},
	{"hides the error", "Lead Lead/end", func(b *bent, o *pushlog.Memory) {
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) {
			led, _ := o.Lead(ctx, f)
			return led, nil
		}
	}},
	{"leads for ever", "Lead/end", func(b *bent, o *pushlog.Memory) {
		b.lead = func(ctx context.Context, f func(context.Context) error) (bool, error) {
			return o.Lead(context.WithoutCancel(ctx), f)
		}
	}},
	{"does not wake", "Watch", func(b *bent, o *pushlog.Memory) {
		b.watch = func(ctx context.Context, _ func()) error { <-ctx.Done(); return ctx.Err() }
	}},
	{"wakes once", "Watch", func(b *bent, o *pushlog.Memory) {
		b.watch = func(ctx context.Context, wake func()) error { wake(); <-ctx.Done(); return ctx.Err() }
	}},
	{"does not wake to begin with", "Watch", func(b *bent, o *pushlog.Memory) {
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
	{"does not go on watching", "Watch Watch/end", func(b *bent, o *pushlog.Memory) {
		b.watch = func(_ context.Context, wake func()) error { wake(); return nil }
	}},
	{"watches for ever", "Watch/end", func(b *bent, o *pushlog.Memory) {
		b.watch = func(ctx context.Context, wake func()) error {
			<-ctx.Done()
			time.Sleep(2 * watchTimeout)
			return ctx.Err()
		}
	}},
	{"ends well", "Watch/end", func(b *bent, o *pushlog.Memory) {
		b.watch = func(ctx context.Context, wake func()) error { <-ctx.Done(); return nil }
	}},
}
