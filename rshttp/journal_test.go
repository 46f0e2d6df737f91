package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// hostLog is a journal that does not divide itself, such as a host's own table.
type hostLog struct {
	since   time.Time
	changes []resourcesync.Change
	before  func() // called whenever the journal is about to be read
}

func (l *hostLog) Since(context.Context) (time.Time, error) { return l.since, nil }

func (l *hostLog) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		if l.before != nil {
			l.before()
		}
		for _, c := range l.changes {
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}

// drop removes the changes before until.
func (l *hostLog) drop(until time.Time) {
	for len(l.changes) > 0 && l.changes[0].Datetime.Before(until) {
		l.changes = l.changes[1:]
	}
	l.since = until
}

// daily is a journal since newYear, with as many changes each day.
func daily(days, each int) *hostLog {
	l := &hostLog{since: newYear}
	for d := range days {
		for i := range each {
			l.changes = append(l.changes, resourcesync.Change{
				Type:     resourcesync.Updated,
				Datetime: newYear.AddDate(0, 0, d).Add(time.Duration(i+1) * time.Hour),
				Resource: resource(fmt.Sprintf("r%d-%d", d, i)),
			})
		}
	}
	return l
}

// TestRetentionBetweenReads: a Change List is complete or gone, even if the journal
// drops changes between two reads of it.
func TestRetentionBetweenReads(t *testing.T) {
	l := daily(5, 3)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: tableOf(1), Changer: l})
	get(t, src, "/resourcesync/changelist.xml")
	n := 0
	l.before = func() {
		if n++; n == 2 { // first its windows are looked at, and then the list is made
			l.drop(newYear.AddDate(0, 0, 3))
		}
	}
	res := get(t, src, "/resourcesync/changelist/20260103T000000.000000000Z.xml")
	if body := text(t, res); res.StatusCode == 200 && strings.Count(body, "<url>") != 3 {
		t.Errorf("%s, %d of 3 changes", res.Header.Get("Cache-Control"), strings.Count(body, "<url>"))
	}
}

// TestClosedListStaysClosed: when the rest of a journal fits into one list again, a
// closed list does not open under its old name.
func TestClosedListStaysClosed(t *testing.T) {
	l := daily(5, 3)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}, Limits: rshttp.Limits{CacheBytes: -1}}, rshttp.Set{Provider: tableOf(1), Changer: l})
	const path = "/resourcesync/changelist/20260104T000000.000000000Z.xml"
	closed := text(t, get(t, src, path))
	if !strings.Contains(closed, `until="2026-01-05T00:00:00.000000Z"`) {
		t.Fatal(closed)
	}
	l.drop(newYear.AddDate(0, 0, 3))
	if res := get(t, src, path); res.StatusCode == 200 && text(t, res) != closed {
		t.Error("a closed list has changed")
	}
}

// TestDroppedWindow: a list of changes that the journal has dropped is gone, even for
// clients that have it in their cache.
func TestDroppedWindow(t *testing.T) {
	l := daily(5, 3)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: tableOf(1), Changer: l})
	const path = "/resourcesync/changelist/20260101T000000.000000000Z.xml"
	if res := get(t, src, path); res.StatusCode != 200 {
		t.Fatal(res.Status)
	}
	l.drop(newYear.AddDate(0, 0, 1))
	if res := get(t, src, path); res.StatusCode != 410 {
		t.Error(res.Status)
	}
}

// TestBrokenChanges: changes that do not make a valid Change List are refused.
func TestBrokenChanges(t *testing.T) {
	for name, c := range map[string]resourcesync.Change{
		"no type":     {Datetime: newYear, Resource: resource("a")},
		"other type":  {Type: "renamed", Datetime: newYear, Resource: resource("a")},
		"no datetime": {Type: resourcesync.Created, Resource: resource("a")},
	} {
		l := &hostLog{changes: []resourcesync.Change{c}}
		src := newSource(t, nil, rshttp.Set{Provider: tableOf(1), Changer: l})
		if res := get(t, src, "/resourcesync/changelist.xml"); res.StatusCode != 503 {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
}
