package objectstore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestGivenBack checks that a lease is given back although it is just being renewed, or the probe of
// conditions fails.
func TestGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFaulty()
		m.delay = 2 * time.Second
		s, _ := storeIn(t, m)
		must(t, s.Lock(t.Context(), leaseName))
		time.Sleep(leaseTime/3 + time.Second)
		must(t, s.Unlock(t.Context()))
		if is := m.text(leaseName); is != "" {
			t.Errorf("left: %s", is)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // ends in the probe
		defer cancel()
		if err := s.Lock(ctx, leaseName); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if is := m.text(leaseName); is != "" {
			t.Errorf("left after the failure: %s", is)
		}
	})
}

// TestNotGivenBack checks that a writer does not delete the lease of another, also in a store that ignores
// conditions, and that it deletes its own if it does not know the outcome of the last renewal.
func TestNotGivenBack(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(m *faulty)
		stays   bool
	}{
		"taken over": {func(m *faulty) { m.replace(leaseName, "of another") }, true},
		"expired": {func(m *faulty) {
			m.fail(errors.New("connection refused"))
			time.Sleep(leaseTime + time.Second) // past the renewal at its end
			m.fail(nil)
		}, true},
		"unknown renewal": {func(m *faulty) {
			m.isolate(errors.New("connection reset"))
			time.Sleep(leaseTime/3 + time.Second)
			m.isolate(nil)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFaulty()
				m.conditions = "ignored"
				s, _ := storeIn(t, m)
				must(t, s.Lock(t.Context(), leaseName))
				test.happens(m)
				must(t, s.Unlock(t.Context()))
				if stays := m.text(leaseName) != ""; stays != test.stays {
					t.Errorf("the object is %q", m.text(leaseName))
				}
			})
		})
	}
}

// TestUnlockEnds checks that a store that does not answer does not keep a writer for ever.
func TestUnlockEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFaulty()
		s, _ := storeIn(t, m)
		must(t, s.Lock(t.Context(), leaseName))
		m.hung = true
		begun := time.Now()
		if err := s.Unlock(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took > leaseTime {
			t.Errorf("took %v", took)
		}
	})
}
