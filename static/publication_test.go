package static

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A watched is a Store that records the names of the files that are written, without the own ones. It
// calls changed after each.
type watched struct {
	Store
	mu      sync.Mutex
	written []string
	changed func()
	refuse  atomic.Pointer[string] // names that contain it cannot be written
}

func (w *watched) Write(ctx context.Context, name string, c Content, was Stamp) (Stamp, error) {
	if part := w.refuse.Load(); part != nil && strings.Contains(name, *part) {
		return Stamp{}, errors.New("the disk is full")
	}
	now, err := w.Store.Write(ctx, name, c, was)
	if !strings.Contains(name, ".static.") {
		w.mu.Lock()
		w.written = append(w.written, name)
		w.mu.Unlock()
	}
	if w.changed != nil {
		w.changed()
	}
	return now, err
}

// take returns what was written since the last call.
func (w *watched) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	written := w.written
	w.written = nil
	return written
}

// newMemorySite returns a site whose set is in memory, so that its time can be virtual.
func newMemorySite(t *testing.T) *site {
	return newSiteOf(t, memory.New(&memory.Options{Window: time.Millisecond}))
}

// openWatched opens the folder of the site.
func (s *site) openWatched() *watched {
	s.t.Helper()
	files, err := openTree(s.out, nil)
	must(s.t, err)
	s.t.Cleanup(files.close)
	return &watched{Store: files}
}

// start runs a Publication until the test ends, or the returned function is called.
func start(t *testing.T, out Store, src *Source, o PublicationOptions) (*Publication, func()) {
	t.Helper()
	o.Every, o.Logger = 10*time.Millisecond, slog.New(slog.DiscardHandler)
	p := NewPublication(out, src, &o)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return p, stop
}

// await waits until p has published the present state.
func await(t *testing.T, p *Publication) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Await(ctx); err != nil {
		t.Fatalf("%v; status %+v, health %v", err, p.Status(), p.Health(ctx))
	}
}

// A counting provider counts the reads of resources.
type counting struct {
	scan.Stored
	reads atomic.Int64
}

func (c *counting) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	c.reads.Add(1)
	return c.Stored.Resources(ctx, r)
}

// TestPublication: a change costs the open Change List, and no resource is read. The next process
// does not write the Resource List before its time. The Watcher of the set wakes the Publication.
func TestPublication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 55, "first")
		provider := &counting{Stored: s.set}
		source := func() *Source {
			src, err := New(origin+"/rs/", []Set{{Name: "papers", Provider: provider}}, &s.options)
			must(t, err)
			return src
		}
		out := s.openWatched()
		crawler := newCrawler(s.out)
		out.changed = func() {
			if _, _, err := crawler.crawl(); err != nil {
				t.Error(err)
			}
		}
		p, stop := start(t, out, source(), PublicationOptions{})
		await(t, p)
		if all := out.take(); len(all) < 10 || all[len(all)-1] != ".well-known/resourcesync" {
			t.Errorf("written at first: %q", all)
		}
		before := provider.reads.Load()
		for round := range 5 {
			s.put(20, 22, fmt.Sprint("round-", round))
			await(t, p)
			for _, name := range out.take() {
				if !strings.Contains(name, "/changelist") {
					t.Errorf("a change wrote %s", name)
				}
			}
		}
		if text := s.read("rs/papers/resourcelist.xml"); strings.Contains(text, "round-") || provider.reads.Load() != before {
			t.Errorf("a change reads the set: %d times", provider.reads.Load()-before)
		}
		s.checkChanges("text/round-4")
		s.put(20, 20, "unasked")
		eventually(t, func() bool { return len(out.take()) > 0 })
		await(t, p)
		s.checkChanges("text/unasked")
		s.check(55, 0)
		stop()
		if status := p.Status(); status.Publishing || status.Documents == 0 || status.Written == 0 || status.Last.IsZero() {
			t.Errorf("status %+v", status)
		}

		s.put(30, 30, "last")
		p, _ = start(t, out, source(), PublicationOptions{})
		await(t, p)
		for _, name := range out.take() {
			if !strings.Contains(name, "/changelist") {
				t.Errorf("the next process wrote %s", name)
			}
		}
		s.checkChanges("text/last")
	})
}

