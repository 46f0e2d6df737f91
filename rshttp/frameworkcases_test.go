package rshttp

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// vast is a set that is divided into many pages, which it counts but does not have.
type vast struct {
	*memory.Set
	pages int
	count int // resources in the last page
}

func (v *vast) Cuts(context.Context, []resourcesync.Cut, int) (cuts []resourcesync.Cut, err error) {
	for i := range v.pages - 1 {
		cuts = append(cuts, resourcesync.Cut{Key: fmt.Sprintf("%06d", i+1), Count: 10, Newest: epoch.Add(time.Hour)})
	}
	return append(cuts, resourcesync.Cut{Count: v.count, Newest: epoch.Add(time.Hour)}), nil
}

// TestFrameworkIsSmall: what is known and what is told stay small however many pages
// there are.
func TestFrameworkIsSmall(t *testing.T) {
	for _, pages := range []int{maxPages, maxPages + 1, 50_000} {
		v := &vast{memory.New(nil), pages, 1}
		f := frame(t, Options{}, "", Set{Provider: v})
		divide := func() {
			if _, err := f.src.divide(t.Context(), &f.src.order[0].pages); err != nil {
				t.Fatal(err)
			}
		}
		divide()
		u := f.news()
		if len(f.text) >= 64<<10 {
			t.Errorf("%d pages: %d bytes are known", pages, len(f.text))
		}
		if n := len(u[len(u)-1].Entries); n != maxNamed+1 { // and the Change List
			t.Errorf("%d pages: %d entries", pages, n)
		}
		f.want("")
		v.count++
		divide()
		last := formatRange(resourcesync.Range{From: fmt.Sprintf("%06d", pages-1)})
		f.want("updated rs/resourcelist/" + last + ".xml index rs/resourcelist.xml\n")
		f.want("")
	}
}

// TestFrameworkUnknown: what another version has written is told anew rather than
// misunderstood.
func TestFrameworkUnknown(t *testing.T) {
	for _, text := range []string{"{}", `{"format":2,"description":"x"}`, "x", `{"format":1,"resourcelist":7}`, `[]`} {
		f := frame(t, Options{}, text, Set{Provider: memory.New(nil)})
		f.get("https://example.org/rs/resourcelist.xml")
		f.want("created .well-known/resourcesync\ncreated rs/capabilitylist.xml\ncreated rs/resourcelist.xml\ncreated rs/changelist.xml\n")
	}
}

// silent is a set without upgrades.
type silent struct{ resourcesync.Provider }

// TestFrameworkWithoutStater: what has changed is known from how the set is divided,
// and from how far the journal is.
func TestFrameworkWithoutStater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		for i := range 4 {
			set.put(t, fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		journals := map[string]resourcesync.Changer{
			"windows": struct {
				resourcesync.Changer
				resourcesync.Windower
			}{set, set},
			"no windows": struct{ resourcesync.Changer }{set},
		}
		for name, journal := range journals {
			t.Log(name)
			f := frame(t, Options{PageSize: 10}, "", Set{Provider: silent{set}, Changer: journal})
			divide := func() {
				if _, err := f.src.divide(t.Context(), &f.src.order[0].pages); err != nil {
					t.Fatal(err)
				}
			}
			divide()
			f.news()
			divide()
			f.want("")
			set.put(t, "2")
			time.Sleep(time.Second)
			divide()
			f.want("updated rs/resourcelist.xml\nupdated rs/changelist.xml\n")
			set.Delete("1") // its time is that of no resource
			time.Sleep(time.Second)
			divide()
			f.want("updated rs/resourcelist.xml\nupdated rs/changelist.xml\n")
			f.want("")
			f = f.again(Options{PageSize: 10}, Set{Provider: silent{set}, Changer: journal})
			divide()
			f.want("")
			set.put(t, "1")
			time.Sleep(time.Second)
		}
		f := frame(t, Options{PageSize: 2}, "", Set{Provider: silent{set}})
		f.get("https://example.org/rs/resourcelist.xml")
		f.want("created .well-known/resourcesync\ncreated rs/capabilitylist.xml\n" +
			"created rs/resourcelist/~Mg.xml index rs/resourcelist.xml\ncreated rs/resourcelist/Mg~.xml index rs/resourcelist.xml\n")
		set.put(t, "0")
		time.Sleep(time.Second)
		if _, err := f.src.divide(t.Context(), &f.src.order[0].pages); err != nil {
			t.Fatal(err)
		}
		// That one of them has changed is all that is known.
		f.want("updated rs/resourcelist/Mg~.xml index rs/resourcelist.xml\n")
		f.want("")
	})
}

