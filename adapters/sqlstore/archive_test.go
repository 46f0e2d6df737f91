package sqlstore

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// TestD9_Archive lets journals grow for months whose old changes are archived. An
// archive keeps the changes that retention has dropped, in the windows of the journal and for
// its own retention time, whether windows have been read before or not.
func TestD9_Archive(t *testing.T) {
	const max = 10
	const day = 24 * time.Hour
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: 10 * day, Archive: 20 * day})
		read, quiet := store.mustSet(t, "read", nil), store.mustSet(t, "quiet", nil)
		all := map[*Set][]resourcesync.Change{}
		closed := map[resourcesync.Interval]bool{}
		rnd := rand.New(rand.NewPCG(9, 9))
		for n := range 45 {
			clock.now = clock.now.Add(day)
			if n < 20 || n%4 == 0 {
				for set, changes := range map[*Set]int{read: 25, quiet: 3} {
					scatter(t, set, rnd, changes, 20)
					all[set] = append(all[set], since(t, set, all[set])...)
				}
			}
			windows, err := read.Windows(t.Context(), max)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range windows[:len(windows)-1] {
				closed[w] = true
			}
			if err := store.clearAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n%7 == 0 { // what is archived does not depend on one process
				store = db.open(t, &Options{Now: clock.tell, Retain: 10 * day, Archive: 20 * day})
			}
			checkArchive(t, read, store.mustSet(t, "read", nil), max, all[read], closed)
			if n%5 == 4 {
				checkArchive(t, quiet, store.mustSet(t, "quiet", nil), max, all[quiet], nil)
			}
			forgotten := count(t, store, "SELECT count(*) FROM rs_resource r JOIN rs_set s ON s.id = r.set_id WHERE r.body IS NULL AND r.newest <= s.since")
			if forgotten != 0 {
				t.Fatalf("day %d: %d deletions are remembered for the archive", n, forgotten)
			}
		}
		opts := &providertest.Options{ChangeArchiver: read.Archive()}
		if err := providertest.Test(t.Context(), read, opts); err != nil {
			t.Error(err)
		}
		st, err := read.Archive().StatArchive(t.Context())
		if err != nil || !st.Since.After(all[read][0].Datetime) {
			t.Errorf("the archive still begins at %v, %v", st.Since, err)
		}
	})
}

// TestArchiveWaits lists an archive for the first time while another process is writing.
func TestArchiveWaits(t *testing.T) {
	const day = 24 * time.Hour
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: day, Archive: 20 * day})
		set := store.mustSet(t, "set", nil)
		for range 3 {
			clock.now = clock.now.Add(day)
			scatter(t, set, rand.New(rand.NewPCG(1, 1)), 25, 20)
		}
		clock.now = clock.now.Add(2 * day)
		if err := store.clearAll(t.Context()); err != nil {
			t.Fatal(err)
		}

		other := newWriter(t, db)
		var windows []resourcesync.Interval
		var listing sync.WaitGroup
		var err error
		if writing := other.transaction(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO article (key, version) VALUES ('a', 1)"); err != nil {
				return err
			}
			listing.Go(func() { windows, err = set.Archive().ArchivedWindows(t.Context(), 10) })
			time.Sleep(100 * time.Millisecond) // a transaction of another process
			return nil
		}); writing != nil {
			t.Error(writing)
		}
		if listing.Wait(); err != nil || len(windows) == 0 {
			t.Errorf("%d windows, %v", len(windows), err)
		}
	})
}

// since returns the changes of a set after the known ones.
func since(t *testing.T, set *Set, known []resourcesync.Change) []resourcesync.Change {
	t.Helper()
	iv := resourcesync.Interval{}
	if len(known) > 0 {
		iv.From = known[len(known)-1].Datetime
	}
	return changesOf(t, set, iv)
}

func changesOf(t *testing.T, set *Set, iv resourcesync.Interval) (all []resourcesync.Change) {
	t.Helper()
	for c, err := range set.Changes(t.Context(), iv) {
		if err != nil {
			t.Fatal(err)
		}
		c.Resource = c.Resource.Clone()
		all = append(all, c)
	}
	return all
}

