package logtest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// The first call of HubCursor creates the cursor after the newest notification. Later
// calls do not move it.
func hubCursors(t tb, one, other pushlog.Log) {
	want := func(o pushlog.Log, name, hub string, taken int64) {
		t.Helper()
		if got := cursor(t, o, name, hub); got != (pushlog.HubCursor{Topic: name, Hub: hub, Cursor: pushlog.Cursor{Taken: taken}}) {
			t.Errorf("the queue is %+v; want %d taken of %s by %s", got, taken, name, hub)
		}
	}
	want(one, changes, hubA, 0)
	add(t, one, changes, 2)
	want(one, changes, hubB, 2)
	add(t, other, changes, 1)
	want(other, changes, hubA, 0)
	want(other, changes, hubB, 2)
	want(one, framework, hubB, 0)

	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			q, err := []pushlog.Log{one, other}[i%2].HubCursor(t.Context(), changes, "https://new.example.org/")
			if err != nil || q.Taken != 3 {
				t.Errorf("a Queue of several at once: %+v, %v", q, err)
			}
		})
	}
	wg.Wait()
}

// SaveHubCursor keeps every field, times to the microsecond, also of a new cursor.
func savesHubCursor(t tb, one, other pushlog.Log) {
	add(t, one, changes, 1)
	q := cursor(t, one, changes, hubA)
	untouched := cursor(t, one, changes, hubB)
	q.Taken, q.Failures, q.LastError = 7, 3, "the hub answered 500: \"ä\""
	q.FailingSince, q.Retry = start.Truncate(time.Microsecond), start.Truncate(time.Microsecond).Add(time.Hour)
	q.Refused, q.Lost, q.LastRefused, q.RefusedError = 4, 5, 6, "refused: 403"
	check := func(want pushlog.HubCursor) {
		t.Helper()
		got := cursor(t, other, want.Topic, want.Hub)
		if !got.FailingSince.Equal(want.FailingSince) || !got.Retry.Equal(want.Retry) {
			t.Errorf("a queue saved with the times %v and %v has %v and %v", want.FailingSince, want.Retry, got.FailingSince, got.Retry)
		}
		got.FailingSince, got.Retry = want.FailingSince, want.Retry
		if got != want {
			t.Errorf("the queue %+v was saved, and read as %+v", want, got)
		}
	}
	saveCursor(t, one, q)
	check(q)
	check(untouched)
	q = pushlog.HubCursor{Topic: changes, Hub: hubA, Cursor: pushlog.Cursor{Taken: 8}}
	saveCursor(t, one, q)
	check(q)
	q.Topic = framework
	saveCursor(t, one, q)
	check(q)
	// An error that is not valid text does not prevent saving.
	q.Taken, q.LastError, q.RefusedError = 9, "\xff\x00", "\x00"+strings.Repeat("é", 1000)
	saveCursor(t, one, q)
	if got := cursor(t, other, framework, hubA); got.Taken != 9 {
		t.Errorf("a cursor at 9 was saved, and %+v is stored", got)
	}
}

// AllHubCursors returns all cursors, in the byte order of topic and hub.
func hubCursorsInOrder(t tb, one, other pushlog.Log) {
	if got := must[[]pushlog.HubCursor](t)(one.AllHubCursors(t.Context())); len(got) != 0 {
		t.Errorf("an empty log has the cursors %+v", got)
	}
	type pair struct{ topic, hub string }
	var want []pair
	for _, name := range []string{"Z", "_", "a", "é"} {
		for _, hub := range []string{"A", "Z", "_", "a", "ab", "é"} {
			want = append(want, pair{name, hub})
		}
	}
	for _, p := range slices.Backward(want) {
		cursor(t, one, p.topic, p.hub)
	}
	var got []pair
	for _, q := range must[[]pushlog.HubCursor](t)(other.AllHubCursors(t.Context())) {
		got = append(got, pair{q.Topic, q.Hub})
	}
	if !slices.Equal(got, want) {
		t.Errorf("the queues are %v instead of %v", got, want)
	}
}
