package document

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Show gives the entries of t in w to w.Take, and returns the head of the document and the state
// that it shows. st is that state, or nil to read it. Show reads only what it gives.
func (t Target) Show(ctx context.Context, st *State, w *render.Window) (*rsxml.Head, *State, error) {
	if st == nil {
		var err error
		if st, err = t.Kind.State(ctx, t, nil); err != nil {
			return nil, nil, err
		}
	}
	if w.Key > st.keys.From {
		if st.keys.From = w.Key; st.keys.To != "" && w.Key >= st.keys.To {
			return nil, nil, t.NotExist("a range with this position")
		}
	}
	w.Newest = st.Modified
	b := render.Body{Window: w}
	defer b.Free()
	if err := t.Kind.Render(ctx, t, st, &b); err != nil && !errors.Is(err, render.ErrEnough) {
		return nil, nil, err
	}
	return b.Head, st, nil
}

// RangeState returns the state of a document about keys of which only the keys are known.
func RangeState(keys resourcesync.Range) *State {
	return &State{Count: -1, keys: keys}
}

// newestFirst yields the changes of r in iv that w shows, the newest first.
func newestFirst(ctx context.Context, t Target, r Record, iv resourcesync.Interval, w *render.Window) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		if w.Skip > 0 || w.Key != "" {
			yield(resourcesync.Change{}, t.NotExist("a list with this position"))
			return
		}
		if until := w.Before.Add(-1); !w.Before.IsZero() && until.Before(time.Now()) && (iv.Until.IsZero() || until.Before(iv.Until)) {
			if iv.Until = until; !iv.Until.After(iv.From) {
				yield(resourcesync.Change{}, t.NotExist("a list with this position"))
				return
			}
		}
		for span, err := range Backwards(ctx, r, iv, w.Newest) {
			if err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			for _, c := range slices.Backward(span.Changes) {
				if !yield(c, nil) {
					return
				}
			}
			w.Partial = w.Partial || span.Partial
		}
	}
}

// Backwards yields the changes of r in iv in spans, the newest first. newest is the time of the
// newest change, or zero if it is unknown.
func Backwards(ctx context.Context, r Record, iv resourcesync.Interval, newest time.Time) iter.Seq2[paging.Span, error] {
	if now := time.Now(); newest.Unix() <= 0 || newest.After(now) {
		newest = now
	}
	return paging.Backwards(func(iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
		return r.Changes(ctx, iv, nil) // the document reports what it omits
	}, iv, newest)
}
