package sqlstore

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestSurviveWithdrawal: a withdrawal moves the time of a set without a change. Later, nothing shows
// that the database has had that time, but it has lost nothing.
func TestSurviveWithdrawal(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		set := guarded(t, store)
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		_, err := set.Scan(t.Context(), listing(files(60, 40)...))
		check(err)
		if got := journalOf(t, set, 0); len(got) != 100 {
			t.Fatalf("%d changes", len(got))
		}
		check(store.checkHistory(t.Context()))
		from, err := set.Since(t.Context())
		check(err)
		for _, key := range keysOf(files(60, 0)) {
			check(set.Withdraw(t.Context(), key))
		}
		if got := len(journalOf(t, set, 100)); got > 10 {
			t.Fatalf("%d deletions: they had to be held", got)
		}
		withdrawn, err := set.Stat(t.Context(), resourcesync.Range{})
		check(err)
		other := guarded(t, db.open(t, nil)) // another process
		check(other.Put(t.Context(), small("b/new", 1)))
		if after, err := other.Stat(t.Context(), resourcesync.Range{}); err != nil || !after.LastModified.After(withdrawn.LastModified) || !withdrawn.LastModified.After(from) {
			t.Fatalf("%+v, then %+v, %v", withdrawn, after, err)
		}
		store.survival.checked = time.Time{}
		check(store.checkHistory(t.Context()))
		if got, err := set.Since(t.Context()); err != nil || !got.Equal(from) {
			t.Errorf("the journal began at %v, and begins at %v, %v", from, got, err)
		}
	})
}
