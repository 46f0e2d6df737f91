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
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
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
	var builder entries.Builder
	for c, err := range st.changes(ctx, resourcesync.Interval{From: j.windows.Rewind()}, nil) { // the list reports what it omits
		if err != nil {
			return nil, err
		}
		if err := j.windows.Add(c.Datetime, builder.Size(&head, builder.Change(&c))); err != nil {
			return nil, fmt.Errorf("journal of set %q: %w", st.name, err)
		}
	}
	return j.windows.Intervals(), nil
}

// changes yields the changes of st's journal in iv; see [checked.Changes].
func (st *set) changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.Changes(ctx, st.changer, iv, omit)
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
