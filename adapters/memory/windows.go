package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// A division remembers how the journal is divided into windows, so that each
// change is looked at once, and a window that has been closed stays closed when
// older changes are dropped.
type division struct {
	mu      sync.Mutex
	max     int
	since   int64
	shown   int64 // the newest change that windows has been shown
	windows *paging.Windows
}

// Windows implements [resourcesync.Windower]. It remembers one division: callers
// should agree on max.
func (s *Set) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if max < 1 {
		return nil, fmt.Errorf("memory: windows of at most %d changes", max)
	}
	d := &s.division
	d.mu.Lock()
	defer d.mu.Unlock()
	st, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	if d.windows == nil || d.max != max || d.since != st.since {
		d.begin(st, s, max)
	}
	for _, e := range st.journal[after(st.journal, moment(d.shown)):] {
		if err := d.windows.Add(moment(e.at), e.size); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		d.shown = e.at
	}
	return d.windows.Intervals(), nil
}

// begin begins the division again, from what st has of the windows that were
// closed before.
func (d *division) begin(st *state, s *Set, max int) {
	var closed []paging.Window
	if d.windows != nil && d.max == max {
		since := moment(st.since)
		closed = slices.DeleteFunc(d.windows.Closed(), func(w paging.Window) bool { return w.From.Before(since) })
	}
	d.max, d.since = max, st.since
	d.shown = st.since
	d.windows = paging.NewWindows(moment(st.since), s.window, max, 0)
	if n := len(closed); n > 0 {
		d.windows.Resume(closed)
		d.shown = closed[n-1].Until.UnixMicro()
	}
}