// TestFrameworkWindows: closed and new Change Lists are told, the newest of many.
func TestFrameworkWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		f := frame(t, Options{PageSize: 1}, "", Set{Provider: set.Set})
		set.put(t, "a")
		time.Sleep(time.Second)
		f.crawl()
		f.news()
		for range maxNamed + 50 {
			set.put(t, "a")
			time.Sleep(time.Second)
		}
		updates := f.news()
		lists := 0
		for _, u := range updates {
			for _, e := range u.Entries {
				if e.Metadata.Capability == resourcesync.ChangeList {
					lists++
				}
			}
		}
		last := updates[len(updates)-1].Entries
		_, _, windows := f.get("https://example.org/rs/changelist.xml")
		if lists != maxNamed || last[len(last)-1].Loc != windows[len(windows)-1].Loc {
			t.Errorf("%d of %d lists are told, the last is %s", lists, len(windows), last[len(last)-1].Loc)
		}
		set.put(t, "a")
		time.Sleep(time.Second)
		_, _, windows = f.get("https://example.org/rs/changelist.xml")
		n := len(windows)
		path := func(e rsxml.Entry) string { return strings.TrimPrefix(e.Loc, "https://example.org/") }
		f.want("updated rs/resourcelist.xml\n" +
			"updated " + path(windows[n-2]) + " index rs/changelist.xml\ncreated " + path(windows[n-1]) + " index rs/changelist.xml\n")
	})
}

// TestFrameworkDumpUnknown: that somebody has asked for a dump for the first time
// makes no other dump of it.
func TestFrameworkDumpUnknown(t *testing.T) {
	set := full{memory.New(nil)}
	set.put(t, "a")
	f := frame(t, Options{}, "", Set{Provider: set})
	f.get("https://example.org/rs/resourcelist.xml")
	if told := brief(f.news()); !strings.Contains(told, "created rs/resourcedump.xml\n") {
		t.Errorf("told:\n%s", told)
	}
	f.get("https://example.org/rs/resourcedump.xml")
	f.want("")
	set.put(t, "b")
	f.want("updated rs/resourcelist.xml\nupdated rs/changelist.xml\nupdated rs/changedump.xml\n")
}

// told is a set whose Stat is what it was told to be.
type told struct {
	*memory.Set
	stat resourcesync.Stat
}

func (s *told) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return s.stat, nil
}

// TestFrameworkTimes: a version that moves is enough, and no entry is of the future.
func TestFrameworkTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, at := range []time.Time{{}, time.Now().Add(time.Hour)} {
			set := &told{memory.New(nil), resourcesync.Stat{Version: "1", LastModified: at}}
			f := frame(t, Options{}, "", Set{Provider: set})
			f.get("https://example.org/rs/resourcelist.xml")
			f.news()
			set.stat.Version = "2"
			updates := f.news()
			if got, want := brief(updates), "updated rs/resourcelist.xml\nupdated rs/changelist.xml\n"; got != want {
				t.Fatalf("got\n%s", got)
			}
			for _, e := range updates[0].Entries {
				if !e.Metadata.Datetime.Equal(time.Now()) {
					t.Errorf("last modified at %v: told at %v", at, e.Metadata.Datetime)
				}
			}
		}
	})
}

// since is from when on there are bytes.
type since time.Time

func (s since) Since(context.Context) (time.Time, error) { return time.Time(s), nil }

// TestFrameworkDumpedWindows: of a journal that goes back further than there are
// bytes, only the dumps that there are are told of.
func TestFrameworkDumpedWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		for range 8 {
			set.put(t, "a")
			time.Sleep(time.Second)
		}
		windows, err := set.Windows(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		opener := struct {
			resourcesync.ChangeOpener
			sincer
		}{set, since(windows[3].From)}
		f := frame(t, Options{PageSize: 1}, "", Set{Provider: set.Set, ChangeOpener: opener})
		var want, got []string
		f.get("https://example.org/rs/resourcelist.xml")
		_, head, dumps := f.get("https://example.org/rs/changedump.xml")
		for _, e := range dumps {
			want = append(want, e.Loc)
		}
		for _, u := range f.news() {
			for _, e := range u.Entries {
				if e.Metadata.Capability == resourcesync.ChangeDump {
					got = append(got, e.Loc)
				}
			}
		}
		if !head.Index || len(windows)-3 != len(want) || !slices.Equal(got, want) {
			t.Errorf("%d windows, index %v, got\n%q\nwant\n%q", len(windows), head.Index, got, want)
		}
	})
}

// lateLog is a journal in which changes come to light out of order.
type lateLog struct{ changes []resourcesync.Change }

func (l *lateLog) add(at time.Time) {
	c := resourcesync.Change{Type: resourcesync.Updated, Datetime: at, Resource: resourcesync.Resource{Key: "a", URI: "https://example.org/a"}}
	l.changes = append(l.changes, c)
	slices.SortFunc(l.changes, func(a, b resourcesync.Change) int { return a.Datetime.Compare(b.Datetime) })
}

func (l *lateLog) Since(context.Context) (time.Time, error) { return epoch, nil }

func (l *lateLog) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for _, c := range l.changes {
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}

// TestFrameworkLateChanges: a change that comes to light after a later one makes
// another Change List, too.
func TestFrameworkLateChanges(t *testing.T) {
	now := time.Now()
	log := &lateLog{}
	log.add(now)
	f := frame(t, Options{}, "", Set{Provider: memory.New(nil), Changer: log})
	f.get("https://example.org/rs/resourcelist.xml")
	f.news()
	log.add(now.Add(-time.Second))
	f.want("updated rs/changelist.xml\n")
	f.want("")
}
