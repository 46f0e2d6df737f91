package topictest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

// State: it is zero for a topic that has never been begun.
func states(t tb, one, _ topic.Outbox) {
	if s := state(t, one, changes); !s.Equal(topic.State{}) {
		t.Errorf("the state of a new topic is %+v", s)
	}
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("a new topic has notifications %d", got)
	}
}

// Begin: it sets the state of a topic that has none yet, exactly, and returns the
// one that holds.
func begins(t tb, one, other topic.Outbox) {
	begin := func(o topic.Outbox, name string, first, want topic.State) {
		t.Helper()
		if got := must[topic.State](t)(o.Begin(t.Context(), name, first)); !got.Equal(want) {
			t.Errorf("Begin returned %+v instead of %+v", got, want)
		}
		if got := state(t, other, name); !got.Equal(want) {
			t.Errorf("after Begin the state is %+v instead of %+v", got, want)
		}
	}
	documents := strings.Repeat("é\n\"';{}", 8<<10)[:64<<10]
	first := topic.State{Until: start, Documents: documents}
	begin(one, changes, first, first)
	begin(other, changes, topic.State{Until: start.Add(time.Hour)}, first)
	if s := state(t, one, framework); !s.Equal(topic.State{}) {
		t.Errorf("when one topic has begun, the state of another is %+v", s)
	}
	// That nothing is known of the documents is a state, too.
	begin(one, framework, topic.State{}, topic.State{})
	begin(one, framework, first, topic.State{})
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("after Begin there are notifications %d", got)
	}
	// What is before 1970 is a time like others.
	early := topic.State{Until: time.Date(1950, 1, 1, 0, 0, 0, 1, time.UTC)}
	begin(one, "https://example.org/early/", early, early)
	// A notification begins a topic as well.
	late := "https://example.org/late/"
	add(t, one, late, 1)
	begin(one, late, first, after(topic.State{}))
}

// race: if several begin a topic, one of them does, and all hear of it.
func beginsRace(t tb, one, other topic.Outbox) {
	got := make([]topic.State, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			o := []topic.Outbox{one, other}[i%2]
			s, err := o.Begin(t.Context(), changes, topic.State{Until: start.Add(time.Duration(i))})
			if err != nil {
				t.Errorf("Begin: %v", err)
			}
			got[i] = s
		})
	}
	wg.Wait()
	want := state(t, one, changes)
	for i, s := range got {
		if !s.Equal(want) {
			t.Errorf("the %dth Begin of several returned %+v, and the state is %+v", i, s, want)
		}
	}
}

// Add: it appends a notification with the next number, and moves the state.
func adds(t tb, one, other topic.Outbox) {
	before := topic.State{}
	for i := range 3 {
		o := []topic.Outbox{one, other}[i%2]
		next := topic.State{Number: int64(i + 1), Until: start.Add(time.Duration(i)), Documents: strings.Repeat("d", i)}
		n := topic.Notification{Topic: changes, Number: 77, Body: []byte{'0' + byte(i)}}
		if err := o.Add(t.Context(), n, before, next); err != nil {
			t.Fatalf("Add: %v", err)
		}
		for _, o := range []topic.Outbox{one, other} {
			if s := state(t, o, changes); !s.Equal(next) {
				t.Errorf("after Add the state is %+v instead of %+v", s, next)
			}
		}
		before = next
	}
	if got := numbers(t, other, changes); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("three notifications have the numbers %d", got)
	}
	if got := numbers(t, one, framework); len(got) != 0 {
		t.Errorf("another topic has notifications %d", got)
	}
}

// keeps: every field stays as it is, to the nanosecond and the byte.
func addsExactly(t tb, one, other topic.Outbox) {
	body := []byte("<urlset>\x00\xff\r\n</urlset>")
	kept := []topic.Notification{
		{Topic: changes, Number: 1, From: start, Until: start.Add(1), CapabilityList: "https://example.org/capabilitylist.xml?ä", Body: body},
		{Topic: changes, Number: 2, Body: []byte{}},
		{Topic: changes, Number: 3, From: time.Date(1950, 1, 1, 0, 0, 0, 1, time.UTC), Until: start, Body: bytes.Repeat([]byte("x"), 3<<20)},
	}
	before := topic.State{}
	for _, n := range kept {
		n.Body = bytes.Clone(n.Body)
		if err := one.Add(t.Context(), n, before, after(before)); err != nil {
			t.Fatalf("Add: %v", err)
		}
		clear(n.Body) // the caller may use it again
		before = after(before)
	}
	for _, o := range []topic.Outbox{one, other} {
		got := must[[]topic.Notification](t)(o.Notifications(t.Context(), changes, 0, 10))
		if len(got) != len(kept) {
			t.Fatalf("%d notifications have become %d", len(kept), len(got))
		}
		for i, want := range kept {
			g := got[i]
			if !g.From.Equal(want.From) || !g.Until.Equal(want.Until) || !bytes.Equal(g.Body, want.Body) ||
				g.Topic != want.Topic || g.Number != want.Number || g.CapabilityList != want.CapabilityList {
				g.Body, want.Body = g.Body[:min(len(g.Body), 30)], want.Body[:min(len(want.Body), 30)]
				t.Errorf("notification %+v has become %+v", want, g)
			}
		}
	}
}

