package rshttp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/admission"
)

// keep reserves n bytes for a layout that is kept for path and has one user.
func keep(t *testing.T, ls *layouts, path string, n int64) *layout {
	t.Helper()
	r, err := ls.reserve(t.Context(), false, n, 0)
	if err != nil {
		t.Fatal(path, err)
	}
	l := &layout{document: &document{target: target{path: path}}, room: r, users: 1}
	ls.keep(l)
	return l
}

// TestD16_Budget: a budget holds what is used, forgets what has been idle for longest,
// and makes others wait for a bounded time.
func TestD16_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ls := newLayouts(100, 10)
		a, b := keep(t, ls, "a", 40), keep(t, ls, "b", 40)
		ls.release(a)
		ls.release(b)
		ls.release(ls.get("a"))
		keep(t, ls, "c", 50) // in the place of b
		if a := ls.get("a"); a == nil || ls.get("b") != nil || ls.size() != 90 {
			t.Fatalf("kept: a %v, %d bytes", a != nil, ls.size())
		}
		if _, err := ls.reserve(t.Context(), false, 20, 0); !errors.Is(err, admission.ErrBusy) {
			t.Errorf("what is used is given away: %v", err)
		}
		started := time.Now()
		if _, err := ls.reserve(t.Context(), false, 20, 5*time.Second); !errors.Is(err, admission.ErrBusy) || time.Since(started) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(started))
		}
		if _, err := ls.reserve(t.Context(), true, 10, 0); err != nil {
			t.Errorf("unlisted packages have a share of their own: %v", err)
		}
		time.AfterFunc(time.Second, func() { ls.release(a) })
		r, err := ls.reserve(t.Context(), false, 20, 5*time.Second)
		if err != nil || time.Since(started) != 6*time.Second || ls.get("a") != nil {
			t.Fatalf("room that another has left: %v after %v", err, time.Since(started))
		}
		if err := r.resize(t.Context(), 5, 0); err != nil || ls.size() != 10+50+5 {
			t.Errorf("%d bytes, %v", ls.size(), err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.resize(gone, 90, time.Second); !errors.Is(err, context.Canceled) || r.bytes != 5 {
			t.Errorf("for a client that has gone: %v, %d bytes", err, r.bytes)
		}
		r.free()
		if ls.size() != 10+50 {
			t.Errorf("%d bytes at the end", ls.size())
		}
	})
}
