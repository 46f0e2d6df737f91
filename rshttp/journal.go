package rshttp

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/patch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A journal remembers how the journal of a set that does not divide itself is
// divided into windows: only what has come since is read again.
type journal struct {
	lock    chan struct{} // held while the journal is read; a request can stop waiting for it
	since   time.Time
	windows *paging.Windows

	listed atomic.Pointer[[]resourcesync.Interval] // the windows as they were last read
}

// lists reports whether part names a window that the journal had when its windows
// were last read. Windows in the archive are not among them.
func (j *journal) lists(part string) bool {
	windows := j.listed.Load()
	if windows == nil {
		return false
	}
	_, found := windowFrom(*windows, part)
	return found
}

// windowFrom finds the window that begins at the time that name states.
func windowFrom(windows []resourcesync.Interval, name string) (i int, found bool) {
	from, err := time.Parse(windowLayout, name)
	if err != nil {
		return 0, false
	}
	return slices.BinarySearchFunc(windows, from, func(w resourcesync.Interval, t time.Time) int { return w.From.Compare(t) })
}

// windows returns the intervals of st's Change Lists as they are now.
func (s *Source) windows(ctx context.Context, st *set) ([]resourcesync.Interval, error) {
	windows, err := s.readWindows(ctx, st)
	if err == nil {
		st.journal.listed.Store(&windows)
	}
	return windows, err
}

func (s *Source) readWindows(ctx context.Context, st *set) ([]resourcesync.Interval, error) {
	if w, ok := st.changer.(resourcesync.Windower); ok {
		windows, err := w.Windows(ctx, s.options.PageSize)
		if err == nil && len(windows) == 0 {
			err = fmt.Errorf("the journal of set %q has no windows: even an empty one has an open window", st.name)
		}
		return windows, err
	}
	select {
	case st.journal.lock <- struct{}{}:
		defer func() { <-st.journal.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	since, err := st.changer.Since(ctx)
	if err != nil {
		return nil, err
	}
	j := &st.journal
	if j.windows == nil || !j.since.Equal(since) {
		j.since, j.windows = since, paging.NewWindows(since, s.options.Window, s.options.PageSize, max(s.options.Settle, 0))
	}
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeList}}
	var (
		e       rsxml.Entry
		patch   patch.Filter
		scratch []byte
	)
	for c, err := range st.changes(ctx, resourcesync.Interval{From: j.windows.Rewind()}) {
		if err != nil {
			return nil, providerError("journal", err)
		}
		if rsxml.CheckURI(c.Resource.URI) != nil {
			continue // the list that should tell of it reports it
		}
		e.SetChange(&c)
		patch.Apply(&e)
		scratch, _ = rsxml.AppendEntry(scratch[:0], &head, &e)
		if err := j.windows.Add(c.Datetime, len(scratch)); err != nil {
			return nil, fmt.Errorf("journal of set %q: %w", st.name, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return j.windows.Intervals(), nil
}

// changes yields the changes of st's journal in iv, and an error for any other that
// the journal yields.
//
// If iv begins at the Since of a journal that does not divide itself, changes at
// exactly that time are part of it: a host may answer with the datetime of its
// oldest change, which must not be lost.
func (st *set) changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		asked, first := iv, time.Time{}
		if _, ok := st.changer.(resourcesync.Windower); !ok && !iv.From.IsZero() {
			since, err := st.changer.Since(ctx)
			if err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			if iv.From.Equal(since) {
				first, asked.From = since, since.Add(-time.Microsecond)
			}
		}
		for c, err := range st.changer.Changes(ctx, asked) {
			switch at := c.Datetime; {
			case err != nil:
				yield(c, err)
				return
			case at.Before(first) && asked.Contains(at):
				continue
			case !asked.Contains(at):
				yield(c, fmt.Errorf("journal broke its contract: a change at %v, asked for those after %v, up to %v", at, asked.From, asked.Until))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// known returns how far the journal was when its windows were asked for last.
func (j *journal) known(ctx context.Context) (knownJournal, error) {
	select {
	case j.lock <- struct{}{}:
		defer func() { <-j.lock }()
	case <-ctx.Done():
		return knownJournal{}, ctx.Err()
	}
	changes, newest := j.windows.Last()
	return knownJournal{strconv.Itoa(changes), newest}, nil
}