// moved: if the state before is not the topic's any more, in whatever, nothing is
// done and the error is ErrMoved.
func addsMoved(t tb, one, other topic.Outbox) {
	holds := topic.State{Number: 1, Until: start, Documents: "b"}
	if err := one.Add(t.Context(), topic.Notification{Topic: changes, Body: []byte("1")}, topic.State{}, holds); err != nil {
		t.Fatalf("Add: %v", err)
	}
	for _, before := range []topic.State{
		{},
		{Number: 0, Until: start, Documents: "b"},
		{Number: 2, Until: start, Documents: "b"},
		{Number: 1, Until: start.Add(1), Documents: "b"},
		{Number: 1, Until: time.Time{}, Documents: "b"},
		{Number: 1, Until: start, Documents: "c"},
		{Number: 1, Until: start},
	} {
		next := topic.State{Number: before.Number + 1, Until: start.Add(time.Hour)}
		err := other.Add(t.Context(), topic.Notification{Topic: changes, Body: []byte("2")}, before, next)
		if !errors.Is(err, topic.ErrMoved) {
			t.Errorf("Add after %+v, where the state is %+v, returned %v", before, holds, err)
		}
	}
	unbegun := topic.State{Until: start}
	err := one.Add(t.Context(), topic.Notification{Topic: framework, Body: []byte("1")}, unbegun, after(unbegun))
	if !errors.Is(err, topic.ErrMoved) {
		t.Errorf("Add after %+v to a topic that has not been begun returned %v", unbegun, err)
	}
	if s := state(t, one, changes); !s.Equal(holds) {
		t.Errorf("what was refused has moved the state to %+v", s)
	}
	if got := numbers(t, one, changes); !slices.Equal(got, []int64{1}) {
		t.Errorf("there are notifications %d, of which only 1 was taken", got)
	}
	// Another time zone does not make it another time.
	holds.Until = holds.Until.In(time.FixedZone("", 3600))
	if err := one.Add(t.Context(), topic.Notification{Topic: changes, Body: []byte("2")}, holds, after(holds)); err != nil {
		t.Errorf("Add after the state there is, in another time zone: %v", err)
	}
}

// number: that of the next state must be the next one.
func addsNumber(t tb, one, _ topic.Outbox) {
	for _, number := range []int64{-1, 0, 2} {
		err := one.Add(t.Context(), topic.Notification{Topic: changes, Body: []byte("1")}, topic.State{}, topic.State{Number: number})
		if err == nil || errors.Is(err, topic.ErrMoved) {
			t.Errorf("Add of number %d after 0 returned %v", number, err)
		}
	}
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("there are notifications %d", got)
	}
}

// race: however many add at the same time, every notification begins where the
// one before it ends, and readers see no number before those below it.
func addsRace(t tb, one, other topic.Outbox) {
	const writers, each = 6, 8
	add := func(o topic.Outbox) error {
		for {
			before, err := o.State(t.Context(), changes)
			if err != nil {
				return err
			}
			next := after(before)
			err = o.Add(t.Context(), topic.Notification{Topic: changes, From: before.Until, Until: next.Until, Body: []byte("x")}, before, next)
			if !errors.Is(err, topic.ErrMoved) {
				return err
			}
		}
	}
	var writing, reading sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for range each {
				if err := add([]topic.Outbox{one, other}[i%2]); err != nil {
					t.Errorf("Add: %v", err)
					return
				}
			}
		})
	}
	written := make(chan struct{})
	for _, o := range []topic.Outbox{one, other} {
		reading.Go(func() {
			last := topic.Notification{}
			for end := false; ; {
				select {
				case <-written:
					end = true
				default:
				}
				found, err := o.Notifications(t.Context(), changes, last.Number, 3)
				if err != nil {
					t.Errorf("Notifications: %v", err)
					return
				}
				for _, n := range found {
					if n.Number != last.Number+1 || !n.From.Equal(last.Until) {
						t.Errorf("after number %d until %v comes number %d from %v", last.Number, last.Until, n.Number, n.From)
					}
					last = n
				}
				if end && len(found) == 0 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if last.Number != writers*each {
				t.Errorf("%d notifications were added, and %d can be read", writers*each, last.Number)
			}
		})
	}
	writing.Wait()
	close(written)
	reading.Wait()
	if s := state(t, one, changes); s.Number != writers*each {
		t.Errorf("after %d notifications the state is that of number %d", writers*each, s.Number)
	}
}

// Notifications: those after a number, in order, at most max.
func notifications(t tb, one, other topic.Outbox) {
	add(t, one, changes, 5)
	add(t, one, framework, 2)
	for _, tt := range []struct {
		after int64
		max   int
		want  []int64
	}{
		{0, 100, []int64{1, 2, 3, 4, 5}},
		{0, 2, []int64{1, 2}},
		{2, 2, []int64{3, 4}},
		{4, 2, []int64{5}},
		{5, 2, nil},
		{99, 2, nil},
		{0, 0, nil},
	} {
		var got []int64
		for _, n := range must[[]topic.Notification](t)(other.Notifications(t.Context(), changes, tt.after, tt.max)) {
			got = append(got, n.Number)
			if n.Topic != changes {
				t.Errorf("Notifications of %s has one of %s", changes, n.Topic)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("Notifications after %d, at most %d, are %d instead of %d", tt.after, tt.max, got, tt.want)
		}
	}
}
