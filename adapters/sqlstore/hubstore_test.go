package sqlstore

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/hub/hubtest"
)

func (s *Store) mustHubStore(t testing.TB, name string) hub.Store {
	t.Helper()
	h, err := s.HubStore(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHubStore(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		first, second := db.open(t, nil), db.open(t, nil)
		run(t, first)
		run(t, second)
		hubtest.Test(t, func(t *testing.T) hubtest.Subject {
			// Stores of other names know nothing of each other.
			one := first.mustHubStore(t, t.Name())
			return hubtest.Subject{
				One:    one,
				Other:  second.mustHubStore(t, t.Name()),
				Elapse: func(d time.Duration) { elapse(t, one.(*hubStore), d) },
			}
		})
	})
}

// elapse makes everything that a hub waits for come earlier.
func elapse(t *testing.T, h *hubStore, d time.Duration) {
	err := h.store.db.Write(t.Context(), func(c rowdb.Conn) error {
		for _, table := range []string{"rs_progress", "rs_request"} {
			_, err := c.Exec(t.Context(), "UPDATE "+table+" SET due = due - $1 WHERE hub_id = $2", d.Microseconds(), h.id)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// More subscriptions than are read at once: each is there, once.
func TestHubStoreManySubscriptions(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		h := db.open(t, nil).mustHubStore(t, "hub").(*hubStore)
		const n = 2 * subscriptionPage
		subscribeAll(t, h, benchTopic, n)
		seen := map[int64]bool{}
		for s, err := range h.Subscriptions(t.Context()) {
			if err != nil || seen[s.ID] {
				t.Fatalf("%d again, or %v", s.ID, err)
			}
			seen[s.ID] = true
		}
		if len(seen) != n {
			t.Errorf("there are %d of %d", len(seen), n)
		}
	})
}
