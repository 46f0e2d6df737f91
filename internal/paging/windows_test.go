package paging

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const day = 24 * time.Hour

var since = time.Date(2026, 1, 1, 15, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return since.Add(d) }

func divide(t *testing.T, max int, settle time.Duration, times ...time.Time) []resourcesync.Interval {
	t.Helper()
	w := NewWindows(since, day, max, settle)
	for _, c := range times {
		if err := w.Add(c, 0); err != nil {
			t.Fatal(err)
		}
	}
	return w.Intervals()
}

func boundaries(ivs []resourcesync.Interval) string {
	var b strings.Builder
	for _, iv := range ivs {
		b.WriteString(iv.From.Format("02T15:04:05") + " ")
	}
	return strings.TrimSpace(b.String())
}

func TestWindows(t *testing.T) {
	h := func(hours ...int) (out []time.Time) {
		for _, n := range hours {
			out = append(out, after(time.Duration(n)*time.Hour))
		}
		return out
	}
	for _, tt := range []struct {
		name   string
		settle time.Duration
		times  []time.Time
		want   string
	}{
		{"no change", 0, nil, "01T15:00:00"},
		{"all fits into one", 0, h(0, 1, 40), "01T15:00:00"},
		{"days", 0, h(0, 1, 10, 34), "01T15:00:00 02T00:00:00 03T00:00:00"},
		{"a boundary belongs to the window before it", 0, h(0, 1, 9, 10), "01T15:00:00 02T00:00:00"},
		{"a boundary alone is a window", 0, h(0, 1, 2, 9, 10), "01T15:00:00 01T17:00:00 02T00:00:00"},
		{"a full window ends at its last change", 0, h(0, 1, 2, 3), "01T15:00:00 01T17:00:00"},
		{"but not between changes at one instant", 0, h(0, 1, 2, 2, 2, 3), "01T15:00:00 01T17:00:00"},
		{"nor at the beginning of the journal", 0, h(0, 0, 0, 1, 2), "01T15:00:00 01T16:00:00"},
		{"days without changes make no windows", 0, h(0, 1, 2, 199, 200), "01T15:00:00 02T00:00:00"},
		{"not yet settled", 2 * time.Hour, h(0, 1, 8, 11), "01T15:00:00"},
		{"settled", 2 * time.Hour, h(0, 1, 8, 12), "01T15:00:00 02T00:00:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := boundaries(divide(t, 3, tt.settle, tt.times...)); got != tt.want {
				t.Errorf("windows from %s, want %s", got, tt.want)
			}
		})
	}
}

func TestWindowsRefuse(t *testing.T) {
	w := NewWindows(since, day, 10, 0)
	w.Add(after(2), 0)
	if err := w.Add(after(1), 0); err == nil {
		t.Error("a step back was taken")
	}
	w = NewWindows(since, day, 10, 0)
	if err := w.Add(after(-1), 0); err == nil {
		t.Error("a change before since was taken")
	}
	w = NewWindows(since, day, 10, 0)
	w.Resume([]Window{{Interval: resourcesync.Interval{From: since, Until: after(1)}, Count: 1}})
	if err := w.Add(after(1), 0); err == nil {
		t.Error("a change at the end of a closed window was taken")
	}
	w = NewWindows(since, day, 10, 0)
	var err error
	for i := 0; err == nil && i <= rsxml.MaxEntries; i++ {
		err = w.Add(after(0), 0)
	}
	if err == nil {
		t.Error("more changes at one instant than a list can hold were taken")
	}
}

func TestWindowsBySize(t *testing.T) {
	w := NewWindows(since, day, 10_000, 0)
	for i := range 100 {
		if err := w.Add(after(time.Duration(i)*time.Second), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := boundaries(w.Intervals()), "01T15:00:00 01T15:00:36 01T15:01:13"; got != want {
		t.Errorf("windows from %s, want %s", got, want)
	}
}

// TestWindowsProperties extends journals at random. Windows are contiguous and keep
// within their limit, and closed ones do not change. Dividing step by step, with
// Rewind, has the same result as dividing at once.
func TestWindowsProperties(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		max := 1 + rnd.IntN(8)
		settle := time.Duration(rnd.IntN(3)) * time.Hour
		var journal []time.Time
		now := since
		steps := NewWindows(since, day, max, settle)
		var before []resourcesync.Interval
		for range 30 {
			for range rnd.IntN(6) {
				now = now.Add(time.Duration(1+rnd.IntN(int(10*time.Hour/time.Second))) * time.Second)
				journal = append(journal, now)
			}
			from := steps.Rewind()
			for _, c := range journal {
				if c.After(from) {
					if err := steps.Add(c, 0); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := steps.Intervals()
			if want := divide(t, max, settle, journal...); !slices.Equal(got, want) {
				t.Fatalf("seed %d: step by step %v, at once %v", seed, got, want)
			}
			next := since
			for i, iv := range got {
				if !iv.From.Equal(next) || iv.Open() != (i == len(got)-1) || !iv.Open() && !iv.From.Before(iv.Until) {
					t.Fatalf("seed %d: not contiguous: %v", seed, got)
				}
				n := 0
				for _, c := range journal {
					if iv.Contains(c) {
						n++
					}
				}
				if !iv.Open() && (n > max || n == 0) {
					t.Fatalf("seed %d: %d changes in a window of at most %d", seed, n, max)
				}
				next = iv.Until
			}
			if n := len(before) - 1; n > 0 && !slices.Equal(got[:n], before[:n]) {
				t.Fatalf("seed %d: a closed window changed: %v, then %v", seed, before, got)
			}
			before = got
		}
	}
}

// TestLast: the number of changes identifies the last interval, whether or not its
// windows have settled.
func TestLast(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, max := range []int{3, 1000} {
		w := NewWindows(start, time.Hour, max, 3*time.Hour)
		if n, newest := w.Last(); n != 0 || !newest.IsZero() {
			t.Errorf("before the first change: %d, %v", n, newest)
		}
		var shown []time.Time
		for i := range 100 {
			at := start.Add(time.Duration(1+i*i) * time.Minute)
			if err := w.Add(at, 100); err != nil {
				t.Fatal(err)
			}
			shown = append(shown, at)
			intervals := w.Intervals()
			last, want := intervals[len(intervals)-1], 0
			for _, at := range shown {
				if last.Contains(at) {
					want++
				}
			}
			if n, newest := w.Last(); n != want || !newest.Equal(at) {
				t.Fatalf("max %d, change %d: %d until %v, want %d until %v", max, i, n, newest, want, at)
			}
		}
	}
}

// TestD3_OneListLeavesRoom: entries that have grown since a store noted their sizes
// still fit into the only list there is.
func TestD3_OneListLeavesRoom(t *testing.T) {
	const size, grown = 900, 54 // a lastmod and six digits
	w := NewWindows(since, day, rsxml.MaxEntries, 0)
	for i := range rsxml.MaxEntries {
		if err := w.Add(after(time.Duration(i)*time.Second), size); err != nil {
			t.Fatal(err)
		}
	}
	intervals := w.Intervals()
	if len(intervals) == 1 {
		t.Fatal("one list of 45 MB")
	}
	for _, closed := range w.Closed() {
		if closed.Bytes+grown*closed.Count > MaxBytes {
			t.Errorf("%d changes of %d bytes have no room to grow", closed.Count, closed.Bytes)
		}
	}
}
