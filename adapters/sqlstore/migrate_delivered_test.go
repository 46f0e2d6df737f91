package sqlstore

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

// toVersion19 turns a state into one that the version with the migrations 0001 to 0019 has
// written.
func toVersion19(t *testing.T, s *Store) {
	t.Helper()
	err := s.db.Write(t.Context(), func(c rowdb.Conn) error {
		return c.Script(t.Context(), `ALTER TABLE rs_progress DROP COLUMN last_delivered;
			ALTER TABLE rs_request DROP COLUMN newest;
			DROP TABLE rs_note;
			DELETE FROM rs_migration WHERE abs(number) > 19;`)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMigrateLastDelivered: a state without the times of deliveries keeps cursors, leases, secrets
// and claims, and its subscriptions continue.
func TestMigrateLastDelivered(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		before, closeBefore, err := db.connect(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		const name, topic = "https://example.org/", oldChanges
		log := before.mustLog(t, name)
		subscribeAll(t, before, name, topic, 4)
		for range 3 {
			publish(t, log, topic, 1)
		}
		claimed, err := log.Claim(t.Context(), "old", 10)
		if err != nil || len(claimed) != 4 {
			t.Fatalf("%d claims, %v", len(claimed), err)
		}
		now := time.Now().Truncate(time.Microsecond)
		var progress []pushlog.Progress
		for i, s := range claimed[:3] { // the process that has claimed the fourth does not come back
			p := s.Progress
			p.Taken, p.Delivered, p.GivenUp, p.LastGivenUp, p.Release = p.Taken+int64(i), int64(i), 1, 1, true
			p.Failures, p.FailingSince, p.LastError, p.Retry = i, now.Add(-time.Hour), "the callback answered 500", now.Add(time.Duration(i-1)*time.Hour)
			progress = append(progress, p)
		}
		if lost, err := log.Save(t.Context(), "old", progress); err != nil || len(lost) > 0 {
			t.Fatalf("lost %v, %v", lost, err)
		}
		want := allSubscriptions(t, log)
		toVersion19(t, before)
		closeBefore()

		after := db.open(t, nil)
		run(t, after)
		log = after.mustLog(t, name)
		if got := allSubscriptions(t, log); !reflect.DeepEqual(got, want) {
			t.Errorf("the subscriptions are\n%+v\nand were\n%+v", got, want)
		}
		if again, err := log.Claim(t.Context(), "new", 10); err != nil || len(again) != 2 {
			t.Errorf("%d claims instead of those that wait for no retry and are not claimed, %v", len(again), err)
		} else {
			p := again[0].Progress
			p.LastDelivered, p.Release = now, true
			if lost, err := log.Save(t.Context(), "new", []pushlog.Progress{p}); err != nil || len(lost) > 0 {
				t.Errorf("lost %v, %v", lost, err)
			}
			for _, s := range allSubscriptions(t, log) {
				if at := s.Progress.LastDelivered; s.ID == p.ID != at.Equal(now) || s.ID != p.ID && !at.IsZero() {
					t.Errorf("subscription %d had its last delivery at %v", s.ID, at)
				}
			}
		}
		elapse(t, after, name, time.Minute)
		if again, err := log.Claim(t.Context(), "new", 10); err != nil || len(again) != 3 {
			t.Errorf("%d claims a minute later, %v", len(again), err)
		}
	})
}

func allSubscriptions(t *testing.T, log pushlog.Log) (all []pushlog.Subscription) {
	t.Helper()
	for s, err := range log.Subscriptions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}
