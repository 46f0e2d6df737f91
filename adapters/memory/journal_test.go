package memory

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/resourcesync-go/resourcesync"
)

func TestDatetimes(t *testing.T) {
	c := &clock{noon}
	s := New(&Options{Now: c.now})
	var got []string
	for i, now := range []time.Duration{
		0,                          // the time the set was made, which no change shares
		0,                          // again
		time.Second,                //
		time.Second + 999,          // within the same microsecond
		-time.Hour,                 // the clock steps back
		time.Second + 2*1000,       // and forth, to what is taken already
		time.Minute + 123456789,    //
		time.Minute + 123456*1000,  //
		time.Minute + 1234567*1000, //
	} {
		c.Time = noon.Add(now)
		put(t, s, resource("a", fmt.Sprint(i)))
		st, err := s.Stat(t.Context(), resourcesync.Range{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, st.LastModified.Sub(noon).String())
	}
	want := "1µs 2µs 1s 1.000001s 1.000002s 1.000003s 1m0.123456s 1m0.123457s 1m1.234567s"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("datetimes after noon:\n%s, want\n%s", got, want)
	}
	datetimes := all(t, s.Changes(t.Context(), resourcesync.Interval{}), func(c resourcesync.Change) string {
		return c.Datetime.Sub(noon).String()
	})
	if datetimes != want {
		t.Errorf("in the journal:\n%s, want\n%s", datetimes, want)
	}
}

// TestRetain checks that old changes are dropped in whole windows, with all data about
// them.
func TestRetain(t *testing.T) {
	day := 24 * time.Hour
	c := &clock{noon}
	s := New(&Options{Now: c.now, Retain: 3 * day})
	at := func(days int, f func()) {
		c.Time = noon.Add(time.Duration(days) * day)
		f()
	}
	check := func(when, wantJournal string, wantSince time.Time, wantTombstones int) {
		t.Helper()
		if got := journal(t, s); got != wantJournal {
			t.Errorf("%s: the journal is %q, want %q", when, got, wantJournal)
		}
		since, err := s.Since(t.Context())
		if err != nil || !since.Equal(wantSince) {
			t.Errorf("%s: Since is %v, %v, want %v", when, since, err, wantSince)
		}
		if got := s.state.items.Len() - s.Len(); got != wantTombstones {
			t.Errorf("%s: %d deletions are remembered, want %d", when, got, wantTombstones)
		}
	}
	at(0, func() { put(t, s, resource("a", "1"), resource("b", "1"), resource("c", "1")) })
	at(0, func() {
		if err := s.Delete(t.Context(), "b", "c"); err != nil {
			t.Error(err)
		}
	})
	at(1, func() { put(t, s, resource("c", "2"), resource("d", "1")) })
	at(1, func() {
		if err := s.Delete(t.Context(), "d"); err != nil {
			t.Error(err)
		}
	})
	check("day 1", "c:a1 c:b1 c:c1 d:b d:c c:c2 c:d1 d:d", noon, 2)
	at(3, func() { put(t, s, resource("a", "2")) })
	check("three days later the first day still ends within them", "c:a1 c:b1 c:c1 d:b d:c c:c2 c:d1 d:d u:a2", noon, 2)
	at(4, func() { put(t, s, resource("a", "3")) })
	midnight := noon.Add(12 * time.Hour)
	check("now it does not", "c:c2 c:d1 d:d u:a2 u:a3", midnight, 1)
	at(5, func() { put(t, s, resource("a", "4")) })
	check("days without changes end with the day before them", "u:a2 u:a3 u:a4", midnight.Add(day), 0)
	at(50, func() { put(t, s, resource("a", "4")) })
	check("what changes nothing drops nothing", "u:a2 u:a3 u:a4", midnight.Add(day), 0)
	at(50, func() {
		if err := s.Delete(t.Context(), "c"); err != nil {
			t.Error(err)
		}
	})
	check("everything else is old", "d:c", midnight.Add(5*day), 1)
	if got := contents(t, s); got != "a4" {
		t.Errorf("the set is %q", got)
	}
}

