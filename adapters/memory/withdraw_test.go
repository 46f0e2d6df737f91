package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// numbered returns n resources, "00" and so on, of which the first are skipped.
func numbered(skip, n int) (resources []resourcesync.Resource) {
	for i := skip; i < n; i++ {
		resources = append(resources, resource(fmt.Sprintf("%02d/", i), "1"))
	}
	return resources
}

// later returns the journal after the creations of numbered(0, 40).
func later(t *testing.T, s *Set) string {
	t.Helper()
	return strings.TrimPrefix(strings.TrimPrefix(journal(t, s), creations), " ")
}

var creations = func() string {
	var words []string
	for _, r := range numbered(0, 40) {
		words = append(words, "c:"+r.Key+"1")
	}
	return strings.Join(words, " ")
}()

// TestWithdraw: withdrawn resources leave the set at once. A few deletions are published at
// once; if there are many, none is published before the guard allows all of them. Resources
// that come back are not published as deleted.
func TestWithdraw(t *testing.T) {
	now := noon
	s := New(&Options{Now: func() time.Time { return now }})
	withdraw := func(keys ...string) {
		t.Helper()
		before, _ := s.Stat(t.Context(), resourcesync.Range{})
		if err := s.Withdraw(t.Context(), keys...); err != nil {
			t.Fatal(err)
		}
		after, err := s.Stat(t.Context(), resourcesync.Range{})
		if err != nil || after.Version == before.Version || after.Count >= before.Count || int(after.Count) != s.Len() {
			t.Errorf("%+v, then %+v, %v", before, after, err)
		}
	}
	scans := func(want resourcesync.ScanResult, resources ...resourcesync.Resource) {
		t.Helper()
		now = now.Add(time.Minute)
		if got, err := s.Scan(t.Context(), listing(resources...)); err != nil || got != want {
			t.Fatalf("%+v, %v, expected %+v", got, err, want)
		}
	}
	check := func(count int, journal string) {
		t.Helper()
		if n := len(strings.Fields(contents(t, s))); n != count || s.Len() != count {
			t.Errorf("%d resources, %d counted, expected %d", n, s.Len(), count)
		}
		if got := later(t, s); got != journal {
			t.Errorf("journal %q, expected %q", got, journal)
		}
	}
	scans(resourcesync.ScanResult{Created: 40}, numbered(0, 40)...)
	withdraw("00/")
	withdraw("01/")
	check(38, "d:00/ d:01/")
	for _, r := range numbered(2, 20) {
		withdraw(r.Key)
	}
	check(20, "d:00/ d:01/")
	held := now.Add(time.Minute)
	scans(resourcesync.ScanResult{Held: 18, HeldSince: held, Unchanged: 20}, numbered(20, 40)...)
	check(20, "d:00/ d:01/")
	if kept, err := s.Kept(t.Context()); err != nil || kept != (scan.Kept{Held: 18, Since: held, Until: held.Add(time.Hour)}) {
		t.Errorf("%+v, %v", kept, err)
	}

	// One comes back unchanged, one has changed, one has moved, and one is deleted.
	moved := resource("04/", "1")
	moved.URI += "moved"
	put(t, s, resource("02/", "1"), resource("03/", "2"), moved)
	if err := s.Delete(t.Context(), "05/"); err != nil {
		t.Fatal(err)
	}
	back := append(numbered(20, 40), resource("02/", "1"), resource("03/", "2"), moved)
	changes := "d:00/ d:01/ u:03/2 d:04/ c:04/1 d:05/"
	check(23, changes)
	if n, err := s.ConfirmDeletions(t.Context()); n != 18 || err != nil {
		t.Errorf("confirmed %d, %v", n, err)
	}
	if kept, err := s.Kept(t.Context()); err != nil || !kept.Confirmed {
		t.Errorf("%+v, %v", kept, err)
	}
	scans(resourcesync.ScanResult{Deleted: 14, Unchanged: 23}, back...)
	for _, r := range numbered(6, 20) {
		changes += " d:" + r.Key
	}
	check(23, changes)
	scans(resourcesync.ScanResult{Unchanged: 23}, back...)
}

