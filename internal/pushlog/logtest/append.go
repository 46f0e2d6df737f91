package logtest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// State is zero for a topic that has not begun.
func states(t tb, one, _ pushlog.Log) {
	if s := state(t, one, changes); !s.Equal(pushlog.State{}) {
		t.Errorf("the state of a new topic is %+v", s)
	}
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("a new topic has notifications %d", got)
	}
}

// Begin: it sets the state of a topic that has none yet, exactly, and returns the
// one that holds.
func begins(t tb, one, other pushlog.Log) {
	begin := func(o pushlog.Log, name string, first, want pushlog.State) {
		t.Helper()
		if got := must[pushlog.State](t)(o.Begin(t.Context(), name, first)); !got.Equal(want) {
			t.Errorf("Begin returned %+v instead of %+v", got, want)
		}
		if got := state(t, other, name); !got.Equal(want) {
			t.Errorf("after Begin the state is %+v instead of %+v", got, want)
		}
	}
	documents := strings.Repeat("é\n\"';{}", 8<<10)[:64<<10]
	first := pushlog.State{Until: start, Documents: documents}
	begin(one, changes, first, first)
	begin(other, changes, pushlog.State{Until: start.Add(time.Hour)}, first)
	if s := state(t, one, framework); !s.Equal(pushlog.State{}) {
		t.Errorf("after Begin of one topic, the state of another is %+v", s)
	}
	// A topic with a zero state has not begun.
	begin(one, framework, pushlog.State{}, pushlog.State{})
	begin(one, framework, first, first)
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("Begin has added the notifications %d", got)
	}
	// A time before 1970 is valid.
	early := pushlog.State{Until: time.Date(1950, 1, 1, 0, 0, 0, 1, time.UTC)}
	begin(one, "https://example.org/early/", early, early)
	// Append begins a topic, too.
	late := "https://example.org/late/"
	add(t, one, late, 1)
	begin(one, late, first, after(pushlog.State{}))
}

