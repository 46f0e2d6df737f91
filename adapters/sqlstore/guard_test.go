package sqlstore

import (
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// files returns resources in two folders.
func files(a, b int) []resourcesync.Resource {
	var all []resourcesync.Resource
	for i := range a {
		all = append(all, small(fmt.Sprintf("a/%03d", i), 1))
	}
	for i := range b {
		all = append(all, small(fmt.Sprintf("b/%03d", i), 1))
	}
	return all
}

// unreadable is a listing with some unreadable parts.
func unreadable(all []resourcesync.Resource, parts ...resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, keys := range parts {
			if !yield(resourcesync.Resource{}, fmt.Errorf("folder: %w", &resourcesync.UnreadableError{Keys: keys, Err: errors.New("no")})) {
				return
			}
		}
		listing(all...)(yield)
	}
}

// TestD10_UnreadableIsKept keeps resources that the scanner could not read, and deletes
// those that are missing in readable parts.
func TestD10_UnreadableIsKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", nil)
		if _, err := set.Scan(t.Context(), listing(files(10, 10)...)); err != nil {
			t.Fatal(err)
		}
		changed := append(files(0, 4)[1:], small("a/003", 2)) // of what follows, the part that was read
		got, err := set.Scan(t.Context(), unreadable(changed,
			resourcesync.Range{From: "a/", To: "a0"}, resourcesync.Range{From: "a/x/", To: "a/x0"}, resourcesync.Range{From: "b/009", To: "b/009\x00"}, resourcesync.Range{From: "c/"}))
		want := resourcesync.ScanResult{Updated: 1, Unchanged: 3, Deleted: 6, Unreadable: 10}
		if err != nil || got != want {
			t.Errorf("%+v, %v, expected %+v", got, err, want)
		}
		if found := articlesOf(t, set); len(found) != 14 || found["a/003"] != "version/2" || found["a/009"] == "" || found["b/009"] == "" {
			t.Errorf("the set has %v", found)
		}
		if kept, err := set.Kept(t.Context()); err != nil || kept != (scan.Kept{Unreadable: 10}) {
			t.Errorf("%+v, %v", kept, err)
		}
		if _, err := set.Scan(t.Context(), unreadable(nil, resourcesync.Range{})); err != nil || len(articlesOf(t, set)) != 14 {
			t.Errorf("%v, the set has %v", err, articlesOf(t, set))
		}
		if got, err := set.Scan(t.Context(), listing()); err != nil || got.Deleted != 14 {
			t.Errorf("%+v, %v", got, err)
		}
		if kept, err := set.Kept(t.Context()); err != nil || kept != (scan.Kept{}) {
			t.Errorf("%+v, %v", kept, err)
		}
	})
}

// TestD10_UnreadableAtFirst records the unreadable parts of a first scan that an earlier process
// has begun.
func TestD10_UnreadableAtFirst(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set := db.open(t, nil).mustSet(t, "", &scan.SetOptions{AwaitScan: true})
		if err := set.Put(t.Context(), files(10, 0)...); err != nil {
			t.Fatal(err)
		}
		got, err := set.Scan(t.Context(), unreadable(files(0, 2), resourcesync.Range{From: "a/", To: "a0"}))
		if err != nil || got.Unreadable != 10 {
			t.Errorf("%+v, %v", got, err)
		}
		if kept, err := set.Kept(t.Context()); err != nil || kept != (scan.Kept{Unreadable: 10}) {
			t.Errorf("%+v, %v", kept, err)
		}
	})
}

// TestD10_ChangedMeanwhile holds the deletions of an empty listing, although most resources
// of the set change during the scan and so do not count as missing.
func TestD10_ChangedMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set, err := db.open(t, nil).Set(t.Context(), "set", nil)
		if err != nil {
			t.Fatal(err)
		}
		all := []resourcesync.Resource{small("a", 1), small("b", 1), small("c", 1), small("d", 1)}
		if _, err := set.Scan(t.Context(), listing(all...)); err != nil {
			t.Fatal(err)
		}
		got, err := set.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) {
			if err := set.Put(t.Context(), small("a", 2), small("b", 2), small("c", 2)); err != nil {
				t.Error(err)
			}
		})
		if found := articlesOf(t, set); err != nil || got.Held != 1 || got.Deleted != 0 || len(found) != 4 {
			t.Errorf("%+v, %v; the set has %v", got, err, found)
		}
	})
}

