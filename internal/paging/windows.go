package paging

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Windows divides a journal into the intervals of Change Lists. The caller adds the
// changes in order.
//
// A window ends at the first clock boundary (midnight UTC for windows of a day) that is
// not before its first change. A full window ends earlier, at its last change. A window
// includes its end, so no change of the next window is at or before it. A window is
// closed by a later change, never by the clock: the same journal always has the same
// windows. While the journal fits into one list, it is one open window.
type Windows struct {
	since  time.Time
	every  time.Duration
	max    int
	settle time.Duration

	closed []Window
	kept   int // the number of windows that an earlier division has closed
	open   Window
	end    time.Time // the latest end of open; zero before its first change
	last   time.Time // the datetime of the newest change
}

// A Window is an interval with the number of its changes and the size of their entries in
// bytes.
type Window struct {
	resourcesync.Interval
	Count, Bytes int
}

// NewWindows starts a division of a journal that is complete after since, into windows of
// at most the duration every and at most max changes. Changes at exactly since belong to
// the first window, for hosts whose Since is the datetime of their oldest change; such a
// window is closed only if it also has a later change. A window is closed by a change
// more than settle after its end: settle is the maximum time by which changes can be out
// of order.
func NewWindows(since time.Time, every time.Duration, max int, settle time.Duration) *Windows {
	w := &Windows{since: since, every: every, max: max, settle: settle}
	w.open.From = since
	return w
}

// Add adds the next change: its datetime and the size of its entry in bytes (zero if
// unknown). It fails for a change before the previous one, and for more changes at one
// instant than a document can hold.
func (w *Windows) Add(t time.Time, size int) error {
	switch {
	case t.Before(w.last):
		return fmt.Errorf("a change at %s follows one at %s: changes must be in chronological order",
			t.Format(time.RFC3339Nano), w.last.Format(time.RFC3339Nano))
	case !w.open.Contains(t) && !(len(w.closed) == 0 && t.Equal(w.since)):
		return fmt.Errorf("a change at %s is not after %s: an interval excludes its From, so it must not contain changes at that time",
			t.Format(time.RFC3339Nano), w.open.From.Format(time.RFC3339Nano))
	}
	switch full := w.open.Count >= w.max || w.open.Count > 0 && w.open.Bytes+size > fill; {
	case w.open.Count == 0:
	case t.After(w.end):
		w.close(w.end)
	case full && t.After(w.last) && w.last.After(w.open.From):
		w.close(w.last)
	case w.open.Count >= rsxml.MaxEntries || w.open.Bytes+size > MaxBytes:
		return errors.New("too many changes at " + t.Format(time.RFC3339Nano) +
			" for one Change List: use finer datetimes")
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

// Boundary returns the first multiple of every that is not before t: the latest end of
// the window that contains t.
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

// Finish closes the open window, unless it is empty, and returns all windows. The window
// ends where the next change would close it, and not after until. The caller must not add
// further changes.
func (w *Windows) Finish(until time.Time) []Window {
	if w.open.Count > 0 {
		if w.end.Before(until) {
			until = w.end
		}
		w.close(until)
	}
	return w.closed
}

// Resume continues an earlier division of the journal. closed are its closed windows, in
// order, beginning at since. They stay closed, even if retention has removed older ones
// and the rest fits into one list. Call Resume before the first Add, and add the changes
// after the closed windows.
func (w *Windows) Resume(closed []Window) {
	w.closed = slices.Clone(closed)
	w.kept = len(closed)
	if w.kept > 0 {
		w.last = closed[w.kept-1].Until
		w.open.From = w.last
	}
}

// Closed returns the closed windows among [Windows.Intervals].
func (w *Windows) Closed() []Window {
	return slices.Clone(w.closed[:len(w.Intervals())-1])
}

// Last returns the number of changes in the last of the intervals, and the datetime of
// the newest change; zero if there is none.
func (w *Windows) Last() (changes int, newest time.Time) {
	changes = w.open.Count
	for _, c := range w.closed[len(w.Intervals())-1:] {
		changes += c.Count
	}
	return changes, w.last
}

// Rewind drops the changes that are not settled, and returns the time after which the
// caller must add the changes of the journal again, including new ones.
func (w *Windows) Rewind() time.Time {
	w.closed = w.closed[:w.settled()]
	w.open = Window{Interval: resourcesync.Interval{From: w.since}}
	if n := len(w.closed); n > 0 {
		w.open.From = w.closed[n-1].Until
	}
	w.last = w.open.From
	return w.open.From
}

// Intervals returns the windows. The first begins at since, each of the others where the
// previous one ends, and only the last is open.
func (w *Windows) Intervals() []resourcesync.Interval {
	total := w.open
	for _, c := range w.closed {
		total.Count += c.Count
		total.Bytes += c.Bytes
	}
	// Entries may have grown since a store recorded their sizes; fill leaves space
	// for that.
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

// settled returns the number of closed windows that stay closed. Windows that together
// exceed one list are closed without waiting for them to settle.
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