// checkArchive compares the archive of a set with all changes that it ever had, and
// with windows that were closed before. again is the same set.
func checkArchive(t *testing.T, set, again *Set, max int, all []resourcesync.Change, closed map[resourcesync.Interval]bool) {
	t.Helper()
	ctx := t.Context()
	begin, err := set.Archive().StatArchive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	end, err := set.Since(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []resourcesync.Change
	var next time.Time
	for _, set := range []*Set{set, again} {
		got, next = nil, begin.Since
		windows, err := set.Archive().ArchivedWindows(ctx, max)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range windows {
			if !w.From.Equal(next) || w.Open() || closed != nil && !closed[w] {
				t.Fatalf("archived window %v after %v: was it closed? %v", w, next, closed[w])
			}
			next = w.Until
			n := len(got)
			for c, err := range set.Archive().ArchivedChanges(ctx, w) {
				if err != nil {
					t.Fatal(err)
				}
				c.Resource = c.Resource.Clone()
				got = append(got, c)
			}
			if n = len(got) - n; n == 0 || n > max {
				t.Fatalf("archived window %v has %d changes", w, n)
			}
		}
		if !next.Equal(end) {
			t.Fatalf("the archive ends at %v, the journal begins at %v", next, end)
		}
	}
	var want []resourcesync.Change
	for _, c := range all {
		if (resourcesync.Interval{From: begin.Since, Until: end}).Contains(c.Datetime) {
			want = append(want, c)
		}
	}
	if !slices.EqualFunc(got, want, func(a, b resourcesync.Change) bool {
		return a.Type == b.Type && a.Datetime.Equal(b.Datetime) && a.Resource.EqualEntry(b.Resource)
	}) {
		t.Fatalf("archived are %d changes, want %d", len(got), len(want))
	}
}

// TestD9_Erase: erased resources are removed from the archive, do not get into it
// later, and stay in the journal.
func TestD9_Erase(t *testing.T) {
	const day = 24 * time.Hour
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: 2 * day, Archive: -1})
		set := store.mustSet(t, "set", nil)
		for n := range 6 {
			for _, key := range []string{"a", "b"} {
				if err := set.Put(t.Context(), small(key, n)); err != nil {
					t.Fatal(err)
				}
			}
			clock.now = clock.now.Add(day)
		}
		archivedURIs := func() (uris string) {
			t.Helper()
			windows, err := set.Archive().ArchivedWindows(t.Context(), 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range windows {
				for c, err := range set.Archive().ArchivedChanges(t.Context(), w) {
					if err != nil {
						t.Fatal(err)
					}
					uris += c.Resource.Key
				}
			}
			return uris
		}
		if got := archivedURIs(); got != "ababab" {
			t.Fatalf("archived are %s", got)
		}
		before, err := set.Archive().StatArchive(t.Context())
		if err != nil || !before.Erased.IsZero() {
			t.Fatalf("%+v, %v", before, err)
		}
		removed, err := set.Erase(t.Context(), small("a", 0).URI)
		if err != nil || removed != 3 {
			t.Fatalf("removed: %d, %v", removed, err)
		}
		after, err := set.Archive().StatArchive(t.Context())
		if err != nil || after.Erased.IsZero() {
			t.Errorf("%+v, %v", after, err)
		}
		if got := archivedURIs(); got != "bbb" {
			t.Errorf("archived are %s", got)
		}
		if got := changesOf(t, set, resourcesync.Interval{}); len(got) != 6 {
			t.Errorf("the journal has %d changes, want 6", len(got))
		}
		clock.now = clock.now.Add(5 * day)
		if err := set.Put(t.Context(), small("c", 0), small("a", 99)); err != nil { // a comes back
			t.Fatal(err)
		}
		if got := archivedURIs(); got != "bbbbbb" {
			t.Errorf("before anything is cleared, archived are %s", got)
		}
		if err := store.clearAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := archivedURIs(); got != "bbbbbb" {
			t.Errorf("archived are %s", got)
		}
		if n := count(t, store, "SELECT count(*) FROM rs_change"); n != 8 {
			t.Errorf("%d changes are stored, want 8", n)
		}
		if n := count(t, store, "SELECT count(*) FROM rs_erased"); n != 0 {
			t.Errorf("%d erasures are kept, though all is done", n)
		}
		clock.now = clock.now.Add(5 * day)
		if err := set.Put(t.Context(), small("c", 1)); err != nil {
			t.Fatal(err)
		}
		if got := archivedURIs(); got != "bbbbbbca" {
			t.Errorf("what came later is archived: %s", got)
		}
		if _, err := set.Erase(t.Context(), "no URI"); err == nil {
			t.Error("an erased entry is not a URI")
		}
	})
}

// TestD9_ArchiveSwitchedOff: a journal that is no longer archived drops its archive.
func TestD9_ArchiveSwitchedOff(t *testing.T) {
	const day = 24 * time.Hour
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		for i, o := range []Options{{Archive: 30 * day}, {}, {Archive: 30 * day}} {
			o.Now, o.Retain = clock.tell, 2*day
			store := db.open(t, &o)
			set := store.mustSet(t, "set", nil)
			for n := range 5 {
				if err := set.Put(t.Context(), small("a", 10*i+n)); err != nil {
					t.Fatal(err)
				}
				clock.now = clock.now.Add(day)
			}
			if err := store.clearAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []int64{5, 3, 8}[i]
			if n := count(t, store, "SELECT count(*) FROM rs_change"); n != want {
				t.Errorf("with Archive %v: %d changes are stored, want %d", o.Archive, n, want)
			}
			if (set.Archive() == nil) != (o.Archive == 0) {
				t.Errorf("with Archive %v: archive is %v", o.Archive, set.Archive())
			}
		}
		for _, o := range []Options{{Retain: 2 * day, Archive: day}, {Retain: -1, Archive: day}, {Archive: day}} {
			if err := new(Store).configure(&o); err == nil {
				t.Errorf("accepted: Retain %v, Archive %v", o.Retain, o.Archive)
			}
		}
	})
}