// If several processes begin a topic, one succeeds, and all get the same state.
func beginsRace(t tb, one, other pushlog.Log) {
	got := make([]pushlog.State, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			o := []pushlog.Log{one, other}[i%2]
			s, err := o.Begin(t.Context(), changes, pushlog.State{Until: start.Add(time.Duration(i))})
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

// Append appends a notification with the next number, and sets the state.
func appends(t tb, one, other pushlog.Log) {
	before := pushlog.State{}
	for i := range 3 {
		o := []pushlog.Log{one, other}[i%2]
		next := pushlog.State{Number: int64(i + 1), Until: start.Add(time.Duration(i)), Documents: strings.Repeat("d", i)}
		n := pushlog.Notification{Topic: changes, Number: 77, Body: []byte{'0' + byte(i)}}
		if err := o.Append(t.Context(), n, before, next); err != nil {
			t.Fatalf("Append: %v", err)
		}
		for _, o := range []pushlog.Log{one, other} {
			if s := state(t, o, changes); !s.Equal(next) {
				t.Errorf("after Append the state is %+v instead of %+v", s, next)
			}
		}
		before = next
	}
	if got := numbers(t, other, changes); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("the numbers of three notifications are %d", got)
	}
	if got := numbers(t, one, framework); len(got) != 0 {
		t.Errorf("another topic has notifications %d", got)
	}
}

// Append keeps every field exactly, times to the nanosecond.
func appendsExactly(t tb, one, other pushlog.Log) {
	body := []byte("<urlset>\x00\xff\r\n</urlset>")
	kept := []pushlog.Notification{
		{Topic: changes, Number: 1, From: start, Until: start.Add(1), CapabilityList: "https://example.org/capabilitylist.xml?ä", Body: body},
		{Topic: changes, Number: 2, Body: []byte{}},
		{Topic: changes, Number: 3, From: time.Date(1950, 1, 1, 0, 0, 0, 1, time.UTC), Until: start, Body: bytes.Repeat([]byte("x"), 3<<20)},
	}
	before := pushlog.State{}
	for _, n := range kept {
		n.Body = bytes.Clone(n.Body)
		if err := one.Append(t.Context(), n, before, after(before)); err != nil {
			t.Fatalf("Append: %v", err)
		}
		clear(n.Body) // the caller may use it again
		before = after(before)
	}
	for _, o := range []pushlog.Log{one, other} {
		got := must[[]pushlog.Notification](t)(o.Read(t.Context(), changes, 0, 10, 1<<30))
		if len(got) != len(kept) {
			t.Fatalf("%d notifications were appended, %d were read", len(kept), len(got))
		}
		for i, want := range kept {
			g := got[i]
			if !g.From.Equal(want.From) || !g.Until.Equal(want.Until) || !bytes.Equal(g.Body, want.Body) ||
				g.Topic != want.Topic || g.Number != want.Number || g.CapabilityList != want.CapabilityList {
				g.Body, want.Body = g.Body[:min(len(g.Body), 30)], want.Body[:min(len(want.Body), 30)]
				t.Errorf("notification %+v was read as %+v", want, g)
			}
		}
	}
}

// If the topic has another state than before, in any field, Append does nothing and
// returns ErrMoved.
func appendsMoved(t tb, one, other pushlog.Log) {
	holds := pushlog.State{Number: 1, Until: start, Documents: "b"}
	if err := one.Append(t.Context(), pushlog.Notification{Topic: changes, Body: []byte("1")}, pushlog.State{}, holds); err != nil {
		t.Fatalf("Append: %v", err)
	}
	for _, before := range []pushlog.State{
		{},
		{Number: 0, Until: start, Documents: "b"},
		{Number: 2, Until: start, Documents: "b"},
		{Number: 1, Until: start.Add(1), Documents: "b"},
		{Number: 1, Until: time.Time{}, Documents: "b"},
		{Number: 1, Until: start, Documents: "c"},
		{Number: 1, Until: start},
	} {
		next := pushlog.State{Number: before.Number + 1, Until: start.Add(time.Hour)}
		err := other.Append(t.Context(), pushlog.Notification{Topic: changes, Body: []byte("2")}, before, next)
		if !errors.Is(err, pushlog.ErrMoved) {
			t.Errorf("Append after %+v, where the state is %+v, returned %v", before, holds, err)
		}
	}
	unbegun := pushlog.State{Until: start}
	err := one.Append(t.Context(), pushlog.Notification{Topic: framework, Body: []byte("1")}, unbegun, after(unbegun))
	if !errors.Is(err, pushlog.ErrMoved) {
		t.Errorf("Append after %+v to a topic that has not been begun returned %v", unbegun, err)
	}
	if s := state(t, one, changes); !s.Equal(holds) {
		t.Errorf("a refused Append has changed the state to %+v", s)
	}
	if got := numbers(t, one, changes); !slices.Equal(got, []int64{1}) {
		t.Errorf("the log has the notifications %d, want only 1", got)
	}
	// The same time in another time zone is equal.
	holds.Until = holds.Until.In(time.FixedZone("", 3600))
	if err := one.Append(t.Context(), pushlog.Notification{Topic: changes, Body: []byte("2")}, holds, after(holds)); err != nil {
		t.Errorf("Append after the current state, in another time zone: %v", err)
	}
}

// Append fails unless next has the next number.
func appendsNumber(t tb, one, _ pushlog.Log) {
	for _, number := range []int64{-1, 0, 2} {
		err := one.Append(t.Context(), pushlog.Notification{Topic: changes, Body: []byte("1")}, pushlog.State{}, pushlog.State{Number: number})
		if err == nil || errors.Is(err, pushlog.ErrMoved) {
			t.Errorf("Append of number %d after 0 returned %v", number, err)
		}
	}
	if got := numbers(t, one, changes); len(got) != 0 {
		t.Errorf("there are notifications %d", got)
	}
}

// Under concurrent calls of Append, each notification begins where the one before it ends,
// and no reader sees a number before all lower ones.
func appendsRace(t tb, one, other pushlog.Log) {
	const writers, each = 6, 8
	add := func(o pushlog.Log) error {
		for {
			before, err := o.State(t.Context(), changes)
			if err != nil {
				return err
			}
			next := after(before)
			err = o.Append(t.Context(), pushlog.Notification{Topic: changes, From: before.Until, Until: next.Until, Body: []byte("x")}, before, next)
			if !errors.Is(err, pushlog.ErrMoved) {
				return err
			}
		}
	}
	var writing, reading sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for range each {
				if err := add([]pushlog.Log{one, other}[i%2]); err != nil {
					t.Errorf("Append: %v", err)
					return
				}
			}
		})
	}
	written := make(chan struct{})
	for _, o := range []pushlog.Log{one, other} {
		reading.Go(func() {
			last := pushlog.Notification{}
			for end := false; ; {
				select {
				case <-written:
					end = true
				default:
				}
				found, err := o.Read(t.Context(), changes, last.Number, 3, 1<<30)
				if err != nil {
					t.Errorf("Notifications: %v", err)
					return
				}
				for _, n := range found {
					if n.Number != last.Number+1 || !n.From.Equal(last.Until) {
						t.Errorf("number %d, until %v, is followed by number %d, from %v", last.Number, last.Until, n.Number, n.From)
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
		t.Errorf("after %d notifications the state has number %d", writers*each, s.Number)
	}
}

// Topics returns all topics that have begun, in any order.
func topics(t *trial) {
	if got := must[[]string](t)(t.one.Topics(t.Context())); len(got) != 0 {
		t.Errorf("an empty log has the topics %q", got)
	}
	t.publish(changes)
	if _, err := t.one.Begin(t.Context(), framework, pushlog.State{Until: start}); err != nil {
		t.Fatalf("Begin: %v", err)
	}
	got := must[[]string](t)(t.other.Topics(t.Context()))
	slices.Sort(got)
	if want := []string{changes, framework}; !slices.Equal(got, want) {
		t.Errorf("the topics are %q instead of %q", got, want)
	}
}