// checkChanges holds that the newest Change List names a type.
func (s *site) checkChanges(want string) {
	s.t.Helper()
	lists, err := filepath.Glob(filepath.Join(s.out, "rs/papers/changelist/2*.xml"))
	must(s.t, err)
	slices.Sort(lists)
	lists = append([]string{filepath.Join(s.out, "rs/papers/changelist.xml")}, lists...)
	text, err := os.ReadFile(lists[len(lists)-1])
	must(s.t, err)
	if !strings.Contains(string(text), want) {
		s.t.Errorf("%s has no %s", lists[len(lists)-1], want)
	}
}

// TestPublicationLists holds that Resource Lists are brought up to date when their time has come.
func TestPublicationLists(t *testing.T) {
	const listEvery = time.Hour
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.dumps = true
		s.put(1, 55, "first")
		out := s.openWatched()
		p, stop := start(t, out, s.source(), PublicationOptions{Options: Options{Grace: -1, DumpEvery: -1}, ListEvery: listEvery})
		await(t, p)
		s.put(1, 20, "second")
		s.delete(40, 55)
		time.Sleep(3 * listEvery) // the next session, and one that removes files
		await(t, p)
		stop()
		s.check(39, 0) // also that nothing is left behind
	})
}

// TestPublicationKeepsUp: while a long Resource List is written, the Change Lists follow.
func TestPublicationKeepsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 55, "first")
		out := s.openWatched()
		p, _ := start(t, out, s.source(), PublicationOptions{ListEvery: time.Hour})
		await(t, p)
		out.take()
		pages := 0
		out.changed = func() {
			out.mu.Lock()
			isPage := len(out.written) > 0 && strings.Contains(out.written[len(out.written)-1], "/resourcelist/")
			out.mu.Unlock()
			if !isPage {
				return
			}
			time.Sleep(3 * time.Second) // the time that a large page takes
			if pages++; pages == 1 {
				s.put(54, 54, "meanwhile")
			}
		}
		s.put(1, 55, "second")
		time.Sleep(2 * time.Hour)
		page, change, index := -1, -1, -1
		for i, name := range out.take() {
			switch {
			case page < 0 && strings.Contains(name, "/resourcelist/"):
				page = i
			case page >= 0 && change < 0 && strings.Contains(name, "/changelist/"):
				change = i
			case index < 0 && strings.HasSuffix(name, "/resourcelist.xml"):
				index = i
			}
		}
		if page < 0 || change < page || index < change {
			t.Errorf("a page is file %d, a Change List %d, the index %d", page, change, index)
		}
	})
}

// A restarting provider has a journal that starts over.
type restarting struct {
	scan.Stored
	since atomic.Pointer[time.Time]
}

func (r *restarting) Since(ctx context.Context) (time.Time, error) {
	if at := r.since.Load(); at != nil {
		return *at, nil
	}
	return r.Stored.Since(ctx)
}

func (r *restarting) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if at := r.since.Load(); at != nil {
		return []resourcesync.Interval{{From: *at}}, nil
	}
	return r.Stored.Windows(ctx, max)
}

// TestPublicationReachesBack holds that the Change List has all changes after the Resource List at any
// moment, also when the journal starts over.
func TestPublicationReachesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		for i := range 3 { // more changes than a Change List has
			s.put(1, 5, fmt.Sprint("before-", i))
		}
		time.Sleep(time.Millisecond) // changes at one time get datetimes that are later
		first := time.Now()
		provider := &restarting{Stored: s.set}
		src, err := New(origin+"/rs/", []Set{{Name: "papers", Provider: provider}}, &s.options)
		must(t, err)
		out := s.openWatched()
		head := func(name string) rsxml.Metadata {
			f, err := os.Open(filepath.Join(s.out, "rs/papers", name))
			must(t, err)
			defer f.Close()
			d := rsxml.NewDecoder(f)
			h, err := d.Head()
			must(t, err)
			return h.Metadata
		}
		p, stop := start(t, out, src, PublicationOptions{})
		await(t, p)
		stop()
		out.changed = func() {
			if at, from := head("resourcelist.xml").At, head("changelist.xml").From; from.After(first) && from.After(at) {
				t.Errorf("the Change List begins at %v, after the Resource List at %v", from, at)
			}
		}
		p, _ = start(t, out, src, PublicationOptions{})
		for round := range 3 {
			s.put(1, 1, fmt.Sprint("round-", round))
			stat, err := s.set.Stat(t.Context(), resourcesync.Range{})
			must(t, err)
			at := stat.LastModified
			provider.since.Store(&at)
			await(t, p)
			if text := s.read("rs/papers/resourcelist.xml"); !strings.Contains(text, fmt.Sprint("round-", round)) {
				t.Errorf("round %d: the Resource List is old", round)
			}
			// Readers of the recent changes read nothing else.
			if recent, list := head("changelist/recent.xml").From, head("changelist.xml").From; !recent.Equal(list) {
				t.Errorf("round %d: the recent changes begin at %v, the Change List at %v", round, recent, list)
			}
		}
		time.Sleep(48 * time.Hour)
		s.put(1, 1, "last")
		time.Sleep(2 * recentEvery)
		await(t, p)
		if text := s.read("rs/papers/changelist/recent.xml"); !strings.Contains(text, "<rs:md change=\"updated\"") || !head("changelist/recent.xml").Until.IsZero() {
			t.Errorf("the recent changes of a single Change List are %s", text)
		}
	})
}

