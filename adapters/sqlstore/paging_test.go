package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/internal/codec"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// A clock is set by tests.
type clock struct{ now time.Time }

func (c *clock) tell() time.Time { return c.now }

func newClock() *clock { return &clock{time.Date(2026, 1, 1, 15, 0, 0, 0, time.UTC)} }

// scatter makes random changes: puts and deletions of keys from a small alphabet, some
// not UTF-8, some of resources with many fields.
func scatter(t *testing.T, set *Set, rnd *rand.Rand, n, keys int) {
	t.Helper()
	var puts []resourcesync.Resource
	var deletions []string
	for range n {
		key := fmt.Sprintf("%04d%s", rnd.IntN(keys), []string{"", "é", "è", "\xff"}[rnd.IntN(4)])
		if rnd.IntN(3) == 0 {
			deletions = append(deletions, key)
			continue
		}
		r := resourcesync.Resource{Key: key, URI: fmt.Sprintf("https://example.org/%d", rnd.IntN(1000))}
		for range rnd.IntN(3) {
			r.Links = append(r.Links, resourcesync.Link{Rel: "alternate", Href: "https://example.org/alternate"})
		}
		puts = append(puts, r)
	}
	if err := set.Put(t.Context(), puts...); err != nil {
		t.Fatal(err)
	}
	if err := set.Delete(t.Context(), deletions...); err != nil {
		t.Fatal(err)
	}
}

// TestCutsAreThoseOfPaging divides random sets as package paging does, and compares.
func TestCutsAreThoseOfPaging(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		for seed := range uint64(2) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			set := store.mustSet(t, fmt.Sprint(seed), nil)
			every := []int{1 + rnd.IntN(20), 100 + rnd.IntN(200), 1000}
			previous := make([][]resourcesync.Cut, len(every))
			for range 5 {
				scatter(t, set, rnd, rnd.IntN(1000), 200)
				for i, n := range every {
					got, err := set.Cuts(t.Context(), nil, n)
					if err != nil {
						t.Fatal(err)
					}
					want := walk(t, set, previous[i], n)
					if !slices.Equal(got, want) {
						t.Fatalf("seed %d: pages of %d are\n%v\nexpected\n%v", seed, n, got, want)
					}
					previous[i] = want
					checkStats(t, set, got)
				}
			}
			checkBlocks(t, set)
		}
	})
}

// walk divides a set by all of its rows.
func walk(t *testing.T, set *Set, previous []resourcesync.Cut, every int) []resourcesync.Cut {
	t.Helper()
	cuts := paging.NewCuts(previous, every)
	err := set.store.db.Do(t.Context(), func(c rowdb.Conn) error {
		return c.Query(t.Context(), sizesOf, func(r rowdb.Row) error {
			if r.Null(3) {
				cuts.AddDeleted(rowdb.String(r, 0), moment(r.Int(1)))
			} else {
				cuts.Add(rowdb.String(r, 0), int(r.Int(2)), moment(r.Int(1)))
			}
			return nil
		}, set.id, []byte{}, beyond)
	})
	if err != nil {
		t.Fatal(err)
	}
	out := cuts.Done()
	for i := range out {
		if out[i].Newest.IsZero() {
			since, err := set.Since(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out[i].Newest = since
		}
	}
	return out
}

// checkStats compares the data of pages in cuts with the Stats of their ranges.
func checkStats(t *testing.T, set *Set, cuts []resourcesync.Cut) {
	t.Helper()
	from := ""
	for i, c := range cuts {
		if i > 5 && i < len(cuts)-1 {
			from = c.Key
			continue
		}
		st, err := set.Stat(t.Context(), resourcesync.Range{From: from, To: c.Key})
		if err != nil {
			t.Fatal(err)
		}
		if st.Count != int64(c.Count) || !st.LastModified.Equal(c.Newest) {
			t.Fatalf("page from %q to %q: %+v, but %+v", from, c.Key, st, c)
		}
		from = c.Key
	}
}

// TestCutsAreShared: another process, and a caller without previous cuts, get the cuts
// kept for a page size.
func TestCutsAreShared(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", nil)
		rnd := rand.New(rand.NewPCG(1, 1))
		scatter(t, set, rnd, 400, 300)
		before, err := set.Cuts(t.Context(), nil, 50)
		if err != nil {
			t.Fatal(err)
		}
		scatter(t, set, rnd, 20, 300)
		after, err := set.Cuts(t.Context(), before, 50)
		if err != nil {
			t.Fatal(err)
		}
		other := db.open(t, nil).mustSet(t, "", nil)
		got, err := other.Cuts(t.Context(), nil, 50)
		if err != nil || !slices.Equal(got, after) {
			t.Errorf("another process finds\n%v, %v\nexpected\n%v", got, err, after)
		}
		if fresh := walk(t, set, nil, 50); slices.Equal(fresh, after) {
			t.Error("the cuts would have been the same without those before")
		}
	})
}

