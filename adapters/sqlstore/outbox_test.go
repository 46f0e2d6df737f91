package sqlstore

import (
	"testing"

	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/topictest"
)

func (s *Store) mustOutbox(t testing.TB, name string) topic.Outbox {
	t.Helper()
	o, err := s.Outbox(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestOutbox(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		first, second := db.open(t, nil), db.open(t, nil)
		run(t, first)
		run(t, second)
		topictest.Test(t, func(t *testing.T) (one, other topic.Outbox) {
			// Outboxes of other names know nothing of each other.
			return first.mustOutbox(t, t.Name()), second.mustOutbox(t, t.Name())
		})
	})
}
