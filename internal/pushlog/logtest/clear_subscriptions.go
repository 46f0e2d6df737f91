package logtest

import (
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// left compares the remaining notifications of a topic.
func (t *trial) left(topic string, want ...int64) {
	t.Helper()
	if got := numbers(t, t.other, topic); !slices.Equal(got, want) {
		t.Errorf("after Clear, the messages are %d instead of %d", got, want)
	}
}

// Clear removes notifications that every subscription and every hub has taken, except the
// newest of a topic.
func clearsTakenBySubscriptions(t *trial) {
	cursor := cursor(t, t.one, changes, hubA)
	t.subscribed(changes, "quick")
	slow := t.subscribed(changes, "slow")
	var all, none []int64
	for range 6 {
		all = append(all, t.publish(changes))
		none = append(none, t.publish(framework))
	}
	newest := all[5]
	cursor.Taken = all[2]
	saveCursor(t, t.one, cursor)
	long := time.Now().AddDate(-1, 0, 0)
	var progress []pushlog.Progress
	for _, s := range t.claim(t.one, ann, 10) {
		p := s.Progress
		if p.Taken = newest; s.ID == slow.ID {
			p.Taken = all[1]
		}
		p.Release = s.ID != slow.ID
		progress = append(progress, p)
	}
	t.save(t.one, ann, progress...)
	if dropped := t.clear(long); len(dropped) != 0 {
		t.Errorf("Clear has reported %+v as dropped, although no subscriber waited for them", dropped)
	}
	t.left(changes, all[2:]...)
	t.left(framework, none[5]) // it has no subscriptions

	// An expired subscription keeps no notifications, and neither does a failing one.
	t.subscribe(ask(changes, "slow"), time.Now().Add(-time.Second))
	t.clear(long)
	t.left(changes, all[3:]...)
	cursor.Taken = newest
	saveCursor(t, t.one, cursor)
	t.clear(long)
	t.left(changes, newest)
	if next := t.publish(framework); next <= none[5] {
		t.Errorf("after Clear, number %d comes after %d", next, none[5])
	}
}

// Clear reports how many notifications it has removed that a subscription had not taken.
func clearsDropped(t *trial) {
	subs := map[string]pushlog.Subscription{}
	for _, callback := range []string{"none", "some", "more", "all", "expired"} {
		expires := time.Now().Add(24 * time.Hour)
		if callback == "expired" {
			expires = time.Now().Add(-time.Second)
		}
		subs[callback] = t.subscribe(ask(changes, callback), expires)
	}
	t.subscribed(framework, "none")
	const old = 250 // more than a batch of any store
	var numbers []int64
	for range old {
		numbers = append(numbers, t.publish(changes))
	}
	only := t.publish(framework)
	t.elapse(5 * time.Hour)
	newest := t.publish(changes)
	var progress []pushlog.Progress
	for _, s := range t.claim(t.one, ann, 10) {
		p := s.Progress
		switch p.Release = true; s.ID {
		case subs["some"].ID:
			p.Taken = numbers[19]
			p.Failures, p.Retry = 1, time.Now().Add(time.Hour)
		case subs["more"].ID:
			p.Taken = numbers[219]
		case subs["all"].ID:
			p.Taken = newest
		}
		progress = append(progress, p)
	}
	t.save(t.one, ann, progress...)
	t.claim(t.one, bob, 2) // claimed or not, they have not taken it

	dropped := t.clear(time.Now().Add(-3 * time.Hour))
	want := pushlog.Dropped{Topic: changes, Messages: old, Subscriptions: 3, Deliveries: old + (old - 20) + (old - 220)}
	if len(dropped) != 1 || dropped[changes] != want {
		t.Errorf("Clear has dropped %+v, want %+v", dropped, want)
	}
	t.left(changes, newest)
	t.left(framework, only)
	if dropped := t.clear(time.Now()); len(dropped) != 0 {
		t.Errorf("Clear has dropped %+v again", dropped)
	}
}

// Clear keeps an unused topic as long as it has subscriptions.
func clearsNoSubscribedTopic(t *trial) {
	s := t.subscribed(changes, "a")
	t.publish(changes)
	soon := time.Now().Add(2 * time.Hour)
	remove(t, t.other, nil, soon, soon)
	if got := state(t, t.one, changes); got.Number != 1 {
		t.Errorf("a topic with a subscription has the state %+v", got)
	}
	if err := t.one.End(t.Context(), s.ID); err != nil {
		t.Fatalf("End: %v", err)
	}
	remove(t, t.other, nil, soon, soon)
	if got := state(t, t.one, changes); !got.Equal(pushlog.State{}) {
		t.Errorf("a topic without subscriptions that is not in use has the state %+v", got)
	}
}
