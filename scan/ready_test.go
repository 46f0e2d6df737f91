package scan_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// TestFailedFirstScan: a first scan that fails leaves the set closed.
func TestFailedFirstScan(t *testing.T) {
	var f folder
	f.set(errors.New("unreadable"), "a")
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		if r.isReady(t) {
			t.Error("ready after a failed scan")
		}
		f.set(nil, "a")
		pass(5 * time.Second)
		if !r.isReady(t) {
			t.Error("not ready after a complete scan")
		}
	})
}

// TestReadyAfterScan: readers wake when the first scan has ended, and its result is there.
func TestReadyAfterScan(t *testing.T) {
	f := folder{takes: 10 * time.Second}
	f.set(nil, "a")
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		began := time.Now()
		var wakes atomic.Int64
		watching := make(chan error)
		ctx, stop := context.WithCancel(t.Context())
		go func() { watching <- r.Watch(ctx, func() { wakes.Add(1) }) }()
		synctest.Wait()
		before := wakes.Load()
		must(t, r.AwaitReady(t.Context()))
		if took := time.Since(began); took != f.takes || r.Last() == nil || r.Last().Created != 1 || r.Last().Took != f.takes {
			t.Errorf("ready after %v with %+v", took, r.Last())
		}
		synctest.Wait()
		if wakes.Load() == before {
			t.Error("a reader is not woken")
		}
		stop()
		if err := <-watching; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch: %v", err)
		}
	})
}

func TestAwaitReadyEnds(t *testing.T) {
	f := folder{takes: time.Hour}
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.AwaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Errorf("AwaitReady: %v", err)
		}
	})
}

// TestReadyAtOnce: a set that has been filled before is ready before it is scanned, and what
// has changed since is published.
func TestReadyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{takes: 10 * time.Second}
		f.set(nil, "c", "d")
		r := newRun(t, "a", "b", "c")
		defer r.start(t, &f)()
		if !r.isReady(t) || r.log.String() != "" {
			t.Errorf("ready: %t\n%s", r.isReady(t), &r.log)
		}
		pass(2 * time.Minute)
		if strings.Count(r.log.String(), `"changes found" created=1 updated=0 deleted=2`) != 1 {
			t.Errorf("logged\n%s", &r.log)
		}
	})
}

// TestReadyBeforeRun: what an earlier scan has completed is shown without one.
func TestReadyBeforeRun(t *testing.T) {
	r := newRun(t, "a")
	r.join(t, &folder{})
	if !r.isReady(t) {
		t.Error("not ready")
	}
}

// TestReadyByOthers: the first scan that completes makes the set ready for all who share it.
func TestReadyByOthers(t *testing.T) {
	var f folder
	f.set(errors.New("unreadable"))
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		_, err := r.into.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) { yield(file("a"), nil) })
		must(t, err)
		pass(5 * time.Second)
		if err := r.Health(t.Context()); !r.isReady(t) || err == nil {
			t.Errorf("ready: %t, %v", r.isReady(t), err)
		}
	})
}

// A hiding folder can forbid to show the set.
type hiding struct {
	*folder
	hidden atomic.Pointer[error]
}

func (h *hiding) Hidden() error {
	if err := h.hidden.Load(); err != nil {
		return *err
	}
	return nil
}

// TestHider: what the origin hides is as not ready, though the set is scanned.
func TestHider(t *testing.T) {
	var f folder
	f.set(nil, "a")
	h := &hiding{folder: &f}
	refused := errors.New("visitors are refused")
	h.hidden.Store(&refused)
	inBubble(t, &f, h, func(t *testing.T, r *run) {
		a, err := url.Parse("http://example.org/a")
		must(t, err)
		check := func(ready bool) {
			t.Helper()
			_, err := r.Since(t.Context())
			if (err == nil) != ready || !ready && err != resourcesync.ErrNotReady || r.isReady(t) != ready || r.Covers(a) != ready {
				t.Errorf("ready: %t, covered: %t, Since: %v", r.isReady(t), r.Covers(a), err)
			}
		}
		check(false)
		must(t, r.AwaitReady(t.Context()))
		if err := r.Health(t.Context()); !errors.Is(err, scan.ErrHidden) || !errors.Is(err, refused) {
			t.Errorf("Health: %v", err)
		}
		h.hidden.Store(nil)
		check(true)
		must(t, r.Health(t.Context()))
		h.hidden.Store(&refused)
		check(false)
	})
}
