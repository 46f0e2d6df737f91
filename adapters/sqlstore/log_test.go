package sqlstore

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

func (s *Store) mustLog(t testing.TB, name string) pushlog.Log {
	t.Helper()
	l, err := s.Log(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return pushlog.Unseal(l)
}

func TestLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		first, second := db.open(t, nil), db.open(t, nil)
		run(t, first)
		run(t, second)
		logtest.Test(t, func(t *testing.T) logtest.Subject { return subject(t, first, second) })
	})
}

// subject returns a log with the name of the test, independent of others, as two stores
// see it.
func subject(t *testing.T, one, other *Store) logtest.Subject {
	return logtest.Subject{
		One:    one.mustLog(t, t.Name()),
		Other:  other.mustLog(t, t.Name()),
		Elapse: func(d time.Duration) { elapse(t, one, t.Name(), d) },
	}
}

// elapse makes time pass for a log.
func elapse(t *testing.T, s *Store, name string, d time.Duration) {
	err := s.db.Write(t.Context(), func(c rowdb.Conn) error {
		for _, sql := range []string{
			"UPDATE rs_progress SET due = due - $1 WHERE log_id = (SELECT id FROM rs_log WHERE name = $2)",
			"UPDATE rs_request SET due = due - $1 WHERE log_id = (SELECT id FROM rs_log WHERE name = $2)",
			"UPDATE rs_notification SET made = made - $1 WHERE topic_id IN (SELECT t.id FROM rs_topic t JOIN rs_log l ON l.id = t.log_id WHERE l.name = $2)",
		} {
			if _, err := c.Exec(t.Context(), sql, d.Microseconds(), name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// More subscriptions than are read at once: each is returned once.
func TestManySubscriptions(t *testing.T) {
	needs.Time(t)
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		l := store.mustLog(t, "many")
		const n = 4500
		subscribeAll(t, store, "many", benchTopic, n)
		seen := map[int64]bool{}
		for s, err := range l.Subscriptions(t.Context()) {
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

// TestLogForgets: entries in use are kept for any time; others are removed in time,
// counted from their last use.
func TestLogForgets(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		o := db.open(t, &Options{Now: clock.tell}).mustLog(t, "")
		const one, other, hub = "https://example.org/1/", "https://example.org/2/", "https://hub.example.net/"
		for _, uri := range []string{one, other} {
			if _, err := o.HubCursor(t.Context(), uri, hub); err != nil {
				t.Fatal(err)
			}
			if err := o.Append(t.Context(), pushlog.Notification{Topic: uri}, pushlog.State{}, pushlog.State{Number: 1}); err != nil {
				t.Fatal(err)
			}
		}
		clear := func(used map[string][]string, cursors int, last int64) {
			t.Helper()
			if _, err := o.Clear(t.Context(), used, clock.now.AddDate(0, 0, -14), clock.now.AddDate(0, 0, -1)); err != nil {
				t.Fatal(err)
			}
			all, err := o.AllHubCursors(t.Context())
			if err != nil || len(all) != cursors {
				t.Errorf("the cursors are %+v, and should be %d; %v", all, cursors, err)
			}
			state, err := o.State(t.Context(), other)
			if err != nil || state.Number != last {
				t.Errorf("the number of the topic is %d, and should be %d; %v", state.Number, last, err)
			}
		}
		both := map[string][]string{one: {hub}, other: {hub}}
		for range 60 { // days
			clock.now = clock.now.AddDate(0, 0, 1)
			clear(both, 2, 1)
		}
		clock.now = clock.now.Add(20 * time.Hour)
		clear(map[string][]string{one: {hub}}, 2, 1)
		clock.now = clock.now.Add(20 * time.Hour)
		clear(map[string][]string{one: {hub}}, 1, 1)
		clock.now = clock.now.AddDate(0, 0, 11)
		clear(map[string][]string{one: {hub}}, 1, 1)
		clock.now = clock.now.AddDate(0, 0, 2)
		clear(map[string][]string{one: {hub}}, 1, 0)
	})
}
