package harvesters

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestNamedCopies: a name and an address make a row, and a later address with the same name is
// marked.
func TestNamedCopies(t *testing.T) {
	l := New()
	for _, a := range []rshttp.Answer{
		answer("resourcesync (name=berlin)", "192.0.2.1:5", "changelist"),
		answer("resourcesync (name=paris)", "192.0.2.1:5", "changelist"),
		answer("resourcesync", "192.0.2.1:5", "changelist"),
		answer("resourcesync", "192.0.2.2:5", "changelist"),
		answer("resourcesync (name=berlin)", "192.0.2.2:5", "changelist"),
		answer("resourcesync/2 (name=berlin)", "192.0.2.1:6", "changelist"), // a new version of the first
	} {
		l.Observe(a)
		time.Sleep(time.Millisecond)
	}
	var got []string
	for _, h := range l.Recent(100) {
		got = append(got, fmt.Sprintf("%s %s@%s %q %d", h.Name, h.Agent, h.Address, h.NameFirstAt, h.Requests))
	}
	want := []string{
		`berlin resourcesync/2 (name=berlin)@192.0.2.1 "" 2`,
		`berlin resourcesync (name=berlin)@192.0.2.2 "192.0.2.1" 1`,
		` resourcesync@192.0.2.2 "" 1`,
		` resourcesync@192.0.2.1 "" 1`,
		`paris resourcesync (name=paris)@192.0.2.1 "" 1`,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// A store is where a Log saves its harvesters.
type store map[string][]byte

func (s store) save(put map[string][]byte, remove []string) error {
	maps.Copy(s, put)
	for _, key := range remove {
		delete(s, key)
	}
	return nil
}

func mustSave(t *testing.T, l *Log, s store) {
	t.Helper()
	if err := l.Save(s.save); err != nil {
		t.Fatal(err)
	}
}

func mustSaveNothing(t *testing.T, l *Log) {
	t.Helper()
	err := l.Save(func(put map[string][]byte, remove []string) error {
		t.Errorf("%q is saved and %q removed without a change", put, remove)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func restored(t *testing.T, s store, shorten bool) answers {
	t.Helper()
	l := New()
	l.Shorten = shorten
	if unreadable := l.Restore(s); unreadable != nil {
		t.Fatalf("%q cannot be read", unreadable)
	}
	return answers{l}
}

// TestKeep: a restart restores proofs, subscriptions and the times since when harvesters are
// behind.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := store{}, answers{New()}
		began := time.Now()
		l.of("resourcelist", nil)
		l.of("hub", subscribed("subscribe", "https://h.example/?secret"))
		l.Observe(answer("other", "192.0.2.7:5", "changelist"))
		time.Sleep(time.Hour)
		first := time.Now()
		l.See("", first)
		l.changes(began.Add(-24*time.Hour), time.Time{}, first)
		mustSave(t, l.Log, s)
		time.Sleep(time.Hour)
		l.See("", time.Now()) // the first that it lacks
		mustSave(t, l.Log, s)
		time.Sleep(time.Hour)
		l.See("", time.Now())
		mustSaveNothing(t, l.Log)

		l = restored(t, s, false)
		if got := names(l.Log); got != "h/1@192.0.2.1 other@192.0.2.7" {
			t.Fatal(got)
		}
		l.See("", time.Now())
		h := l.Recent(1)[0]
		if lag, known, inSync := l.Lag(&h, time.Now()); lag != time.Hour || !known || inSync || h.Requests != 3 || !h.First.Equal(began) {
			t.Errorf("behind by %v, %t, %t: %+v", lag, known, inSync, h)
		}
		if agent, _, ok := l.Subscriber("topic", "https://h.example/?…"); !ok || agent != "h/1" {
			t.Errorf("the subscription belongs to %q, %t", agent, ok)
		}
		l.changes(first.Add(-time.Minute), time.Time{}, time.Now()) // continues the chain
		h = l.Recent(1)[0]
		if lag, _, inSync := l.Lag(&h, time.Now()); lag != 0 || !inSync {
			t.Errorf("behind by %v, %t: %+v", lag, inSync, h)
		}
		time.Sleep(Retention)
		mustSave(t, l.Log, s)
		if len(s) > 0 {
			t.Errorf("the state has %d harvesters that are forgotten", len(s))
		}
	})
}

// TestKeepUnreadable: harvesters whose record is unreadable are named, and the others are restored.
func TestKeepUnreadable(t *testing.T) {
	s, l := store{}, answers{New()}
	l.of("resourcelist", nil)
	mustSave(t, l.Log, s)
	const agent = `{"agent":"a","address":"192.0.2.2"`
	want := []string{"192.0.2.2 a"}
	for _, text := range []string{
		"", "null", "{}", `"other"`, `{"agent":1}`, agent,
		agent + `,"sets":[{}]}`, agent + `,"chains":[{}]}`, agent + `,"sets":[null],"chains":[{}]}`,
		`{"agent":"b","address":"192.0.2.2"}`,
	} {
		s["192.0.2.2 a"] = []byte(text)
		l := New()
		if got := l.Restore(s); !slices.Equal(got, want) || names(l) != "h/1@192.0.2.1" {
			t.Errorf("%s: %q cannot be read; restored are %s", text, got, names(l))
		}
	}
	s["192.0.2.2 a"] = []byte(agent + "}")
	restored(t, s, false)
}

// TestKeepForgets: harvesters that were forgotten while the program was stopped, or displaced,
// are removed from the state.
func TestKeepForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := store{}, New()
		l.Observe(answer("a", "192.0.2.1:5", "changelist"))
		mustSave(t, l, s)
		time.Sleep(Retention)
		mustSave(t, restored(t, s, false).Log, s)
		if len(s) > 0 {
			t.Errorf("the state has %d harvesters after %v", len(s), Retention)
		}
		l = New()
		for i := range 3 * maxHarvesters {
			l.Observe(answer("a", fmt.Sprintf("198.51.%d.%d:1", i/250, i%250), "changelist"))
			if i%100 == 0 {
				mustSave(t, l, s)
			}
			if len(l.gone) > maxHarvesters || len(l.changed) > maxHarvesters {
				t.Fatalf("%d are gone, %d have changed", len(l.gone), len(l.changed))
			}
		}
		mustSave(t, l, s)
		if len(s) != maxHarvesters {
			t.Errorf("the state has %d harvesters", len(s))
		}
	})
}

