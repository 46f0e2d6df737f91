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

// taken: what every hub has taken is dropped, but for the newest. The number goes
// on.
func clearsTaken(t tb, one, other topic.Outbox) {
	long := start.AddDate(-100, 0, 0)
	check := func(name string, want ...int64) {
		t.Helper()
		if got := numbers(t, one, name); !slices.Equal(got, want) {
			t.Errorf("after Clear there are %d instead of %d", got, want)
		}
	}
	remove := func(hubs ...string) {
		t.Helper()
		if err := other.Clear(t.Context(), hubs, long); err != nil {
			t.Fatalf("Clear: %v", err)
		}
	}
	a, b := queue(t, one, changes, hubA), queue(t, one, changes, hubB)
	add(t, one, changes, 5)
	add(t, one, framework, 1)
	behind := queue(t, one, framework, hubA)
	add(t, one, framework, 2)
	remove(hubA, hubB)
	check(changes, 1, 2, 3, 4, 5)
	check(framework, 2, 3) // hubB has no queue of it, and does not wait
	a.Taken, b.Taken = 4, 2
	save(t, one, a)
	save(t, one, b)
	remove(hubA, hubB)
	check(changes, 3, 4, 5)
	b.Taken = 5
	save(t, one, b)
	remove(hubA, hubB)
	check(changes, 5)
	a.Taken = 5
	save(t, one, a)
	remove(hubA, hubB)
	check(changes, 5)
	behind.Taken = 3
	save(t, one, behind)
	remove(hubA, hubB)
	check(framework, 3)
	add(t, other, changes, 2)
	check(changes, 5, 6, 7)
	remove()
	check(changes, 7)
	if s := state(t, one, changes); s.Number != 7 {
		t.Errorf("after Clear the state is %+v", s)
	}
}

// before: what was made before the time given is dropped, but for the newest, and
// nobody's queue is.
func clearsBefore(t tb, one, other topic.Outbox) {
	q := queue(t, one, changes, hubA)
	add(t, one, changes, 2)
	add(t, one, framework, 2)
	queue(t, one, framework, hubA)
	time.Sleep(10 * time.Millisecond)
	between := time.Now()
	time.Sleep(10 * time.Millisecond)
	add(t, one, changes, 3)
	if err := other.Clear(t.Context(), []string{hubA}, between); err != nil {
		t.Fatalf("Clear: %v", err)
	}
	if got := numbers(t, one, changes); !slices.Equal(got, []int64{3, 4, 5}) {
		t.Errorf("of five notifications, two of them old, there are %d", got)
	}
	if got := numbers(t, one, framework); !slices.Equal(got, []int64{2}) {
		t.Errorf("of two old notifications there are %d, and not only the newest", got)
	}
	if got := queue(t, one, changes, hubA); got != q {
		t.Errorf("Clear has changed a queue to %+v", got)
	}
}

// queues: those of hubs that are not in use any more are forgotten.
func clearsQueues(t tb, one, other topic.Outbox) {
	queue(t, one, changes, hubA)
	queue(t, one, changes, hubB)
	queue(t, one, framework, hubB)
	add(t, one, changes, 1)
	if err := other.Clear(t.Context(), []string{hubA}, start.AddDate(-100, 0, 0)); err != nil {
		t.Fatalf("Clear: %v", err)
	}
	got := must[[]topic.Queue](t)(one.Queues(t.Context()))
	if len(got) != 1 || got[0].Hub != hubA {
		t.Errorf("after Clear for one hub there are the queues %+v", got)
	}
	if q := queue(t, one, changes, hubB); q.Taken != 1 {
		t.Errorf("a hub that comes back begins after %d of 1", q.Taken)
	}
}

// many: one call drops all there is to drop.
func clearsMany(t tb, one, other topic.Outbox) {
	add(t, one, changes, 250)
	add(t, one, framework, 150)
	if err := other.Clear(t.Context(), nil, start.AddDate(-100, 0, 0)); err != nil {
		t.Fatalf("Clear: %v", err)
	}
	if got := append(numbers(t, one, changes), numbers(t, one, framework)...); !slices.Equal(got, []int64{250, 150}) {
		t.Errorf("of 250 and 150 notifications that nobody waits for there are %d", got)
	}
}