// A broken provider fails while an error is set.
type broken struct {
	scan.Stored
	err     atomic.Pointer[error]
	windows atomic.Pointer[error] // of the journal alone
	list    atomic.Pointer[error] // of the resources alone
}

func (b *broken) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	if err := b.list.Load(); err != nil {
		return func(yield func(resourcesync.Resource, error) bool) { yield(resourcesync.Resource{}, *err) }
	}
	return b.Stored.Resources(ctx, r)
}

func (b *broken) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if err := b.err.Load(); err != nil {
		return resourcesync.Stat{}, *err
	}
	return b.Stored.Stat(ctx, r)
}

func (b *broken) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	if err := b.windows.Load(); err != nil {
		return nil, *err
	}
	return b.Stored.Windows(ctx, max)
}

// TestPublicationFailing: a set that fails does not keep another one from being published, nor the files
// of a former one from being removed. The Source Description has it as soon as it is published.
func TestPublicationFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := newMemorySite(t), newMemorySite(t)
		s.put(1, 25, "first")
		other.put(1, 25, "first")
		failing := &broken{Stored: other.set}
		failed := errors.New("the disk is gone")
		failing.err.Store(&failed)
		out := s.openWatched()
		former, err := New(origin+"/rs/", []Set{{Name: "former", Provider: other.set}, {Name: "papers", Provider: s.set}}, &s.options)
		must(t, err)
		p, stop := start(t, out, former, PublicationOptions{})
		await(t, p)
		stop()
		src, err := New(origin+"/rs/", []Set{{Name: "maps", Provider: failing}, {Name: "papers", Provider: s.set}}, &s.options)
		must(t, err)
		p, stop = start(t, out, src, PublicationOptions{Options: Options{Grace: -1}})
		eventually(t, func() bool { return p.Health(t.Context()) != nil && p.Status().Removed > 0 })
		synctest.Wait()
		if health := p.Health(t.Context()); !strings.Contains(health.Error(), `set "maps": the disk is gone`) || p.Status().LastError == "" {
			t.Errorf("health: %v", health)
		}
		s.check(25, 0)
		if text := s.read(".well-known/resourcesync"); !strings.Contains(text, "/rs/papers/") || strings.Contains(text, "/rs/maps/") || strings.Contains(text, "/rs/former/") {
			t.Errorf("the Source Description: %s", text)
		}
		s.put(3, 3, "second")
		eventually(t, func() bool {
			return slices.ContainsFunc(out.take(), func(name string) bool { return strings.Contains(name, "papers/changelist") })
		})
		failing.err.Store(nil)
		await(t, p)
		if health := p.Health(t.Context()); health != nil || p.Status().LastError != "" {
			t.Errorf("health: %v", health)
		}
		s.check(50, 0)
		if text := s.read(".well-known/resourcesync"); !strings.Contains(text, "/rs/papers/") || !strings.Contains(text, "/rs/maps/") {
			t.Errorf("the Source Description: %s", text)
		}

		failing.err.Store(&failed) // it is no reason to remove what is there
		s.put(4, 4, "third")
		eventually(t, func() bool { return p.Health(t.Context()) != nil })
		s.check(50, 0)

		stop() // a session that begins while the journal cannot be read publishes the other sets
		failing.err.Store(nil)
		failing.windows.Store(&failed)
		src, err = New(origin+"/rs/", []Set{{Name: "maps", Provider: failing}, {Name: "papers", Provider: s.set}}, &s.options)
		must(t, err)
		p, _ = start(t, out, src, PublicationOptions{Options: Options{Grace: -1}})
		eventually(t, func() bool { return p.Health(t.Context()) != nil })
		out.take()
		s.put(5, 5, "fourth")
		eventually(t, func() bool {
			return slices.ContainsFunc(out.take(), func(name string) bool { return strings.Contains(name, "papers/changelist") })
		})

		failing.windows.Store(nil) // if its Resource List fails, its Change List follows
		failing.list.Store(&failed)
		other.put(6, 6, "fifth")
		time.Sleep(2 * time.Hour) // the list is due
		out.take()
		other.put(7, 7, "sixth")
		eventually(t, func() bool {
			return slices.ContainsFunc(out.take(), func(name string) bool { return strings.Contains(name, "maps/changelist") })
		})
		if p.Health(t.Context()) == nil {
			t.Error("a Resource List that cannot be read is healthy")
		}

		failing.list.Store(nil) // nothing of the Change List that followed is removed
		await(t, p)
		s.check(50, 0)
	})
}