// TestD10_Guard holds too many deletions over a restart, continues with creations and
// updates, and publishes the deletions when they are confirmed or their time is over.
func TestD10_Guard(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
		open := func(o *scan.SetOptions) *Set {
			t.Helper()
			set, err := db.open(t, &Options{Now: func() time.Time { return now }}).Set(t.Context(), "", o)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		set := open(nil)
		scans := func(want resourcesync.ScanResult, resources ...resourcesync.Resource) {
			t.Helper()
			now = now.Add(time.Minute)
			if got, err := set.Scan(t.Context(), listing(resources...)); err != nil || got != want {
				t.Errorf("%+v, %v, expected %+v", got, err, want)
			}
		}
		scans(resourcesync.ScanResult{Created: 100}, files(50, 50)...)
		scans(resourcesync.ScanResult{Unchanged: 80, Deleted: 20}, files(30, 50)...)
		held := now.Add(time.Minute)
		scans(resourcesync.ScanResult{Unchanged: 69, Updated: 1, Created: 1, Held: 10, HeldSince: held},
			append(append(files(0, 50), small("a/000", 2)), append(files(20, 0)[1:], small("c", 1))...)...)
		if found := articlesOf(t, set); len(found) != 81 || found["a/029"] == "" || found["a/000"] != "version/2" {
			t.Errorf("the set has %d: %v", len(found), found)
		}
		set = open(nil) // as another process, or after a restart
		kept, err := set.Kept(t.Context())
		if want := (scan.Kept{Held: 10, Since: held, Until: held.Add(time.Hour)}); err != nil || kept != want {
			t.Errorf("%+v, %v, expected %+v", kept, err, want)
		}

		// Resources that a host deletes are gone, and do not count.
		if err := set.Delete(t.Context(), "a/029", "c"); err != nil {
			t.Fatal(err)
		}
		now = held.Add(30 * time.Minute)
		scans(resourcesync.ScanResult{Unchanged: 50, Held: 29, HeldSince: held}, files(0, 50)...)
		again := now // 19 more are missing, so the hour begins again
		now = held.Add(59 * time.Minute)
		scans(resourcesync.ScanResult{Unchanged: 50, Held: 29, HeldSince: held}, files(0, 50)...)
		now = again.Add(59 * time.Minute)
		scans(resourcesync.ScanResult{Unchanged: 50, Deleted: 29}, files(0, 50)...)

		scans(resourcesync.ScanResult{HeldSince: now.Add(time.Minute), Held: 50})
		if n, err := set.ConfirmDeletions(t.Context()); n != 50 || err != nil {
			t.Errorf("confirmed %d, %v", n, err)
		}
		if kept, err := set.Kept(t.Context()); err != nil || !kept.Confirmed {
			t.Errorf("%+v, %v", kept, err)
		}
		scans(resourcesync.ScanResult{Deleted: 50})
		if n, err := set.ConfirmDeletions(t.Context()); n != 0 || err != nil {
			t.Errorf("confirmed %d, %v", n, err)
		}

		set = open(&scan.SetOptions{MaxDelete: 1})
		scans(resourcesync.ScanResult{Created: 50}, files(50, 0)...)
		scans(resourcesync.ScanResult{Deleted: 50})
	})
}

// TestD10_CreatedAndGone holds deletions of resources that were created shortly before,
// and publishes a rename that two scans see.
func TestD10_CreatedAndGone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set, err := db.open(t, nil).Set(t.Context(), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			a, b int
			want resourcesync.ScanResult
		}{
			{40, 0, resourcesync.ScanResult{Created: 40}},
			{40, 40, resourcesync.ScanResult{Created: 40, Unchanged: 40}},
			{40, 0, resourcesync.ScanResult{Held: 40, Unchanged: 40}},
			{40, 40, resourcesync.ScanResult{Unchanged: 80}},
			{0, 40, resourcesync.ScanResult{Deleted: 40, Unchanged: 40}},
		} {
			got, err := set.Scan(t.Context(), listing(files(step.a, step.b)...))
			got.HeldSince = time.Time{}
			if err != nil || got != step.want {
				t.Errorf("%+v, %v, expected %+v", got, err, step.want)
			}
		}
	})
}

// TestD10_FirstScanIsNotHeld: after its first scan, a set equals the listing, even if
// an earlier process has not finished a scan.
func TestD10_FirstScanIsNotHeld(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set, err := db.open(t, nil).Set(t.Context(), "", &scan.SetOptions{AwaitScan: true})
		if err != nil {
			t.Fatal(err)
		}
		failed := errors.New("failed")
		if _, err := set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) {
			for _, r := range files(9, 0) {
				yield(r, nil)
			}
			yield(resourcesync.Resource{}, failed)
		}); !errors.Is(err, failed) {
			t.Fatal(err)
		}
		if got, err := set.Scan(t.Context(), listing(files(0, 1)...)); err != nil || got.Deleted != 9 || got.Held != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
