package memory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestD10_Guard keeps resources that a scanner cannot read, and holds too many
// deletions.
func TestD10_Guard(t *testing.T) {
	var all []resourcesync.Resource
	for i := range 10 {
		all = append(all, resource(fmt.Sprintf("a/%d", i), "1"), resource(fmt.Sprintf("b/%d", i), "1"))
	}
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s := New(&Options{Now: func() time.Time { return now }})
	scan := func(want resourcesync.ScanResult, keys []resourcesync.Range, resources ...resourcesync.Resource) {
		t.Helper()
		now = now.Add(time.Minute)
		got, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			for _, k := range keys {
				yield(resourcesync.Resource{}, &resourcesync.UnreadableError{Keys: k, Err: errors.New("no")})
			}
			listing(resources...)(yield)
		})
		if err != nil || got != want {
			t.Errorf("%+v, %v, expected %+v", got, err, want)
		}
	}
	scan(resourcesync.ScanResult{Created: 20}, nil, all...)
	scan(resourcesync.ScanResult{Unreadable: 16, Deleted: 3, Unchanged: 1},
		[]resourcesync.Range{{From: "b/", To: "b0"}, {From: "a/4"}}, all[0])
	if kept, err := s.Kept(t.Context()); err != nil || kept.Unreadable != 16 {
		t.Errorf("%+v, %v", kept, err)
	}
	held := now.Add(time.Minute)
	scan(resourcesync.ScanResult{Held: 16, HeldSince: held, Unchanged: 1, Created: 1}, nil, all[0], resource("c", "1"))
	scan(resourcesync.ScanResult{Held: 6, HeldSince: held, Unchanged: 12}, nil, append(all[8:], resource("c", "1"))[1:]...)
	if n, err := s.ConfirmDeletions(t.Context()); n != 6 || err != nil || s.Len() != 18 {
		t.Errorf("confirmed %d, %v, the set has %d", n, err, s.Len())
	}
	scan(resourcesync.ScanResult{Deleted: 6, Unchanged: 12}, nil, append(all[8:], resource("c", "1"))[1:]...)
	scan(resourcesync.ScanResult{Held: 12, HeldSince: now.Add(time.Minute)}, nil)
	now = now.Add(time.Hour)
	scan(resourcesync.ScanResult{Deleted: 12}, nil)
}

// TestD10_ChangedMeanwhile holds the deletions of an empty listing, although most resources
// of the set change during the scan and so do not count as missing.
func TestD10_ChangedMeanwhile(t *testing.T) {
	s := New(nil)
	if _, err := s.Scan(t.Context(), listing(resource("a", "1"), resource("b", "1"), resource("c", "1"), resource("d", "1"))); err != nil {
		t.Fatal(err)
	}
	got, err := s.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) {
		if err := s.Put(t.Context(), resource("a", "2"), resource("b", "2"), resource("c", "2")); err != nil {
			t.Error(err)
		}
	})
	if err != nil || got.Held != 1 || got.Deleted != 0 || s.Len() != 4 {
		t.Errorf("%+v, %v; the set has %d", got, err, s.Len())
	}
}

// TestD10_CreatedAndGone holds deletions of resources that were created shortly before,
// and publishes a rename that two scans see.
func TestD10_CreatedAndGone(t *testing.T) {
	var a, b []resourcesync.Resource
	for i := range 40 {
		a, b = append(a, resource(fmt.Sprintf("a/%d", i), "1")), append(b, resource(fmt.Sprintf("b/%d", i), "1"))
	}
	both := append(a[:40:40], b...)
	s := New(nil)
	for _, step := range []struct {
		resources []resourcesync.Resource
		want      resourcesync.ScanResult
	}{
		{a, resourcesync.ScanResult{Created: 40}},
		{both, resourcesync.ScanResult{Created: 40, Unchanged: 40}},
		{a, resourcesync.ScanResult{Held: 40, Unchanged: 40}},
		{both, resourcesync.ScanResult{Unchanged: 80}},
		{b, resourcesync.ScanResult{Deleted: 40, Unchanged: 40}},
	} {
		got, err := s.Scan(t.Context(), listing(step.resources...))
		got.HeldSince = time.Time{}
		if err != nil || got != step.want {
			t.Errorf("%+v, %v, expected %+v", got, err, step.want)
		}
	}
}
