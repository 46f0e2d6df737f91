package paging

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var beginning = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// reader reads a journal, and counts the changes that are read.
type reader struct {
	times []time.Time
	read  int
	err   error
}

func (r *reader) changes(iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		if r.err != nil {
			yield(resourcesync.Change{}, r.err)
			return
		}
		for _, t := range r.times {
			if iv.Contains(t) {
				r.read++
				if !yield(resourcesync.Change{Datetime: t}, nil) {
					return
				}
			}
		}
	}
}

// TestBackwards reads journals of any density completely, and in reverse.
func TestBackwards(t *testing.T) {
	for name, gap := range map[string]func() time.Duration{
		"dense":  func() time.Duration { return time.Microsecond },
		"sparse": func() time.Duration { return 1000 * time.Hour },
		"bursts": func() time.Duration { return time.Duration(rand.Int64N(4)) * time.Duration(rand.ExpFloat64()*1e12) },
	} {
		r := &reader{}
		for at, i := beginning, 0; i < 5000; i++ {
			at = at.Add(max(gap(), time.Microsecond))
			r.times = append(r.times, at)
		}
		newest := r.times[len(r.times)-1]
		for _, iv := range []resourcesync.Interval{{}, {From: r.times[70]}, {From: r.times[70], Until: r.times[4000]}} {
			r.read = 0
			var want, got []time.Time
			for _, at := range r.times {
				if iv.Contains(at) {
					want = append(want, at)
				}
			}
			until := iv.Until
			for s, err := range Backwards(r.changes, iv, newest) {
				if err != nil || s.Partial || !s.Interval.Until.Equal(until) {
					t.Fatalf("%s: %v, partial %t, span %v does not end at %v", name, err, s.Partial, s.Interval, until)
				}
				until = s.Interval.From
				for _, c := range slices.Backward(s.Changes) {
					got = append(got, c.Datetime)
				}
			}
			slices.Reverse(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d changes of %v, want %d", name, len(got), iv, len(want))
			}
			if r.read > 3*len(want)+10*MaxSpan {
				t.Errorf("%s: read %d changes for %d", name, r.read, len(want))
			}
		}
	}
}

// TestBackwardsCost reads one span from a long journal.
func TestBackwardsCost(t *testing.T) {
	r := &reader{}
	for i := range 200_000 {
		r.times = append(r.times, beginning.Add(time.Duration(i)*time.Millisecond))
	}
	for s, err := range Backwards(r.changes, resourcesync.Interval{}, r.times[len(r.times)-1]) {
		if err != nil || len(s.Changes) == 0 {
			t.Fatal(err, len(s.Changes))
		}
		break
	}
	if r.read > 5*MaxSpan {
		t.Errorf("read %d changes", r.read)
	}
}

// TestBackwardsPartial has more changes at one time than a span may have.
func TestBackwardsPartial(t *testing.T) {
	r := &reader{times: slices.Repeat([]time.Time{beginning}, 2*MaxSpan)}
	r.times = append(r.times, beginning.Add(time.Second))
	partial, n := 0, 0
	for s, err := range Backwards(r.changes, resourcesync.Interval{}, beginning.Add(time.Second)) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(s.Changes)
		if s.Partial {
			partial++
		}
	}
	if partial != 1 || n != MaxSpan+1 {
		t.Errorf("%d partial spans, %d changes", partial, n)
	}
	r.err = errors.New("broken")
	for _, err := range Backwards(r.changes, resourcesync.Interval{}, beginning) {
		if err != r.err {
			t.Errorf("error %v", err)
		}
	}
}
