package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// A windowCache keeps the division of the journal into windows, so that each change is
// read once, and a closed window stays closed when older changes are dropped.
type windowCache struct {
	mu      sync.Mutex
	max     int
	since   int64
	added   int64 // the newest change added to windows
	windows *paging.Windows
}

// Windows implements [resourcesync.Windower]. It keeps one division, so all callers
// should use the same max.
func (s *Set) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if max < 1 {
		return nil, fmt.Errorf("memory: invalid maximum of %d changes in a window", max)
	}
	d := &s.windows
	d.mu.Lock()
	defer d.mu.Unlock()
	st, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	if d.windows == nil || d.max != max || d.since != st.since {
		d.begin(st, s, max)
	}
	for _, e := range st.journal[after(st.journal, moment(d.added)):] {
		if err := d.windows.Add(moment(e.At), e.size); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		d.added = e.At
	}
	return d.windows.Intervals(), nil
}

// begin restarts the division and keeps those of its closed windows that are still in the
// journal.
func (d *windowCache) begin(st *state, s *Set, max int) {
	var closed []paging.Window
	if d.windows != nil && d.max == max {
		since := moment(st.since)
		closed = slices.DeleteFunc(d.windows.Closed(), func(w paging.Window) bool { return w.From.Before(since) })
	}
	d.max, d.since = max, st.since
	d.added = st.since
	d.windows = paging.NewWindows(moment(st.since), s.window, max, 0)
	if n := len(closed); n > 0 {
		d.windows.Resume(closed)
		d.added = closed[n-1].Until.UnixMicro()
	}
}