// TestKeepAgain: harvesters that could not be saved are saved later, and unchanged ones
// are not saved.
func TestKeepAgain(t *testing.T) {
	s, l := store{}, New()
	l.Observe(answer("a", "192.0.2.1:5", "changelist"))
	full := errors.New("full")
	if err := l.Save(func(map[string][]byte, []string) error { return full }); err != full {
		t.Error(err)
	}
	mustSave(t, l, s)
	if len(s) != 1 {
		t.Errorf("the state has %d harvesters", len(s))
	}
	mustSaveNothing(t, l)
}

// TestShorten: addresses are shortened in memory and in a state that has longer ones.
func TestShorten(t *testing.T) {
	s, l := store{}, New()
	for _, address := range []string{"192.0.2.1:5", "192.0.2.9:5", "[2001:db8:1:2::1]:5", "[2001:db8:1:3::1]:5"} {
		l.Observe(answer("a", address, "changelist"))
		time.Sleep(time.Millisecond)
	}
	mustSave(t, l, s)
	l = restored(t, s, true).Log
	const want = "a@2001:db8:1::/48 a@192.0.2.0/24"
	if got := names(l); got != want {
		t.Error(got)
	}
	mustSave(t, l, s)
	if got := names(restored(t, s, true).Log); got != want || len(s) != 2 {
		t.Errorf("%s: %d in the state", got, len(s))
	}
	l.Observe(answer("a", "192.0.2.200:5", "changelist"))
	if got := names(l); got != "a@192.0.2.0/24 a@2001:db8:1::/48" {
		t.Error(got)
	}
}
