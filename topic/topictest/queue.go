package topictest

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

// Queue: it is made at the first call, after the newest notification there is,
// and then stays where it is.
func queues(t tb, one, other topic.Outbox) {
	want := func(o topic.Outbox, name, hub string, taken int64) {
		t.Helper()
		if got := queue(t, o, name, hub); got != (topic.Queue{Topic: name, Hub: hub, Taken: taken}) {
			t.Errorf("the queue is %+v, and %d should be taken of %s by %s", got, taken, name, hub)
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
			q, err := []topic.Outbox{one, other}[i%2].Queue(t.Context(), changes, "https://new.example.org/")
			if err != nil || q.Taken != 3 {
				t.Errorf("a Queue of several at once: %+v, %v", q, err)
			}
		})
	}
	wg.Wait()
}

// Save: all of a queue is kept, times to the microsecond; and so is one that was
// not there.
func saves(t tb, one, other topic.Outbox) {
	add(t, one, changes, 1)
	q := queue(t, one, changes, hubA)
	untouched := queue(t, one, changes, hubB)
	q.Taken, q.Failures, q.LastError = 7, 3, "the hub answered 500: \"ä\""
	q.FailingSince, q.Retry = start.Truncate(time.Microsecond), start.Truncate(time.Microsecond).Add(time.Hour)
	q.Refused, q.Lost, q.LastRefused, q.RefusedError = 4, 5, 6, "refused: 403"
	check := func(want topic.Queue) {
		t.Helper()
		got := queue(t, other, want.Topic, want.Hub)
		if !got.FailingSince.Equal(want.FailingSince) || !got.Retry.Equal(want.Retry) {
			t.Errorf("a queue with the times %v and %v has %v and %v", want.FailingSince, want.Retry, got.FailingSince, got.Retry)
		}
		got.FailingSince, got.Retry = want.FailingSince, want.Retry
		if got != want {
			t.Errorf("the queue %+v was saved and is %+v", want, got)
		}
	}
	save(t, one, q)
	check(q)
	check(untouched)
	q = topic.Queue{Topic: changes, Hub: hubA, Taken: 8}
	save(t, one, q)
	check(q)
	q.Topic = framework
	save(t, one, q)
	check(q)
	// Whatever a hub has answered, the rest is kept.
	q.Taken, q.LastError, q.RefusedError = 9, "\xff\x00", "\x00"+strings.Repeat("é", 1000)
	save(t, one, q)
	if got := queue(t, other, framework, hubA); got.Taken != 9 {
		t.Errorf("a queue that has taken 9 was saved, and %+v is there", got)
	}
}

// Queues: all there are, in the order of their bytes.
func queuesInOrder(t tb, one, other topic.Outbox) {
	if got := must[[]topic.Queue](t)(one.Queues(t.Context())); len(got) != 0 {
		t.Errorf("an empty outbox has the queues %+v", got)
	}
	type pair struct{ topic, hub string }
	var want []pair
	for _, name := range []string{"Z", "_", "a", "é"} {
		for _, hub := range []string{"A", "Z", "_", "a", "ab", "é"} {
			want = append(want, pair{name, hub})
		}
	}
	for _, p := range slices.Backward(want) {
		queue(t, one, p.topic, p.hub)
	}
	var got []pair
	for _, q := range must[[]topic.Queue](t)(other.Queues(t.Context())) {
		got = append(got, pair{q.Topic, q.Hub})
	}
	if !slices.Equal(got, want) {
		t.Errorf("the queues are %v instead of %v", got, want)
	}
}
