package rshttp

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// vast is a set that is divided into many pages. It counts resources that it does not
// have.
type vast struct {
	*memory.Set
	pages int
	count int // resources in the last page
}

func (v *vast) Cuts(context.Context, []resourcesync.Cut, int) (cuts []resourcesync.Cut, err error) {
	for i := range v.pages - 1 {
		cuts = append(cuts, resourcesync.Cut{Key: fmt.Sprintf("%06d", i+1), Count: 10, Newest: document.Epoch.Add(time.Hour)})
	}
	return append(cuts, resourcesync.Cut{Count: v.count, Newest: document.Epoch.Add(time.Duration(v.count) * time.Hour)}), nil
}

// renew divides a set, as Run does in the background.
func renew(ctx context.Context, d *partition.Partitioner) error {
	_, err := d.Renew(ctx, d.Current())
	return err
}

// TestD2_FrameworkIsSmall: the state and the notifications stay small, however many
// pages there are.
func TestD2_FrameworkIsSmall(t *testing.T) {
	v := &vast{memory.New(nil), 50_000, 1}
	f := frame(t, Options{}, "", Set{Provider: v})
	divide := func() {
		if err := renew(t.Context(), f.src.site.Order[0].Pages); err != nil {
			t.Fatal(err)
		}
	}
	divide()
	u := f.news()
	if len(f.text) > 1000 {
		t.Errorf("%d bytes are known", len(f.text))
	}
	if n := len(u[len(u)-1].Entries); n != 2 { // and the Change List
		t.Errorf("%d entries", n)
	}
	f.want("")
	v.count++
	divide()
	last := partition.FormatRange(resourcesync.Range{From: fmt.Sprintf("%06d", v.pages-1)})
	f.want("updated rs/resourcelist/" + last + ".xml index rs/resourcelist.xml\n")
	f.want("")
}

// TestFrameworkUnknown: a state that another version has written is announced again
// rather than misread.
func TestFrameworkUnknown(t *testing.T) {
	for _, text := range []string{"{}", `{"format":4,"description":"x"}`, "x", `{"format":1,"resourcelist":7}`, `[]`} {
		f := frame(t, Options{}, text, Set{Provider: memory.New(nil)})
		f.get("https://example.org/rs/resourcelist.xml")
		f.want("created .well-known/resourcesync\ncreated rs/capabilitylist.xml\ncreated rs/resourcelist.xml\ncreated rs/changelist.xml\n")
	}
}

// TestD2_FormatBefore: from the state of the previous version, which has a mark for each
// page, nothing is announced as new. Its Change Dump still listed the open package, so
// the current one differs.
func TestD2_FormatBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		for i := range 8 {
			set.put(t, fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		f := frame(t, Options{Division: Division{PageSize: 4}}, "", Set{Provider: set})
		f.crawl()
		f.news()
		k := f.known()
		journal, err := json.Marshal(k.Journal)
		if err != nil {
			t.Fatal(err)
		}
		open := k.ChangeList.Open.Format(time.RFC3339Nano)
		for name, marks := range map[string]string{"marks": `"pages":"AAAABBBBCCCCDDDD"`, "digest": `"state":"x","pages":""`} {
			f.text = fmt.Sprintf(`{"format":1,"description":%q,"capabilitylist":%q,"resourcelist":{%s},"resourcedump":{"pages":""},"journal":%s,"changelist":{"index":true,"open":%q},"changedump":{"open":%q}}`,
				k.Description, k.CapabilityList, marks, journal, open, k.ChangeDump.Open.Format(time.RFC3339Nano))
			f = f.again(Options{Division: Division{PageSize: 4}}, Set{Provider: set})
			f.crawl()
			for _, u := range f.news() {
				for _, e := range u.Entries {
					if c := e.Metadata.Capability; c != resourcesync.ResourceList && c != resourcesync.ChangeDump || e.Metadata.Change != resourcesync.Updated {
						t.Errorf("%s: %s %s", name, e.Metadata.Change, e.Loc)
					}
				}
			}
			time.Sleep(25 * time.Hour)
			f.want("created rs/resourcedump.xml\n") // which may have changed meanwhile
			f.want("")
		}
	})
}

// silent is a set without upgrades.
type silent struct{ resourcesync.Provider }