// TestWithdrawDuringScan: a scan judges resources that are withdrawn while it runs
// together with those missing from its listing.
func TestWithdrawDuringScan(t *testing.T) {
	s := New(nil)
	put(t, s, numbered(0, 40)...)
	result, err := s.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
		for i, r := range numbered(0, 40) {
			switch {
			case i == 0:
				if err := s.Withdraw(t.Context(), r.Key); err != nil {
					t.Error(err)
				}
				yield(r, nil) // was listed before
			case i > 10:
				yield(r, nil)
			}
		}
	})
	if err != nil || result.Held != 11 || s.Len() != 39 || later(t, s) != "" {
		t.Errorf("%+v, %v, %d resources, journal %q", result, err, s.Len(), later(t, s))
	}
}

// TestApproveWithdrawn has a scanner approve the deletions of withdrawn resources before a
// scan publishes them. Without approval, they wait. Resources that are withdrawn meanwhile
// wait for the next scan.
func TestApproveWithdrawn(t *testing.T) {
	s := New(nil)
	put(t, s, numbered(0, 40)...)
	withdraw := func(i int) {
		t.Helper()
		if err := s.WithdrawForScan(t.Context(), numbered(i, 40)[0].Key); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	refused := errors.New("not yet")
	answer := refused
	s.ApproveWithdrawn(func(context.Context) error {
		asked++
		withdraw(asked)
		return answer
	})
	scans := func(want error, deletions string) {
		t.Helper()
		if _, err := s.Scan(t.Context(), listing(numbered(3, 40)...)); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
		if got := later(t, s); got != deletions {
			t.Errorf("after %d questions, journal %q, want %q", asked, got, deletions)
		}
	}
	withdraw(0)
	if _, err := s.ScanRanges(t.Context(), []resourcesync.Range{{To: "03"}}, listing()); err != nil || asked != 0 || later(t, s) != "d:01/ d:02/" {
		t.Fatalf("a part: %v, asked %d times, journal %q", err, asked, later(t, s))
	}
	put(t, s, numbered(1, 3)...)
	scans(refused, "d:01/ d:02/ c:01/1 c:02/1")
	answer = nil
	scans(nil, "d:01/ d:02/ c:01/1 c:02/1 d:00/ d:01/")
	s.ApproveWithdrawn(func(context.Context) error { asked++; return nil })
	scans(nil, "d:01/ d:02/ c:01/1 c:02/1 d:00/ d:01/ d:02/")
	scans(nil, "d:01/ d:02/ c:01/1 c:02/1 d:00/ d:01/ d:02/")
	if asked != 3 {
		t.Errorf("asked %d times, want 3", asked)
	}
}

// TestWithdrawUnguarded publishes deletions at once if no scan holds any.
func TestWithdrawUnguarded(t *testing.T) {
	for name, s := range map[string]*Set{
		"before the first scan": New(&Options{SetOptions: scan.SetOptions{AwaitScan: true}}),
		"without a limit":       New(&Options{SetOptions: scan.SetOptions{MaxDelete: 1}}),
	} {
		put(t, s, numbered(0, 40)...)
		if err := s.WithdrawForScan(t.Context(), "00/", "01/", "02/", "03/"); err != nil {
			t.Fatal(err)
		}
		if s.Len() != 36 || len(s.withdrawn) != 0 {
			t.Errorf("%s: %d are left, %d wait", name, s.Len(), len(s.withdrawn))
		}
	}
}

// TestStore: a name stands for one set. The last call that opened it sets its limit of
// deletions.
func TestStore(t *testing.T) {
	store := Store{Options: Options{Window: time.Hour, SetOptions: scan.SetOptions{AwaitScan: true}}}
	open := func(name string, o *scan.SetOptions) *Set {
		t.Helper()
		s, err := store.Set(t.Context(), name, o)
		if err != nil || s.Window() != time.Hour {
			t.Fatalf("%v, a window of %v", err, s.Window())
		}
		return s
	}
	a, b := open("a", nil), open("b", &scan.SetOptions{AwaitScan: true})
	if _, err := a.Stat(t.Context(), resourcesync.Range{}); err != nil {
		t.Error(err)
	}
	if _, err := b.Stat(t.Context(), resourcesync.Range{}); err != resourcesync.ErrNotReady {
		t.Error(err)
	}
	put(t, a, numbered(0, 40)...)
	if got, err := a.Scan(t.Context(), listing()); err != nil || got.Held != 40 {
		t.Errorf("%+v, %v", got, err)
	}
	if open("a", &scan.SetOptions{AwaitScan: true, MaxDelete: 1}) != a || open("b", nil) == a {
		t.Error("names do not tell sets apart")
	}
	if got, err := a.Scan(t.Context(), listing()); err != nil || got.Deleted != 40 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := a.SetOrigin(t.Context(), "here"); err != nil {
		t.Error(err)
	}
	for s, want := range map[*Set]string{a: "here", b: ""} {
		if got, err := s.Origin(t.Context()); got != want || err != nil {
			t.Errorf("origin %q, %v, want %q", got, err, want)
		}
	}
}

// TestDoneContext: nothing is written after the context is done.
func TestDoneContext(t *testing.T) {
	s := New(nil)
	put(t, s, numbered(0, 2)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, known := s.Known(ctx, nil)
	for _, err := range []error{known, s.Put(ctx, resource("new", "1")), s.Delete(ctx, "00/"), s.Withdraw(ctx, "00/"), s.WithdrawForScan(ctx, "00/")} {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if s.Len() != 2 {
		t.Errorf("%d resources", s.Len())
	}
}

// TestWithdrawWaits: a withdrawn resource is published as deleted at once, or waits for the
// next complete scan.
func TestWithdrawWaits(t *testing.T) {
	complete := func(t *testing.T, s *Set, skip int) resourcesync.ScanResult {
		t.Helper()
		result, err := s.Scan(t.Context(), listing(numbered(skip, 40)...))
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	withdraw := func(t *testing.T, s *Set, from, to int) {
		t.Helper()
		for _, r := range numbered(from, to) {
			if err := s.Withdraw(t.Context(), r.Key); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, s *Set)
		waits  bool
	}{
		{"the first", func(*testing.T, *Set) {}, false},
		{"the third", func(t *testing.T, s *Set) { withdraw(t, s, 0, 2) }, true},
		{"the third, after a scan", func(t *testing.T, s *Set) { withdraw(t, s, 0, 2); complete(t, s, 2) }, false},
		{"while deletions are held", func(t *testing.T, s *Set) { complete(t, s, 20) }, true},
		{"while another waits", func(t *testing.T, s *Set) {
			if err := s.WithdrawForScan(t.Context(), "00/"); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"too many in steps", func(t *testing.T, s *Set) {
			for i := 0; i < 10; i += 2 {
				withdraw(t, s, i, i+2)
				complete(t, s, i+2)
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(nil)
			put(t, s, numbered(0, 40)...)
			tt.before(t, s)
			if err := s.Withdraw(t.Context(), "39/"); err != nil {
				t.Fatal(err)
			}
			if published := strings.HasSuffix(journal(t, s), "d:39/"); published == tt.waits {
				t.Errorf("published: %t, journal %q", published, later(t, s))
			}
		})
	}

	// Waiting deletions belong to the set by whose size a scan judges: 9 of 40 may be
	// deleted.
	s := New(nil)
	put(t, s, numbered(0, 40)...)
	if err := s.WithdrawForScan(t.Context(), strings.Fields("00/ 01/ 02/ 03/ 04/ 05/ 06/ 07/ 08/")...); err != nil {
		t.Fatal(err)
	}
	if result := complete(t, s, 9); result.Deleted != 9 {
		t.Errorf("%+v", result)
	}
}