// TestPublicationFailingDump: if the Change List fails after the Resource Dump has been written, and the next
// walk writes the dump of a later state, nothing of the former is left.
func TestPublicationFailingDump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 55, "first")
		s.dumps = true
		out, part := s.openWatched(), "changelist"
		out.refuse.Store(&part)
		p, stop := start(t, out, s.source(), PublicationOptions{Options: Options{Grace: -1}})
		eventually(t, func() bool { return p.Health(t.Context()) != nil })
		s.put(1, 20, "second")
		out.refuse.Store(nil)
		await(t, p)
		stop()
		s.check(55, 0)
	})
}

// TestPublicationMovingDump: if a set changes while its Resource Dump is written, so that the walk begins again,
// nothing of the first attempt is left.
func TestPublicationMovingDump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 55, "first")
		s.dumps = true
		out, moved := s.openWatched(), false
		out.changed = func() {
			if n := len(out.written); !moved && n > 0 && strings.Contains(out.written[n-1], "/resourcedump/") {
				moved = true
				s.put(1, 55, "second")
				time.Sleep(time.Second) // until their datetimes have passed
			}
		}
		p, stop := start(t, out, s.source(), PublicationOptions{Options: Options{Grace: -1}})
		await(t, p)
		stop()
		if !moved {
			t.Error("no dump was written")
		}
		s.check(55, 0)
	})
}

// TestPublicationPanic: a Publication whose Store has panicked, also when the session ended, continues.
func TestPublicationPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 5, "first")
		out, panics := s.openWatched(), 2
		out.changed = func() {
			if panics > 0 {
				panics--
				panic("a defect of the Store")
			}
		}
		p, _ := start(t, out, s.source(), PublicationOptions{})
		await(t, p)
		if panics > 0 {
			t.Error("the Store has not panicked")
		}
	})
}

// TestCovered: a Change List has all changes after a Resource List if it begins before the time of the
// list, or before the list was made.
func TestCovered(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	l := listed{At: day(5), Noted: day(20), Since: day(3)}
	for since, want := range map[time.Time]bool{day(3): true, day(5): true, day(10): true, day(20): false, day(21): false} {
		if l.isCovered(since) != want {
			t.Errorf("since %v: %t", since, !want)
		}
	}
	l.Since = day(20)
	if !l.isCovered(day(20)) {
		t.Error("a Resource List of after the beginning is not covered")
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for range 1000 {
		if is() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("it did not happen")
}

// TestPublicationStandby: of two Publications, one writes, and the other takes over.
func TestPublicationStandby(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 5, "first")
		first, stop := start(t, s.openWatched(), s.source(), PublicationOptions{})
		await(t, first)
		other, err := openTree(s.out, nil)
		must(t, err)
		defer other.close()
		second, stopSecond := start(t, other, s.source(), PublicationOptions{})
		defer stopSecond()
		time.Sleep(100 * time.Millisecond)
		if first, second := first.Status(), second.Status(); !first.Publishing || second.Publishing || second.Written > 0 {
			t.Errorf("the first: %+v, the second: %+v", first, second)
		}
		if err := cmp.Or(first.Health(t.Context()), second.Health(t.Context())); err != nil {
			t.Error(err)
		}
		stop()
		s.put(2, 2, "second")
		await(t, second)
		s.checkChanges("text/second")
	})
}