// TestFrameworkWithoutStater: without a Stater, changes show in the division of the set
// and the end of the journal.
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
			f := frame(t, Options{Division: Division{PageSize: 10}}, "", Set{Provider: silent{set}, Changer: journal})
			divide := func() {
				if err := renew(t.Context(), f.src.site.Order[0].Pages); err != nil {
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
			if err := set.Delete(t.Context(), "1"); err != nil {
				t.Error(err)
			} // its time is that of no resource
			time.Sleep(time.Second)
			divide()
			f.want("updated rs/resourcelist.xml\nupdated rs/changelist.xml\n")
			f.want("")
			f = f.again(Options{Division: Division{PageSize: 10}}, Set{Provider: silent{set}, Changer: journal})
			divide()
			f.want("")
			set.put(t, "1")
			time.Sleep(time.Second)
		}
		f := frame(t, Options{Division: Division{PageSize: 2}}, "", Set{Provider: silent{set}})
		f.get("https://example.org/rs/resourcelist.xml")
		f.want("created .well-known/resourcesync\ncreated rs/capabilitylist.xml\n" +
			"created rs/resourcelist/Mg~.xml index rs/resourcelist.xml\n")
		set.put(t, "0")
		time.Sleep(time.Second)
		if err := renew(t.Context(), f.src.site.Order[0].Pages); err != nil {
			t.Fatal(err)
		}
		// All that is known is that one of them has changed.
		f.want("updated rs/resourcelist/Mg~.xml index rs/resourcelist.xml\n")
		f.want("")
	})
}

// TestD2_Windows: if there are many new Change Lists, the channel announces the newest,
// as of the time it was split off, and the one that has been closed.
func TestD2_Windows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		f := frame(t, Options{Division: Division{PageSize: 1}}, "", Set{Provider: set.Set})
		set.put(t, "a")
		time.Sleep(time.Second)
		f.crawl()
		f.news()
		windows := func() []rsxml.Entry {
			t.Helper()
			_, _, windows := f.get("https://example.org/rs/changelist.xml")
			return windows
		}
		path := func(e rsxml.Entry) string { return strings.TrimPrefix(e.Loc, "https://example.org/") }
		for range 50 {
			set.put(t, "a")
			time.Sleep(time.Second)
		}
		split := time.Now().Add(-time.Second) // with the last change
		time.Sleep(time.Hour)
		// Now there is an index. Neither it nor the list that it replaces is announced.
		updates := f.news()
		all := windows()
		if got, want := brief(updates), "updated rs/resourcelist.xml\ncreated "+path(all[len(all)-1])+" index rs/changelist.xml\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if at := updates[0].Entries[1].Metadata.Datetime; !at.Equal(split) {
			t.Errorf("split at %v, told as of %v", split, at)
		}
		began := time.Now() // the first change closes the open list
		for range 3 {
			set.put(t, "a")
			time.Sleep(time.Second)
		}
		closed := all[len(all)-1]
		all = windows()
		replica := f.again(Options{Division: Division{PageSize: 1}}, Set{Provider: set.Set})
		replica.crawl()
		updates = f.news()
		if got, want := brief(updates), "updated rs/resourcelist.xml\ncreated "+path(all[len(all)-1])+" index rs/changelist.xml\nupdated "+path(closed)+" index rs/changelist.xml\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		if at := updates[0].Entries[2].Metadata.Datetime; !at.Equal(began) {
			t.Errorf("closed at %v, told as of %v", began, at)
		}
		time.Sleep(time.Minute)
		if other := replica.news(); !reflect.DeepEqual(other, updates) {
			t.Errorf("a replica says %+v, not %+v", other, updates)
		}
		f.want("")
	})
}

// listed is a set without a journal.
type listed struct {
	resourcesync.Provider
	resourcesync.Stater
	resourcesync.Cutter
}

// TestD2_Split: when a page is split, the newest of the new pages is announced, as of
// the time of the split; pages that are joined are not.
func TestD2_Split(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		put := func(from, to int) {
			for i := from; i < to; i++ {
				set.put(t, fmt.Sprintf("%03d", i))
				time.Sleep(time.Second)
			}
		}
		put(0, 3)
		f := frame(t, Options{Division: Division{PageSize: 4}}, "", Set{Provider: listed{set.Set, set.Set, set.Set}})
		f.crawl()
		f.want("created .well-known/resourcesync\ncreated rs/capabilitylist.xml\ncreated rs/resourcelist.xml\n")
		put(3, 12)
		split := time.Now()
		_, count := f.crawl()
		if count[resourcesync.ResourceList] < 2 {
			t.Fatal("not divided")
		}
		time.Sleep(time.Hour)
		updates := f.news()
		_, _, pages := f.get("https://example.org/rs/resourcelist.xml")
		if len(updates) != 1 || len(updates[0].Entries) != 1 {
			t.Fatalf("told:\n%s", brief(updates))
		}
		e := updates[0].Entries[0]
		if e.Loc != pages[len(pages)-1].Loc || e.Metadata.Change != resourcesync.Created || !e.Metadata.Datetime.Equal(split) || len(e.Links) != 1 {
			t.Errorf("told %+v, of %d pages split at %v", e, len(pages), split)
		}
		for i := range 10 {
			if err := set.Delete(t.Context(), fmt.Sprintf("%03d", i)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		if err := renew(t.Context(), f.src.site.Order[0].Pages); err != nil {
			t.Fatal(err)
		}
		if _, now := f.crawl(); now[resourcesync.ResourceList] >= count[resourcesync.ResourceList] {
			t.Fatalf("%v pages are still %v", count, now)
		}
		for _, u := range f.news() {
			for _, e := range u.Entries {
				if e.Metadata.Change != resourcesync.Updated {
					t.Errorf("of pages that were joined: %s %s", e.Metadata.Change, e.Loc)
				}
			}
		}
	})
}

