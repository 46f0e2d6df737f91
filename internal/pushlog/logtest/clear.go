package logtest

import (
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// long is a time before all notifications.
var long = start.AddDate(-100, 0, 0)

func remove(t tb, o pushlog.Log, used map[string][]string, before, idle time.Time) {
	t.Helper()
	if _, err := o.Clear(t.Context(), used, before, idle); err != nil {
		t.Fatalf("Clear: %v", err)
	}
}

// Clear removes notifications that every hub has taken, except the newest. The numbers
// continue.
func clearsTaken(t tb, one, other pushlog.Log) {
	check := func(name string, want ...int64) {
		t.Helper()
		if got := numbers(t, one, name); !slices.Equal(got, want) {
			t.Errorf("after Clear, the log has %d instead of %d", got, want)
		}
	}
	both := map[string][]string{changes: {hubA, hubB}, framework: {hubA}}
	a, b := cursor(t, one, changes, hubA), cursor(t, one, changes, hubB)
	add(t, one, changes, 5)
	add(t, one, framework, 1)
	behind := cursor(t, one, framework, hubA)
	add(t, one, framework, 2)
	remove(t, other, both, long, long)
	check(changes, 1, 2, 3, 4, 5)
	check(framework, 2, 3) // hubB has no cursor in this topic
	a.Taken, b.Taken = 4, 2
	saveCursor(t, one, a)
	saveCursor(t, one, b)
	remove(t, other, both, long, long)
	check(changes, 3, 4, 5)
	b.Taken = 5
	saveCursor(t, one, b)
	remove(t, other, both, long, long)
	check(changes, 5)
	a.Taken = 5
	saveCursor(t, one, a)
	remove(t, other, both, long, long)
	check(changes, 5)
	behind.Taken = 3
	saveCursor(t, one, behind)
	remove(t, other, both, long, long)
	check(framework, 3)
	add(t, other, changes, 2)
	check(changes, 5, 6, 7)
	remove(t, other, nil, long, time.Now().Add(time.Hour))
	check(changes, 7) // every hub has taken the others
	if s := state(t, one, changes); s.Number != 7 {
		t.Errorf("after Clear the state is %+v", s)
	}
}

// Clear removes notifications that were appended before the time before, except the
// newest, and keeps the cursors.
func clearsBefore(t tb, one, other pushlog.Log) {
	q := cursor(t, one, changes, hubA)
	add(t, one, changes, 2)
	add(t, one, framework, 2)
	cursor(t, one, framework, hubA)
	time.Sleep(10 * time.Millisecond)
	between := time.Now()
	time.Sleep(10 * time.Millisecond)
	add(t, one, changes, 3)
	remove(t, other, map[string][]string{changes: {hubA}, framework: {hubA}}, between, long)
	if got := numbers(t, one, changes); !slices.Equal(got, []int64{3, 4, 5}) {
		t.Errorf("of five notifications, two of them old, the log has %d", got)
	}
	if got := numbers(t, one, framework); !slices.Equal(got, []int64{2}) {
		t.Errorf("of two old notifications, the log has %d, want only the newest", got)
	}
	if got := cursor(t, one, changes, hubA); got != q {
		t.Errorf("Clear has changed a queue to %+v", got)
	}
}

// Clear removes cursors that have not been in use since idle. Until then it keeps the
// notifications that they have not taken.
func clearsHubs(t tb, one, other pushlog.Log) {
	cursor(t, one, changes, hubA)
	cursor(t, one, changes, hubB)
	cursor(t, one, framework, hubA)
	cursor(t, one, framework, hubB)
	add(t, one, changes, 3)
	check := func(hubs ...string) {
		t.Helper()
		var got []string
		for _, q := range must[[]pushlog.HubCursor](t)(one.AllHubCursors(t.Context())) {
			got = append(got, q.Topic, q.Hub)
		}
		if !slices.Equal(got, hubs) {
			t.Errorf("after Clear, the queues are %q instead of %q", got, hubs)
		}
	}
	// The same hub may be in use for one topic and not for another.
	used := map[string][]string{changes: {hubA}, framework: {hubB}}
	remove(t, other, used, long, long)
	check(changes, hubA, changes, hubB, framework, hubA, framework, hubB)
	taken := cursor(t, one, changes, hubA)
	taken.Taken = 3
	saveCursor(t, one, taken)
	remove(t, other, used, long, long)
	if got := numbers(t, one, changes); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("an unused queue has taken none of three notifications, and the log has %d", got)
	}
	remove(t, other, used, long, time.Now().Add(time.Hour))
	check(changes, hubA, framework, hubB)
	if got := numbers(t, one, changes); !slices.Equal(got, []int64{3}) {
		t.Errorf("the remaining queue has taken all three notifications, and the log has %d", got)
	}
	if q := cursor(t, one, changes, hubB); q.Taken != 3 {
		t.Errorf("a hub that comes back begins after %d of 3", q.Taken)
	}
}

// Clear removes topics that have not been in use since before, with their notifications
// and cursors. A topic that returns starts over.
func clearsTopics(t tb, one, other pushlog.Log) {
	for _, name := range []string{changes, framework} {
		cursor(t, one, name, hubA)
		add(t, one, name, 3)
	}
	const silent = "https://example.org/resourcesync/books/change/"
	if _, err := one.Begin(t.Context(), silent, pushlog.State{Until: start}); err != nil {
		t.Fatalf("Begin: %v", err)
	}
	used := map[string][]string{framework: {hubA}}
	remove(t, other, used, long, long)
	if got := numbers(t, one, changes); len(got) != 3 || state(t, one, changes).Number != 3 || !state(t, one, silent).Until.Equal(start) {
		t.Errorf("a topic that was just in use has the notifications %d, and the state %+v", got, state(t, one, changes))
	}
	remove(t, other, used, time.Now().Add(time.Hour), long)
	for _, name := range []string{changes, silent} {
		if got := state(t, one, name); !got.Equal(pushlog.State{}) {
			t.Errorf("a topic that is not in use has the state %+v", got)
		}
	}
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("a topic that is not in use has the notifications %d", got)
	}
	if got := must[[]pushlog.HubCursor](t)(one.AllHubCursors(t.Context())); len(got) != 1 || got[0].Topic != framework {
		t.Errorf("a removed topic still has the queues %+v", got)
	}
	if got := numbers(t, one, framework); !slices.Equal(got, []int64{3}) || state(t, one, framework).Number != 3 {
		t.Errorf("a topic in use has %d of three old notifications, and the state %+v", got, state(t, one, framework))
	}
	q := cursor(t, one, changes, hubA)
	add(t, one, changes, 1)
	if got := numbers(t, one, changes); q.Taken != 0 || !slices.Equal(got, []int64{1}) {
		t.Errorf("a topic that comes back has the notifications %d, and its queue has taken %d", got, q.Taken)
	}
}

// One call of Clear removes everything that it may remove.
func clearsMany(t tb, one, other pushlog.Log) {
	add(t, one, changes, 250)
	add(t, one, framework, 150)
	remove(t, other, nil, long, long)
	if got := append(numbers(t, one, changes), numbers(t, one, framework)...); !slices.Equal(got, []int64{250, 150}) {
		t.Errorf("of 250 and 150 notifications that no cursor needs, the log has %d", got)
	}
}