// TestWindowsAreThoseOfPaging compares windows, found step by step, with the windows of
// the whole journal.
func TestWindowsAreThoseOfPaging(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		for seed := range uint64(4) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			clock := newClock()
			store := db.open(t, &Options{Now: clock.tell, Retain: -1})
			set := store.mustSet(t, fmt.Sprint(seed), nil)
			most := []int{1 + rnd.IntN(8), 20, 1000}
			for range 15 {
				for range rnd.IntN(6) {
					clock.now = clock.now.Add(time.Duration(rnd.IntN(10)) * time.Hour)
					scatter(t, set, rnd, 1+rnd.IntN(3), 50)
				}
				for _, max := range most {
					got, err := set.Windows(t.Context(), max)
					if err != nil {
						t.Fatal(err)
					}
					if want := windowsOf(t, set, max); !slices.Equal(got, want) {
						t.Fatalf("seed %d: windows of %d are\n%v\nexpected\n%v", seed, max, got, want)
					}
				}
			}
		}
	})
}

// windowsOf divides the whole journal.
func windowsOf(t *testing.T, set *Set, max int) []resourcesync.Interval {
	t.Helper()
	since, err := set.Since(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := paging.NewWindows(since, set.store.window, max, 0)
	for c, err := range set.Changes(t.Context(), resourcesync.Interval{}) {
		if err == nil {
			err = w.Add(c.Datetime, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w.Intervals()
}

// TestRetain lets a journal grow for months. It drops whole windows, states the time
// since which it is complete, and the rest does not change.
func TestRetain(t *testing.T) {
	const max = 10
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: 10 * 24 * time.Hour})
		set := store.mustSet(t, "", nil)
		rnd := rand.New(rand.NewPCG(3, 3))
		var closed []resourcesync.Interval
		contents := map[resourcesync.Interval]string{}
		var began, since time.Time
		before := map[resourcesync.Range]resourcesync.Stat{}
		checkStats := func(day int) {
			t.Helper()
			for from := 0; from < 40; from += 3 {
				for to := from + 1; to < from+10; to += 2 {
					r := resourcesync.Range{From: fmt.Sprintf("%04d", from), To: fmt.Sprintf("%04d", to)}
					st, err := set.Stat(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					if b := before[r]; st.Count > 0 && st.LastModified.Before(b.LastModified) {
						t.Fatalf("day %d: range %v is %+v, and was %+v", day, r, st, b)
					}
					before[r] = st
				}
			}
		}
		for day := range 30 {
			clock.now = clock.now.Add(24 * time.Hour)
			if day < 15 || day%5 == 0 {
				scatter(t, set, rnd, 12, 40)
			}
			checkStats(day)
			if err := store.clearAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkStats(day)
			var err error
			if since, err = set.Since(t.Context()); err != nil {
				t.Fatal(err)
			}
			if day == 0 {
				began = since
			}
			windows, err := set.Windows(t.Context(), max)
			if err != nil {
				t.Fatal(err)
			}
			if !windows[0].From.Equal(since) {
				t.Fatalf("day %d: windows begin at %v, the journal at %v", day, windows[0].From, since)
			}
			for _, iv := range closed {
				switch gone := iv.From.Before(since); {
				case gone && iv.Until.After(since):
					t.Fatalf("day %d: part of the window %v is gone", day, iv)
				case !gone && !slices.Contains(windows, iv):
					t.Fatalf("day %d: the closed window %v is gone, of %v", day, iv, windows)
				case !gone && text(t, set, iv) != contents[iv]:
					t.Fatalf("day %d: the closed window %v has changed", day, iv)
				}
			}
			closed = windows[:len(windows)-1]
			for _, iv := range closed {
				contents[iv] = text(t, set, iv)
			}
			checkBlocks(t, set)
		}
		if kept := clock.now.Sub(since); since.Equal(began) || kept < 10*24*time.Hour || kept > 20*24*time.Hour {
			t.Errorf("the journal has the last %v", kept)
		}
		// Exactly the deletions are remembered that the journal still has.
		remembered := count(t, store, "SELECT count(*) FROM rs_resource r WHERE body IS NULL")
		known := count(t, store, "SELECT count(*) FROM rs_change c WHERE change = 'deleted' AND at = (SELECT max(at) FROM rs_change WHERE key = c.key)")
		if remembered != known || known == 0 {
			t.Errorf("%d deletions are remembered, %d are in the journal", remembered, known)
		}
		if old := count(t, store, fmt.Sprintf("SELECT count(*) FROM rs_change WHERE at <= %d", since.UnixMicro())); old > 0 {
			t.Errorf("%d changes are left that nobody can read", old)
		}
	})
}

// TestWindowOfAnotherLength: closed windows stay complete and unchanged when a store is
// opened with another Window.
func TestWindowOfAnotherLength(t *testing.T) {
	needs.Time(t)
	const retain = 10 * 24 * time.Hour
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		contents := map[resourcesync.Interval]string{}
		var closed []resourcesync.Interval
		var since time.Time
		for round, window := range []time.Duration{24 * time.Hour, time.Hour, 7 * 24 * time.Hour, 7 * time.Hour, 24 * time.Hour} {
			store := db.open(t, &Options{Now: clock.tell, Window: window, Retain: retain})
			set := store.mustSet(t, "", nil)
			for step := range 40 {
				clock.now = clock.now.Add(5 * time.Hour)
				if err := set.Put(t.Context(), small("a", 1000*round+step)); err != nil {
					t.Fatal(err)
				}
				var err error
				if since, err = set.Since(t.Context()); err != nil {
					t.Fatal(err)
				}
				windows, err := set.Windows(t.Context(), 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, iv := range closed {
					switch gone := iv.From.Before(since); {
					case gone && iv.Until.After(since):
						t.Fatalf("window %v, step %d: part of the window %v is gone", window, step, iv)
					case !gone && !slices.Contains(windows, iv):
						t.Fatalf("window %v, step %d: the closed window %v is gone, of %v", window, step, iv, windows)
					case !gone && text(t, set, iv) != contents[iv]:
						t.Fatalf("window %v, step %d: the closed window %v has changed", window, step, iv)
					}
				}
				closed = windows[:len(windows)-1]
				for _, iv := range closed {
					contents[iv] = text(t, set, iv)
				}
			}
			if kept := clock.now.Sub(since); round > 1 && (kept < retain || kept > retain+14*24*time.Hour) {
				t.Errorf("window %v: the journal has the last %v", window, kept)
			}
		}
	})
}

