package logtest

import (
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// The hubs and times of the suite.
const (
	hubA = "https://a.example.org/hub?x=ä"
	hubB = "https://b.example.org/hub"
)

var start = time.Date(2026, 11, 21, 6, 30, 0, 123_456_789, time.UTC)

func must[T any](t tb) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		return v
	}
}

func state(t tb, o pushlog.Log, name string) pushlog.State {
	t.Helper()
	return must[pushlog.State](t)(o.State(t.Context(), name))
}

// after returns the state that follows s when a notification is appended.
func after(s pushlog.State) pushlog.State {
	if s.Until.IsZero() {
		s.Until = start
	}
	return pushlog.State{Number: s.Number + 1, Until: s.Until.Add(time.Nanosecond), Documents: s.Documents}
}

// add appends n notifications.
func add(t tb, o pushlog.Log, name string, n int) {
	t.Helper()
	for range n {
		before := state(t, o, name)
		next := after(before)
		n := pushlog.Notification{Topic: name, From: before.Until, Until: next.Until, Body: []byte("<urlset/>")}
		if err := o.Append(t.Context(), n, before, next); err != nil {
			t.Fatalf("Append of notification %d: %v", next.Number, err)
		}
	}
}

// numbers returns the numbers of all notifications of a topic.
func numbers(t tb, o pushlog.Log, name string) []int64 {
	t.Helper()
	var all []int64
	for _, n := range must[[]pushlog.Notification](t)(o.Read(t.Context(), name, 0, 10_000, 1<<30)) {
		all = append(all, n.Number)
	}
	return all
}

func cursor(t tb, o pushlog.Log, name, hub string) pushlog.HubCursor {
	t.Helper()
	return must[pushlog.HubCursor](t)(o.HubCursor(t.Context(), name, hub))
}

func saveCursor(t tb, o pushlog.Log, c pushlog.HubCursor) {
	t.Helper()
	if err := o.SaveHubCursor(t.Context(), c); err != nil {
		t.Fatalf("SaveHubCursor(%+v): %v", c, err)
	}
}