// TestRetainFrees checks that dropped changes take no memory.
func TestRetainFrees(t *testing.T) {
	c := &clock{noon}
	s := New(&Options{Now: c.now, Retain: time.Hour})
	// Five, so that the journal has room for more.
	for i := range 5 {
		put(t, s, resource("a", fmt.Sprint(i)))
	}
	first := weak.Make(s.state.journal[0].Resource)
	c.Time = noon.Add(48 * time.Hour)
	put(t, s, resource("b", "1"))
	runtime.GC()
	if r := first.Value(); r != nil {
		t.Errorf("%+v is still there", r)
	}
	runtime.KeepAlive(s)
}

// TestProperties changes sets at random, with a clock that goes forwards and backwards
// and a journal with a short retention time, and checks the guarantees that the
// documents of a Source rely on: one Version is one state, no range with resources
// seems to get older, and a closed window never changes.
func TestProperties(t *testing.T) {
	ranges := []resourcesync.Range{{}, {To: "3"}, {From: "3", To: "6"}, {From: "35", To: "36"}, {From: "6"}}
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		c := &clock{noon}
		s := New(&Options{Now: c.now, Window: time.Hour, Retain: time.Duration(rnd.IntN(30)) * time.Hour})
		model := map[string]string{}
		states := make([]map[string]string, len(ranges)) // by Version
		for i := range states {
			states[i] = map[string]string{}
		}
		modified := make([]time.Time, len(ranges))
		var closed []resourcesync.Interval
		last := time.Time{}
		for step := range 150 {
			c.Time = c.Add(time.Duration(rnd.IntN(100)-20) * time.Minute)
			for range rnd.IntN(4) {
				key, stamp := fmt.Sprintf("%02d", rnd.IntN(80)), fmt.Sprint("/", rnd.IntN(3))
				if rnd.IntN(2) == 0 {
					put(t, s, resource(key, stamp))
					model[key] = stamp
				} else {
					if err := s.Delete(t.Context(), key); err != nil {
						t.Error(err)
					}
					delete(model, key)
				}
			}
			where := fmt.Sprintf("seed %d, step %d", seed, step)
			for i, r := range ranges {
				var words []string
				for key, stamp := range model {
					if r.Contains(key) {
						words = append(words, key+stamp)
					}
				}
				slices.Sort(words)
				want := strings.Join(words, " ")
				got := all(t, s.Resources(t.Context(), r), func(r resourcesync.Resource) string { return r.Key + r.Stamp })
				if got != want {
					t.Fatalf("%s: range %v is %q, want %q", where, r, got, want)
				}
				st, err := s.Stat(t.Context(), r)
				if err != nil || st.Count != int64(len(words)) {
					t.Fatalf("%s: range %v: %+v, %v, want a Count of %d", where, r, st, err, len(words))
				}
				if old, found := states[i][st.Version]; found && old != want {
					t.Fatalf("%s: range %v: Version %q stands for %q and for %q", where, r, st.Version, old, want)
				}
				states[i][st.Version] = want
				if st.Count > 0 && st.LastModified.Before(modified[i]) {
					t.Fatalf("%s: range %v: LastModified went back from %v to %v", where, r, modified[i], st.LastModified)
				}
				modified[i] = st.LastModified
			}
			for ch, err := range s.Changes(t.Context(), resourcesync.Interval{From: last}) {
				if err != nil || !ch.Datetime.After(last) || ch.Datetime.Nanosecond()%1000 != 0 {
					t.Fatalf("%s: %+v, %v after one at %v", where, ch, err, last)
				}
				last = ch.Datetime
			}
			closed = checkWindows(t, s, closed, where)
		}
	}
}

// checkWindows returns the closed windows of at most one change. With so few, a
// journal of more than one change is always divided.
func checkWindows(t *testing.T, s *Set, before []resourcesync.Interval, where string) []resourcesync.Interval {
	t.Helper()
	since, err := s.Since(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	windows, err := s.Windows(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if !windows[0].From.Equal(since) {
		t.Fatalf("%s: the first window begins at %v, but Since is %v", where, windows[0].From, since)
	}
	if len(windows) == 1 {
		return nil
	}
	for _, iv := range before {
		if !iv.From.Before(since) && !slices.Contains(windows, iv) {
			t.Fatalf("%s: the closed window %v is gone from %v", where, iv, windows)
		}
	}
	return windows[:len(windows)-1]
}
