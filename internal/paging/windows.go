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
// a day) after its first change, or earlier when it is full. It is closed by a
// later change, never by the time of day: the same journal gives the same
// windows whenever and wherever it is divided. While all of the journal fits
// into one list it is one open window.
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

// NewWindows starts a division of a journal that is complete from since, into
// windows of at most every and at most max changes. A window is closed only
// once a change is seen that lies at least settle after its end: if changes can
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
	if t.Before(w.last) || t.Before(w.since) {
		return fmt.Errorf("a change at %s comes after one at %s: changes must be in forward chronological order, none before Since",
			t.Format(time.RFC3339Nano), w.last.Format(time.RFC3339Nano))
	}
	switch full := w.open.Count >= w.max || w.open.Count > 0 && w.open.Bytes+size > fill; {
	case w.open.Count == 0:
	case !t.Before(w.end):
		w.close(w.end)
	case full && t.After(w.last):
		w.close(t)
	case w.open.Count >= rsxml.MaxEntries || w.open.Bytes+size > MaxBytes:
		return errors.New("too many changes at the one instant " + t.Format(time.RFC3339Nano) +
			" for a Change List: give changes finer datetimes")
	}
	if w.open.Count == 0 {
		w.end = t.Truncate(w.every).Add(w.every)
	}
	w.open.Count++
	w.open.Bytes += size
	w.last = t
	return nil
}

func (w *Windows) close(until time.Time) {
	w.open.Until = until
	w.closed = append(w.closed, w.open)
	w.open = Window{Interval: resourcesync.Interval{From: until}}
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

// Rewind returns the time from which to show the journal again so that what was
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
	if w.kept == 0 && total.Count <= w.max && total.Bytes <= MaxBytes {
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
	for n > w.kept && w.last.Before(w.closed[n-1].Until.Add(w.settle)) {
		tail.Count += w.closed[n-1].Count
		tail.Bytes += w.closed[n-1].Bytes
		if tail.Count > rsxml.MaxEntries || tail.Bytes > MaxBytes {
			break
		}
		n--
	}
	return n
}
