// Package topictest is the contract of [topic.Outbox] as a test suite. What it
// says of stores of one process and of several, [Test] finds out.
package topictest

import (
	"context"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

// Test tests outboxes by subtests, one for each rule.
//
// open is called for each of them and returns an empty outbox twice: as two
// processes see it, or the same one again if it is that of one process. What
// watching needs must be running.
func Test(t *testing.T, open func(t *testing.T) (one, other topic.Outbox)) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			one, other := open(t)
			r.check(t, one, other)
		})
	}
}

// A rule is something that the contract demands. The two outboxes are the same,
// as seen by two processes.
type rule struct {
	name  string
	check func(t tb, one, other topic.Outbox)
}

// tb is what rules need of a *testing.T.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

var rules = []rule{
	{"State", states},
	{"Begin", begins},
	{"Begin/race", beginsRace},
	{"Add", adds},
	{"Add/keeps", addsExactly},
	{"Add/moved", addsMoved},
	{"Add/number", addsNumber},
	{"Add/race", addsRace},
	{"Notifications", notifications},
	{"Queue", queues},
	{"Save", saves},
	{"Queues", queuesInOrder},
	{"Clear/taken", clearsTaken},
	{"Clear/before", clearsBefore},
	{"Clear/queues", clearsQueues},
	{"Clear/topics", clearsTopics},
	{"Clear/many", clearsMany},
	{"Lead", leads},
	{"Lead/end", leadEnds},
	{"Watch", watches},
	{"Watch/end", watchEnds},
}

// patience is how long to wait for what happens in the background.
const patience = 20 * time.Second

// The topics, hubs and times of the suite.
const (
	changes   = "https://example.org/resourcesync/papers/change/"
	framework = "https://example.org/resourcesync/papers/framework/"
	hubA      = "https://a.example.org/hub?x=ä"
	hubB      = "https://b.example.org/hub"
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

func state(t tb, o topic.Outbox, name string) topic.State {
	t.Helper()
	return must[topic.State](t)(o.State(t.Context(), name))
}

// after is the state that comes after s when a notification is added.
func after(s topic.State) topic.State {
	if s.Until.IsZero() {
		s.Until = start
	}
	return topic.State{Number: s.Number + 1, Until: s.Until.Add(time.Nanosecond), Documents: s.Documents}
}

// add adds n notifications.
func add(t tb, o topic.Outbox, name string, n int) {
	t.Helper()
	for range n {
		before := state(t, o, name)
		next := after(before)
		n := topic.Notification{Topic: name, From: before.Until, Until: next.Until, Body: []byte("<urlset/>")}
		if err := o.Add(t.Context(), n, before, next); err != nil {
			t.Fatalf("Add of notification %d: %v", next.Number, err)
		}
	}
}

// numbers returns the numbers of all notifications of a topic.
func numbers(t tb, o topic.Outbox, name string) []int64 {
	t.Helper()
	var all []int64
	for _, n := range must[[]topic.Notification](t)(o.Notifications(t.Context(), name, 0, 10_000)) {
		all = append(all, n.Number)
	}
	return all
}

func queue(t tb, o topic.Outbox, name, hub string) topic.Queue {
	t.Helper()
	return must[topic.Queue](t)(o.Queue(t.Context(), name, hub))
}

func save(t tb, o topic.Outbox, q topic.Queue) {
	t.Helper()
	if err := o.Save(t.Context(), q); err != nil {
		t.Fatalf("Save(%+v): %v", q, err)
	}
}
