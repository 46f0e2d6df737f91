package packages

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/admission"
)

// keep reserves n bytes for a plan that is kept for key and has one user.
func keep(t *testing.T, st *store[int], key string, n int64) *Plan[int] {
	t.Helper()
	r, err := st.reserve(t.Context(), false, n, 0)
	if err != nil {
		t.Fatal(key, err)
	}
	p := &Plan[int]{key: key, room: r, users: 1}
	st.keep(p)
	return p
}

// TestD16_Budget: a budget counts memory in use, evicts the longest idle, and makes
// others wait for a bounded time.
func TestD16_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStore[int](100, 10)
		a, b := keep(t, st, "a", 40), keep(t, st, "b", 40)
		st.release(a)
		st.release(b)
		st.release(st.get("a"))
		keep(t, st, "c", 50) // in the place of b
		if a := st.get("a"); a == nil || st.get("b") != nil || st.size() != 90 {
			t.Fatalf("kept: a %v, %d bytes", a != nil, st.size())
		}
		if _, err := st.reserve(t.Context(), false, 20, 0); !errors.Is(err, admission.ErrBusy) {
			t.Errorf("what is used is given away: %v", err)
		}
		started := time.Now()
		if _, err := st.reserve(t.Context(), false, 20, 5*time.Second); !errors.Is(err, admission.ErrBusy) || time.Since(started) != 5*time.Second {
			t.Errorf("%v after %v", err, time.Since(started))
		}
		if _, err := st.reserve(t.Context(), true, 10, 0); err != nil {
			t.Errorf("unlisted packages have a share of their own: %v", err)
		}
		time.AfterFunc(time.Second, func() { st.release(a) })
		r, err := st.reserve(t.Context(), false, 20, 5*time.Second)
		if err != nil || time.Since(started) != 6*time.Second || st.get("a") != nil {
			t.Fatalf("room that another has left: %v after %v", err, time.Since(started))
		}
		if err := r.resize(t.Context(), 5, 0); err != nil || st.size() != 10+50+5 {
			t.Errorf("%d bytes, %v", st.size(), err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.resize(gone, 90, time.Second); !errors.Is(err, context.Canceled) || r.bytes != 5 {
			t.Errorf("for a client that has disconnected: %v, %d bytes", err, r.bytes)
		}
		r.free()
		if st.size() != 10+50 {
			t.Errorf("%d bytes at the end", st.size())
		}
	})
}