func text(t *testing.T, set *Set, iv resourcesync.Interval) string {
	t.Helper()
	out := ""
	for c, err := range set.Changes(t.Context(), iv) {
		if err != nil {
			t.Fatal(err)
		}
		out += fmt.Sprintf("%+v\n", c)
	}
	return out
}

func count(t testing.TB, s *Store, query string) (n int64) {
	t.Helper()
	err := s.db.Do(t.Context(), func(c rowdb.Conn) error {
		return c.Query(t.Context(), query, func(r rowdb.Row) error { n = r.Int(0); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestCutsOfShrunkSet divides a set that has shrunk to one page. The store keeps that
// division.
func TestCutsOfShrunkSet(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := store.mustSet(t, "set", nil)
		var keys []string
		for i := range 40 {
			keys = append(keys, fmt.Sprintf("%02d", i))
			if err := set.Put(t.Context(), resourcesync.Resource{Key: keys[i], URI: "https://example.org/" + keys[i]}); err != nil {
				t.Fatal(err)
			}
		}
		for _, want := range []int{4, 1} {
			cuts, err := set.Cuts(t.Context(), nil, 10)
			if err != nil || len(cuts) != want {
				t.Fatalf("%d cuts, %v, want %d", len(cuts), err, want)
			}
			decoded, err := codec.DecodeCuts(storedCuts(t, set))
			if err != nil || len(decoded) != want {
				t.Errorf("%d cuts are stored, %v, want %d", len(decoded), err, want)
			}
			if err := set.Delete(t.Context(), keys[1:]...); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// storedCuts returns the cuts that the store keeps, encoded.
func storedCuts(t *testing.T, set *Set) string {
	t.Helper()
	cuts, err := rowdb.One(t.Context(), set.store.db, func(r rowdb.Row) string { return rowdb.String(r, 0) },
		"SELECT cuts FROM rs_division WHERE set_id = $1", set.id)
	if err != nil {
		t.Fatal(err)
	}
	return cuts
}
