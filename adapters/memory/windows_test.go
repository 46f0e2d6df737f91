package memory

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestClosedStaysClosed drops the one day that made the journal too long for a single
// list. The windows that were closed after it do not open again.
func TestClosedStaysClosed(t *testing.T) {
	day := 24 * time.Hour
	c := &clock{noon}
	s := New(&Options{Now: c.now, Retain: 3 * day})
	windows := func() []resourcesync.Interval {
		t.Helper()
		ivs, err := s.Windows(t.Context(), 5)
		if err != nil {
			t.Fatal(err)
		}
		return ivs
	}
	change := func(days, n int) {
		c.Time = noon.Add(time.Duration(days) * day)
		for i := range n {
			put(t, s, resource("a", fmt.Sprint(days, i)))
		}
	}
	change(0, 5)
	if got := windows(); len(got) != 1 || !got[0].Open() {
		t.Fatalf("what fits into one list is in %v", got)
	}
	change(1, 1)
	change(2, 1)
	before := windows()
	if len(before) != 3 {
		t.Fatalf("three days are in %v", before)
	}
	change(4, 1) // drops the first day: three changes are left
	after := windows()
	if len(after) != 3 || !slices.Equal(after[:1], before[1:2]) {
		t.Errorf("the windows were %v and are %v", before, after)
	}
	change(30, 1) // drops everything else
	if got := windows(); len(got) != 1 || !got[0].Open() || got[0].From.Before(before[2].From) {
		t.Errorf("after everything was dropped: %v", got)
	}
}
