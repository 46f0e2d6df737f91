package sqlstore

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/topictest"
)

func (s *Store) mustOutbox(t testing.TB, name string) topic.Outbox {
	t.Helper()
	o, err := s.Outbox(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOutbox(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		first, second := db.open(t, nil), db.open(t, nil)
		run(t, first)
		run(t, second)
		topictest.Test(t, func(t *testing.T) (one, other topic.Outbox) {
			// Outboxes of other names know nothing of each other.
			return first.mustOutbox(t, t.Name()), second.mustOutbox(t, t.Name())
		})
	})
}

// TestOutboxForgets: what is in use is remembered, however long it has been there;
// what is not is forgotten in its time, counted from when it was in use last.
func TestOutboxForgets(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		o := db.open(t, &Options{Now: clock.tell}).mustOutbox(t, "")
		const one, other, hub = "https://example.org/1/", "https://example.org/2/", "https://hub.example.net/"
		for _, uri := range []string{one, other} {
			if _, err := o.Queue(t.Context(), uri, hub); err != nil {
				t.Fatal(err)
			}
			if err := o.Add(t.Context(), topic.Notification{Topic: uri}, topic.State{}, topic.State{Number: 1}); err != nil {
				t.Fatal(err)
			}
		}
		clear := func(used map[string][]string, queues int, last int64) {
			t.Helper()
			if err := o.Clear(t.Context(), used, clock.now.AddDate(0, 0, -14), clock.now.AddDate(0, 0, -1)); err != nil {
				t.Fatal(err)
			}
			all, err := o.Queues(t.Context())
			if err != nil || len(all) != queues {
				t.Errorf("the queues are %+v, and should be %d; %v", all, queues, err)
			}
			state, err := o.State(t.Context(), other)
			if err != nil || state.Number != last {
				t.Errorf("the number of the topic is %d, and should be %d; %v", state.Number, last, err)
			}
		}
		both := map[string][]string{one: {hub}, other: {hub}}
		for range 60 { // days
			clock.now = clock.now.AddDate(0, 0, 1)
			clear(both, 2, 1)
		}
		clock.now = clock.now.Add(20 * time.Hour)
		clear(map[string][]string{one: {hub}}, 2, 1)
		clock.now = clock.now.Add(20 * time.Hour)
		clear(map[string][]string{one: {hub}}, 1, 1)
		clock.now = clock.now.AddDate(0, 0, 11)
		clear(map[string][]string{one: {hub}}, 1, 1)
		clock.now = clock.now.AddDate(0, 0, 2)
		clear(map[string][]string{one: {hub}}, 1, 0)
	})
}
