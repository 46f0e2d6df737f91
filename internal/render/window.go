package render

import (
	"errors"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// ErrEnough means that a window has no room for further entries.
var ErrEnough = errors.New("the page is full")

// A Window is the part of a document that a page shows. A body with a window gives its entries to
// the window, and writes nothing.
type Window struct {
	// Take gets the head of the document so far, and an entry with its key if it has one. They
	// are valid until Take returns. If it returns false, the window has no room for the entry and
	// for those after it.
	Take func(h *rsxml.Head, key string, e *rsxml.Entry) bool

	// The window begins at Key in a list of resources. In a list of changes, it begins with the
	// newest change before Before, and continues backwards. In other lists, it begins after the
	// first Skip entries. Zero values are the beginning, or the newest change.
	Key    string
	Before time.Time
	Skip   int

	Newest  time.Time // the newest change is not later; zero if unknown
	More    bool      // entries follow those of the window
	Partial bool      // changes are left out, because too many have the same time
	All     int       // number of entries of the list; zero if unknown

	skipped int
}

func (w *Window) take(h *rsxml.Head, key string, e *rsxml.Entry) (fits bool) {
	if w.skipped < w.Skip {
		w.skipped++
		return true
	}
	w.More = !w.Take(h, key, e)
	return !w.More
}

// Full returns the error for an entry that does not fit: ErrEnough if b has a window, and
// otherwise err.
func (b *Body) Full(err error) error {
	if b.Window != nil {
		return ErrEnough
	}
	return err
}

// Listed yields the elements of all whose entries b needs: all, or those from the beginning of
// the window on, in reverse order if the window shows the newest first.
func Listed[T any](b *Body, all []T, newestFirst bool) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		first, reverse := 0, false
		if w := b.Window; w != nil {
			first, reverse = w.Skip, newestFirst
			w.All, w.skipped = len(all), w.Skip
		}
		for i := first; i < len(all); i++ {
			j := i
			if reverse {
				j = len(all) - 1 - i
			}
			if !yield(j, all[j]) {
				return
			}
		}
	}
}
