package paging

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Windows divides a journal whose changes it is shown in order into the
// intervals of Change Lists.
//
// A window ends at the first boundary of the clock (midnight UTC for windows of
// a day) that is not before its first change, or earlier, at its last change,
// when it is full. It includes its end, so no change of the next window is at or
// before it. A window is closed by a later change, never by the time of day: the
// same journal gives the same windows whenever and wherever it is divided. While
// all of the journal fits into one list it is one open window.
type Windows struct {
	since  time.Time
	every  time.Duration
	max    int
	settle time.Duration

	closed []Window
	kept   int // how many of closed were closed by an earlier division
	open   Window
	end    time.Time // where open ends at the latest; zero before its first change
	last   time.Time // the newest change seen
}

// A Window is an interval and what is in it: the number of changes, and the size
// of their entries in bytes.
type Window struct {
	resourcesync.Interval
	Count, Bytes int
}

// NewWindows starts a division of a journal that is complete after since, into
// windows of at most every and at most max changes. Changes at since itself, of a
// host whose Since is that of its oldest change, belong to the first window, beside
// at least one later change if it is closed. A window is closed only
// once a change is seen that lies more than settle after its end: if changes can
// come to light out of order, none may come later than that.
func NewWindows(since time.Time, every time.Duration, max int, settle time.Duration) *Windows {
	w := &Windows{since: since, every: every, max: max, settle: settle}
	w.open.From = since
	return w
}

// Add shows the next change: its datetime and the size of its entry in bytes
// (zero if unknown). It fails for a change before the one shown last, and for
// more changes at one instant than a document can hold.
func (w *Windows) Add(t time.Time, size int) error {
	switch {
	case t.Before(w.last):
		return fmt.Errorf("a change at %s comes after one at %s: changes must be in forward chronological order",
			t.Format(time.RFC3339Nano), w.last.Format(time.RFC3339Nano))
	case !w.open.Contains(t) && !(len(w.closed) == 0 && t.Equal(w.since)):
		return fmt.Errorf("a change at %s is not after %s: an interval excludes its From, so changes at that time must not come again",
			t.Format(time.RFC3339Nano), w.open.From.Format(time.RFC3339Nano))
	}
	switch full := w.open.Count >= w.max || w.open.Count > 0 && w.open.Bytes+size > fill; {
	case w.open.Count == 0:
	case t.After(w.end):
		w.close(w.end)
	case full && t.After(w.last) && w.last.After(w.open.From):
		w.close(w.last)
	case w.open.Count >= rsxml.MaxEntries || w.open.Bytes+size > MaxBytes:
		return errors.New("too many changes at the one instant " + t.Format(time.RFC3339Nano) +
			" for a Change List: give changes finer datetimes")
	}
	if w.open.Count == 0 {
		if w.end = Boundary(t, w.every); !w.end.After(w.open.From) {
			w.end = w.end.Add(w.every)
		}
	}
	w.open.Count++
	w.open.Bytes += size
	w.last = t
	return nil
}

// Boundary returns the first multiple of every that is not before t: where the
// window that t is in ends at the latest.
func Boundary(t time.Time, every time.Duration) time.Time {
	b := t.Truncate(every)
	if b.Before(t) {
		b = b.Add(every)
	}
	return b
}

// Horizon returns the time up to which changes may be dropped from a journal when a
// change at t is added: the end of the newest window that ended longer than retain
// before t. The journal is complete after the [Boundary] of the newest change that is
// dropped, not after the horizon: time without a change belongs to the window after
// it, so no window begins there.
func Horizon(t time.Time, retain, every time.Duration) time.Time {
	return t.Add(-retain).Truncate(every)
}

func (w *Windows) close(until time.Time) {
	w.open.Until = until
	w.closed = append(w.closed, w.open)
	w.open = Window{Interval: resourcesync.Interval{From: until}}
}

// Finish closes the open window, unless it is empty, where the next change would
// close it, but not after until, and returns all windows. Nothing comes after it.
func (w *Windows) Finish(until time.Time) []Window {
	if w.open.Count > 0 {
		if w.end.Before(until) {
			until = w.end
		}
		w.close(until)
	}
	return w.closed
}

// Resume takes over the windows that an earlier division of the journal has
// closed, in order and from since on. They stay closed, even if the journal has
// lost older ones since and all that is left would fit into one list. It comes
// before the first Add, with the first change that is in none of them.
func (w *Windows) Resume(closed []Window) {
	w.closed = slices.Clone(closed)
	w.kept = len(closed)
	if w.kept > 0 {
		w.last = closed[w.kept-1].Until
		w.open.From = w.last
	}
}

// Closed returns the windows that are closed, as [Windows.Intervals] shows them.
func (w *Windows) Closed() []Window {
	return slices.Clone(w.closed[:len(w.Intervals())-1])
}

// Last returns how many changes the last of the intervals has, and when the newest
// change is that was shown; zero if there is none.
func (w *Windows) Last() (changes int, newest time.Time) {
	changes = w.open.Count
	for _, c := range w.closed[len(w.Intervals())-1:] {
		changes += c.Count
	}
	return changes, w.last
}

// Rewind returns the time after which to show the journal again so that what was
// added to it since is seen, and forgets what it was shown after that time.
func (w *Windows) Rewind() time.Time {
	w.closed = w.closed[:w.settled()]
	w.open = Window{Interval: resourcesync.Interval{From: w.since}}
	if n := len(w.closed); n > 0 {
		w.open.From = w.closed[n-1].Until
	}
	w.last = w.open.From
	return w.open.From
}

// Intervals returns the windows: each begins where the one before it ends, the
// first at since, and only the last is open.
func (w *Windows) Intervals() []resourcesync.Interval {
	total := w.open
	for _, c := range w.closed {
		total.Count += c.Count
		total.Bytes += c.Bytes
	}
	// Entries may have grown since a store noted their sizes. What fill leaves
	// is enough for that.
	if w.kept == 0 && total.Count <= w.max && total.Bytes <= fill {
		return []resourcesync.Interval{{From: w.since}}
	}
	n := w.settled()
	out := make([]resourcesync.Interval, 0, n+1)
	open := resourcesync.Interval{From: w.since}
	for _, c := range w.closed[:n] {
		out = append(out, c.Interval)
		open.From = c.Until
	}
	return append(out, open)
}

// settled returns how many of the closed windows stay closed. A run of windows
// that no list could hold together is closed without waiting for it to settle.
func (w *Windows) settled() int {
	n := len(w.closed)
	tail := w.open
	for n > w.kept && !w.last.After(w.closed[n-1].Until.Add(w.settle)) {
		tail.Count += w.closed[n-1].Count
		tail.Bytes += w.closed[n-1].Bytes
		if tail.Count > rsxml.MaxEntries || tail.Bytes > MaxBytes {
			break
		}
		n--
	}
	return n
}