// TestD2_DumpDaily: a changed Resource Dump is announced as created, but not before
// its packages are known, and once a day.
func TestD2_DumpDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		for i := range 9 {
			set.put(t, fmt.Sprint(i))
		}
		o := Options{Division: Division{PackageSize: 20, PageSize: 100}}
		f := frame(t, o, "", Set{Provider: set, Changer: nil})
		f.get("https://example.org/rs/resourcelist.xml")
		if told := brief(f.news()); strings.Contains(told, "resourcedump") {
			t.Errorf("told before the division is known:\n%s", told)
		}
		divide := func() {
			t.Helper()
			if err := renew(t.Context(), f.src.site.Order[0].Packages); err != nil {
				t.Fatal(err)
			}
		}
		divide()
		f.want("created rs/resourcedump.xml\n")
		for range 5 {
			time.Sleep(5 * time.Hour)
			set.put(t, "1")
			divide()
			told := brief(f.news())
			if late := time.Now().Hour(); strings.Contains(told, "resourcedump") != (time.Since(f.dumped()) == 0) {
				t.Errorf("at %d h: told\n%s", late, told)
			}
		}
		if age := time.Since(f.dumped()); age != 0 {
			t.Errorf("the dump of %v ago is the newest that was announced", age)
		}
		f = f.again(o, Set{Provider: set})
		f.crawl()
		time.Sleep(25 * time.Hour)
		f.want("") // nothing has changed
	})
}

// A stored is a part of what the channel stores.
type stored struct {
	Description    string
	CapabilityList string
	ResourceDump   struct{ Announced time.Time }
	Journal        any
	ChangeList     struct{ Open time.Time }
	ChangeDump     struct{ Open time.Time }
}

// known returns a part of what the channel stores.
func (f *framed) known() (k stored) {
	if err := json.Unmarshal([]byte(f.text), &k); err != nil {
		panic(err)
	}
	return k
}

// dumped returns when a Resource Dump was announced last.
func (f *framed) dumped() time.Time { return f.known().ResourceDump.Announced }

// told is a set whose Stat returns what a test has set.
type told struct {
	*memory.Set
	stat resourcesync.Stat
}

func (s *told) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return s.stat, nil
}

// TestFrameworkTimes: a new version suffices for an announcement, and no entry has a
// time in the future.
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

// since is the time from which versions can be opened.
type since time.Time

func (s since) Since(context.Context) (time.Time, error) { return time.Time(s), nil }

// TestFrameworkDumpedWindows: if the journal goes back further than the versions that
// can be opened, only an existing dump is announced.
func TestFrameworkDumpedWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		for range 8 {
			set.put(t, "a")
			seal(t, set.Set)
			time.Sleep(time.Second)
		}
		windows, err := set.Windows(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		opener := struct {
			resourcesync.ChangeOpener
			resourcesync.VersionRetainer
		}{set, since(windows[3].From)}
		f := frame(t, Options{Division: Division{PageSize: 1}}, "", Set{Provider: set.Set, ChangeOpener: opener})
		f.get("https://example.org/rs/resourcelist.xml")
		_, head, dumps := f.get("https://example.org/rs/changedump.xml")
		var got []string
		for _, u := range f.news() {
			for _, e := range u.Entries {
				if e.Metadata.Capability == resourcesync.ChangeDump {
					got = append(got, e.Loc)
				}
			}
		}
		if !head.Index || len(windows)-3 != len(dumps) || !slices.Equal(got, []string{dumps[len(dumps)-1].Loc}) {
			t.Errorf("%d windows, index %v of %d, got %q", len(windows), head.Index, len(dumps), got)
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

func (l *lateLog) Since(context.Context) (time.Time, error) { return document.Epoch, nil }

func (l *lateLog) Changes(_ context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for _, c := range l.changes {
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}

// TestFrameworkLateChanges: a change that appears after a later one also makes a new
// Change List.
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
