package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// The Source is changed in rounds, with eachRound changes in each.
var (
	rounds    = needs.Size(3, 25)
	eachRound = needs.Size(800, 2000)
)

// TestD1_ReplayByChangeLists: a Destination that continues after until and one that continues at
// until read 2,400 changes, or 50,000 at night, and end identical.
func TestD1_ReplayByChangeLists(t *testing.T) {
	ledgers(t, func(t *testing.T, l *ledger) {
		w := newWire(t, newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 211}}, rshttp.Set{Provider: l.Provider}))
		all, lists := followers(), 0
		for range rounds {
			l.write(t, eachRound)
			_, entries := w.decode(pushBase + "changelist.xml")
			contiguous(t, time.Time{}, entries)
			lists = len(entries)
			for _, f := range all {
				for _, e := range entries {
					if e.Metadata.Until.IsZero() || f.isNew(e.Metadata.Until) {
						head, changes := w.decode(e.Loc)
						f.apply(&head, changes, digestOf)
					}
				}
			}
		}
		if lists < rounds*eachRound/211 {
			t.Errorf("%d Change Lists", lists)
		}
		l.check(t, all, true)
	})
}

// TestD1_ReplayByNotifications is TestD1_ReplayByChangeLists with Change
// Notifications.
func TestD1_ReplayByNotifications(t *testing.T) {
	ledgers(t, func(t *testing.T, l *ledger) {
		h := newHubServer(t)
		opts := rshttp.Options{Push: topic.Options{Flush: time.Millisecond, FlushChanges: 97, Framework: time.Minute}}
		src, _ := pushed(t, opts, rshttp.Set{Provider: l.Provider, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
		until(t, "the change channel begins", func() bool {
			status, err := src.PushStatus(t.Context())
			return err == nil && slices.ContainsFunc(status.Topics, func(s topic.TopicStatus) bool { return !s.Until.IsZero() })
		})
		for range rounds {
			l.write(t, eachRound)
		}
		told := func() (n int) {
			for _, p := range h.on("/change/") {
				n += len(p.entries)
			}
			return n
		}
		until(t, "all changes", func() bool { return told() >= rounds*eachRound })
		all, posts := followers(), h.on("/change/")
		var heads []rsxml.Entry
		for _, p := range posts {
			heads = append(heads, rsxml.Entry{Metadata: p.head.Metadata})
			for _, f := range all {
				f.apply(&p.head, p.entries, digestOf)
			}
		}
		contiguous(t, time.Time{}, heads)
		if len(posts) < rounds*eachRound/97 {
			t.Errorf("%d notifications", len(posts))
		}
		l.check(t, all, true)
	})
}

// TestD1_ReplayByChangeDumps is TestD1_ReplayByChangeLists with the packages of a
// Change Dump.
func TestD1_ReplayByChangeDumps(t *testing.T) {
	ledgers(t, func(t *testing.T, l *ledger) {
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 211, PackageSize: 4000}}, rshttp.Set{Provider: l.Provider, ChangeOpener: l})
		w := newWire(t, src)
		all, n := followers(), 0
		for range rounds {
			l.write(t, eachRound)
			stat, err := l.Provider.(resourcesync.Stater).Stat(t.Context(), resourcesync.Range{})
			if err == nil {
				err = l.Provider.(resourcesync.Sealer).Seal(t.Context(), stat.LastModified)
			}
			if err != nil {
				t.Fatal(err)
			}
			var packages []rsxml.Entry
			head, entries := w.decode(pushBase + "changedump.xml")
			contiguous(t, time.Time{}, entries)
			if packages = entries; head.Index {
				packages = nil
				for _, e := range entries {
					_, listed := w.decode(e.Loc)
					packages = append(packages, listed...)
				}
			}
			contiguous(t, time.Time{}, packages)
			n = len(packages)
			for _, e := range packages {
				if e.Metadata.Until.IsZero() {
					t.Fatalf("%s is open", e.Loc)
				}
				if !slices.ContainsFunc(all, func(f *follower) bool { return f.isNew(e.Metadata.Until) }) {
					continue
				}
				head, changes, content := w.unpack(e.Loc)
				for _, f := range all {
					f.apply(&head, changes, content)
				}
			}
		}
		if n < rounds*eachRound/211 {
			t.Errorf("%d packages", n)
		}
		l.check(t, all, false)
	})
}

// TestD1_SinceIsTheOldestChange: a host that answers Since with the datetime of its
// oldest change loses no change, neither in its lists nor on its channel.
func TestD1_SinceIsTheOldestChange(t *testing.T) {
	at := func(n int) resourcesync.Change {
		return resourcesync.Change{Type: resourcesync.Created, Datetime: newYear.Add(time.Duration(n) * time.Minute), Resource: resource(fmt.Sprint(n))}
	}
	for name, changes := range map[string][]resourcesync.Change{
		"one":                  {at(0)},
		"several":              {at(0), at(1), at(2)},
		"more than one list":   {at(0), at(1), at(2), at(3), at(4), at(5), at(6)},
		"many at the oldest":   {at(0), at(0), at(0), at(0), at(0), at(1), at(1440), at(1441)},
		"two at each datetime": {at(0), at(0), at(1), at(1), at(2), at(2), at(3), at(3)},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHubServer(t)
			host := &hostLog{since: newYear, changes: changes}
			outbox := pushlog.NewMemory()
			if _, err := outbox.Begin(t.Context(), pushBase+"change/", pushlog.State{Until: newYear.Add(-time.Hour)}); err != nil {
				t.Fatal(err)
			}
			src, _ := pushed(t, rshttp.Options{Division: rshttp.Division{PageSize: 3}, Store: storeOf(outbox)}, rshttp.Set{Provider: tableOf(1), Changer: host, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
			all := followers()
			head, lists := decode(t, src, "/resourcesync/changelist.xml")
			if !head.Metadata.From.Equal(newYear) {
				t.Errorf("from %v", head.Metadata.From)
			}
			if !head.Index {
				lists = []rsxml.Entry{{Loc: pushBase + "changelist.xml"}}
			}
			n := 0
			for _, e := range lists {
				head, entries := decode(t, src, pathOf(e))
				n += len(entries)
				for _, f := range all {
					f.apply(&head, entries, func(e *rsxml.Entry) string { return e.Loc })
				}
			}
			if n != len(changes) {
				t.Errorf("the Change Lists have %d changes", n)
			}
			if !maps.Equal(all[0].copy, all[1].copy) || len(all[0].copy) == 0 {
				t.Errorf("strict %v, inclusive %v", all[0].copy, all[1].copy)
			}
			until(t, "all changes on the channel", func() bool { return len(h.told("/change/")) == len(changes) })
		})
	}
}

// TestD1_ChangesAtFrom: a journal that counts From into an interval is refused, so that
// no change is sent repeatedly.
func TestD1_ChangesAtFrom(t *testing.T) {
	l := inclusive{daily(3, 5)}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 3}}, rshttp.Set{Provider: tableOf(1), Changer: l})
	get(t, src, "/resourcesync/changelist.xml")
	if res := get(t, src, "/resourcesync/changelist.xml"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s\n%s", res.Status, text(t, res))
	}
}

// inclusive is a journal whose intervals include From and exclude Until.
type inclusive struct{ *hostLog }

func (l inclusive) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for _, c := range l.changes {
			if at := c.Datetime; !at.Before(iv.From) && (iv.Until.IsZero() || at.Before(iv.Until)) && !yield(c, nil) {
				return
			}
		}
	}
}
