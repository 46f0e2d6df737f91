package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// A fakeFolder is what a scanner scans, in the time of a synctest bubble.
type fakeFolder struct {
	takes time.Duration // each scan
	deaf  error         // of watching
	wake  func()        // anything may have changed
	tell  func(paths ...string)
	parts bool      // what has changed is told
	into  memorySet // made by scan if there is none
	ready []int64   // the files it was ready with
	shown []bool    // whether the status then had a scan

	mu    sync.Mutex
	files []resourcesync.Resource
	err   error // at the end of each scan
	began time.Time
	scans []string // when they began
	part  []string // the paths of each scan of a part
}

func (f *fakeFolder) list(context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		files, err := f.begin()
		time.Sleep(f.takes)
		for _, r := range files {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

func (f *fakeFolder) begin() ([]resourcesync.Resource, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scans = append(f.scans, time.Since(f.began).String())
	return f.files, f.err
}

// scanPart lists the files at paths, and nothing below them.
func (f *fakeFolder) scanPart(_ context.Context, paths []string) (ranges []resourcesync.Range, part listing) {
	for _, path := range paths {
		ranges = append(ranges, resourcesync.Range{From: path, To: path + "\x00"})
	}
	return ranges, func(yield func(resourcesync.Resource, error) bool) {
		f.mu.Lock()
		f.part = append(f.part, strings.Join(paths, ","))
		files, err := f.files, f.err
		f.mu.Unlock()
		for _, r := range files {
			if slices.Contains(paths, r.Key) && !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

func (f *fakeFolder) watch(ctx context.Context, changed func(paths []string)) error {
	if f.deaf != nil {
		return f.deaf
	}
	f.wake = func() { changed(nil) }
	f.tell = func(paths ...string) { changed(paths) }
	if f.parts {
		time.Sleep(time.Millisecond)
		changed(nil)
	}
	<-ctx.Done()
	return ctx.Err()
}

// set sets what scans find and end with.
func (f *fakeFolder) set(err error, files ...resourcesync.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files, f.err = files, err
}

func file(key string) resourcesync.Resource {
	return resourcesync.Resource{Key: key, URI: "http://example.org/" + key}
}

// A memorySet is a set that needs no database, which has no place in a bubble.
type memorySet struct{ *memory.Set }

func (s memorySet) count(ctx context.Context) (int64, error) {
	st, err := s.Stat(ctx, resourcesync.Range{})
	return st.Count, err
}

// scan runs a scanner of f with a rescan every minute while check looks on.
func (f *fakeFolder) scan(t *testing.T, check func(s *scanner, log *output)) {
	synctest.Test(t, func(t *testing.T) {
		f.began = time.Now()
		log := newOutput(t)
		if f.into.Set == nil {
			f.into.Set = memory.New(&memory.Options{AwaitScan: true})
		}
		s := &scanner{
			set:    f.into,
			list:   f.list,
			watch:  f.watch,
			rescan: time.Minute,
			count:  f.into.count,
			kept:   func(context.Context) (sqlstore.Kept, error) { return sqlstore.Kept{}, nil },
			log:    slog.New(slog.NewTextHandler(log, nil)),
		}
		s.ready = func(files int64) {
			f.ready, f.shown = append(f.ready, files), append(f.shown, s.last.Load() != nil)
		}
		if f.parts {
			s.part = f.scanPart
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			s.run(ctx)
			close(ended)
		}()
		synctest.Wait()
		check(s, log)
		stop()
		<-ended
	})
}

func (f *fakeFolder) want(t *testing.T, scans string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := strings.Join(f.scans, " "); got != scans {
		t.Errorf("scans at %s, want %s", got, scans)
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestScansFromTimeToTime(t *testing.T) {
	var f fakeFolder
	f.set(nil, file("a"))
	f.scan(t, func(_ *scanner, log *output) {
		f.set(nil, file("a"), file("b"))
		pass(2 * time.Minute)
		f.want(t, "0s 1m0s 2m0s")
		if f.into.Len() != 2 || strings.Count(log.String(), "changes found") != 1 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
	})
}

func TestScansWhenWoken(t *testing.T) {
	var f fakeFolder
	f.scan(t, func(_ *scanner, log *output) {
		pass(10 * time.Second)
		f.wake()
		synctest.Wait()
		f.want(t, "0s 10s")
		pass(59 * time.Second)
		f.want(t, "0s 10s")
		if log.String() != "" {
			t.Errorf("said\n%s", log)
		}
	})
}

// However often it is woken, a scanner rests.
func TestRests(t *testing.T) {
	f := fakeFolder{takes: 3 * time.Second}
	f.scan(t, func(*scanner, *output) {
		for range 400 {
			f.wake()
			pass(100 * time.Millisecond)
		}
		f.want(t, "0s 15s 30s")
	})
}

// Even a scan that takes longer than the time between two is begun anew.
func TestSlowScans(t *testing.T) {
	f := fakeFolder{takes: 2 * time.Minute}
	f.scan(t, func(*scanner, *output) {
		pass(7 * time.Minute)
		f.want(t, "0s 3m0s 6m0s")
	})
}

// TestScansParts scans only what has changed, without a rest.
func TestScansParts(t *testing.T) {
	f := fakeFolder{takes: 3 * time.Second, parts: true}
	f.set(nil, file("a"), file("b"))
	f.scan(t, func(s *scanner, log *output) {
		pass(4 * time.Second)
		f.want(t, "1ms")
		f.set(nil, file("a"), file("c"), file("unnoticed"))
		f.tell("b", "c")
		if f.into.Len() != 2 || strings.Count(log.String(), `"changes found" created=1 updated=0 deleted=1`) != 1 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
		f.set(nil, file("a"))
		f.tell("c")
		if f.into.Len() != 1 || len(f.part) != 2 {
			t.Errorf("%d files, parts %q\n%s", f.into.Len(), f.part, log)
		}
		pass(50 * time.Second)
		f.want(t, "1ms")
		f.wake()
		pass(5 * time.Second)
		f.want(t, "1ms 54s")
	})
}

// TestPartsInDoubt: when a part cannot be scanned, or something is kept, all is scanned.
func TestPartsInDoubt(t *testing.T) {
	f := fakeFolder{parts: true}
	f.set(nil, file("a"), file("b"), file("c"), file("d"))
	f.scan(t, func(s *scanner, log *output) {
		pass(time.Second)
		f.set(errors.New("a part is lost"), file("a"))
		f.tell("b")
		f.set(nil, file("a"), file("b"), file("c"), file("d"))
		pass(5 * time.Second)
		f.want(t, "1ms 1s")
		f.set(nil, file("a"))
		f.tell("b", "c", "d") // too many to be deleted without a word
		pass(time.Second)
		f.want(t, "1ms 1s 6s")
		f.tell("b") // while deletions are held
		pass(time.Second)
		f.want(t, "1ms 1s 6s 7s")
		if f.into.Len() != 4 || s.last.Load().result.Held != 3 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
		f.set(nil, file("a"), file("b"), file("c"), file("d"))
		f.tell("b", "c", "d")
		pass(time.Second)
		f.want(t, "1ms 1s 6s 7s 8s")
		f.tell("b")
		pass(time.Second)
		f.want(t, "1ms 1s 6s 7s 8s")
		if s.last.Load().result.Held != 0 {
			t.Errorf("still held\n%s", log)
		}
	})
}

// TestPartsWait: a part waits while others scan the set, and until the set is complete.
func TestPartsWait(t *testing.T) {
	f := fakeFolder{takes: 10 * time.Second, parts: true}
	f.set(nil, file("a"))
	f.scan(t, func(s *scanner, log *output) {
		pass(time.Second)
		go f.tell("b") // which the first scan may have passed
		pass(time.Second)
		f.set(nil, file("a"), file("b"))
		pass(10 * time.Second)
		if f.into.Len() != 2 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
		f.want(t, "1ms")
		end := make(chan struct{})
		go f.into.ScanRanges(t.Context(), []resourcesync.Range{{}}, func(yield func(resourcesync.Resource, error) bool) {
			<-end
			yield(resourcesync.Resource{}, errors.New("ended"))
		})
		synctest.Wait()
		f.set(nil, file("b"))
		go f.tell("a")
		pass(10 * time.Second)
		if f.into.Len() != 2 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
		close(end)
		pass(turnRetry) // the longest wait
		if f.into.Len() != 1 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
	})
}

func TestFailedScans(t *testing.T) {
	var f fakeFolder
	f.set(nil, file("a"), file("b"))
	f.scan(t, func(s *scanner, log *output) {
		f.set(errors.New("lost"), file("c"))
		f.wake()
		pass(4 * time.Second)
		f.wake() // is no reason to try earlier
		pass(146 * time.Second)
		f.want(t, "0s 0s 5s 15s 35s 1m15s 2m15s")
		if f.into.Len() != 3 || strings.Count(log.String(), "error=\"memory: scan: lost\"") != 1 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
		if s.health() == nil {
			t.Error("in good health")
		}
		f.set(nil, file("c"))
		pass(time.Minute)
		if f.into.Len() != 1 || s.health() != nil {
			t.Errorf("%d files, %v\n%s", f.into.Len(), s.health(), log)
		}
		f.set(errors.New("lost again"))
		pass(65 * time.Second) // the retries begin anew
		f.want(t, "0s 0s 5s 15s 35s 1m15s 2m15s 3m15s 4m15s 4m20s 4m30s")
	})
}

// A first scan that fails leaves the set closed.
func TestFailedFirstScan(t *testing.T) {
	var f fakeFolder
	f.set(errors.New("unreadable"), file("a"))
	f.scan(t, func(s *scanner, _ *output) {
		if _, err := f.into.Stat(t.Context(), resourcesync.Range{}); err != resourcesync.ErrNotReady || s.complete || f.ready != nil {
			t.Errorf("%v, complete: %t, ready with %d", err, s.complete, f.ready)
		}
		f.set(nil, file("a"))
		pass(5 * time.Second)
		if _, err := f.into.Stat(t.Context(), resourcesync.Range{}); err != nil || !s.complete || !slices.Equal(f.ready, []int64{1}) {
			t.Errorf("%v, complete: %t, ready with %d", err, s.complete, f.ready)
		}
	})
}

// Where the system reports no changes, this is logged once and scans go on.
func TestNoWatching(t *testing.T) {
	f := fakeFolder{deaf: errors.ErrUnsupported}
	f.scan(t, func(_ *scanner, log *output) {
		pass(2 * time.Minute)
		f.want(t, "0s 1m0s 2m0s")
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("said %d times:\n%s", n, log)
		}
	})
}

// A file that was read anew and is the same has not changed.
func TestStampAlone(t *testing.T) {
	var f fakeFolder
	a := file("a")
	a.Stamp = "~1"
	f.set(nil, a)
	f.scan(t, func(*scanner, *output) {
		a.Stamp = "1"
		f.set(nil, a)
		pass(time.Minute)
		for c, err := range f.into.Changes(t.Context(), resourcesync.Interval{}) {
			t.Errorf("journalled: %v, %v", c, err)
		}
		if r, _ := f.into.Get("a"); r.Stamp != "1" {
			t.Errorf("the stamp is still %q", r.Stamp)
		}
	})
}

// A set that is ready after a scan has the scan in its status.
func TestReadyAfterScan(t *testing.T) {
	f := fakeFolder{takes: 10 * time.Second}
	f.set(nil, file("a"))
	f.scan(t, func(_ *scanner, log *output) {
		pass(11 * time.Second)
		if !slices.Equal(f.ready, []int64{1}) || !slices.Equal(f.shown, []bool{true}) {
			t.Errorf("ready with %d, with a scan: %v\n%s", f.ready, f.shown, log)
		}
	})
}

// A set that has been filled before is ready before it is scanned, and what has
// changed since is published.
func TestReadyAtOnce(t *testing.T) {
	f := fakeFolder{takes: 10 * time.Second, into: memorySet{memory.New(nil)}}
	must(t, f.into.Put(file("a"), file("b"), file("c")))
	f.set(nil, file("c"), file("d"))
	f.scan(t, func(_ *scanner, log *output) {
		if !slices.Equal(f.ready, []int64{3}) || log.String() != "" {
			t.Errorf("ready with %d\n%s", f.ready, log)
		}
		pass(2 * time.Minute)
		if len(f.ready) != 1 || strings.Count(log.String(), `"changes found" created=1 updated=0 deleted=2`) != 1 {
			t.Errorf("ready with %d\n%s", f.ready, log)
		}
	})
}

// While somebody else scans the set, a scanner waits for its turn, without a word.
func TestTurns(t *testing.T) {
	var f fakeFolder
	f.scan(t, func(s *scanner, log *output) {
		end := make(chan struct{})
		go f.into.Set.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) { <-end })
		synctest.Wait()
		f.set(nil, file("a"))
		f.wake()
		pass(5 * time.Second)
		f.want(t, "0s")
		if log.String() != "" || s.health() != nil {
			t.Errorf("said, while it waited, %v\n%s", s.health(), log)
		}
		close(end)
		pass(turnRetry)
		f.want(t, "0s 6s")
		if f.into.Len() != 1 {
			t.Errorf("%d files\n%s", f.into.Len(), log)
		}
	})
}

// The first scan that completes makes the set ready for all who share it.
func TestReadyByOthers(t *testing.T) {
	var f fakeFolder
	f.set(errors.New("unreadable"))
	f.scan(t, func(s *scanner, _ *output) {
		_, err := f.into.Set.Scan(t.Context(), func(yield func(resourcesync.Resource, error) bool) { yield(file("a"), nil) })
		must(t, err)
		pass(firstRetry)
		if !slices.Equal(f.ready, []int64{1}) || s.complete || s.health() == nil {
			t.Errorf("ready with %d, complete: %t, %v", f.ready, s.complete, s.health())
		}
	})
}

// TestD11_FailedScansAreLoggedOnce: the same failure is logged once, a new one again, and
// its end.
func TestD11_FailedScansAreLoggedOnce(t *testing.T) {
	var f fakeFolder
	f.set(errors.New("the website is down"))
	f.scan(t, func(_ *scanner, log *output) {
		pass(10 * time.Minute)
		f.set(errors.New("a sitemap cannot be read"))
		pass(10 * time.Minute)
		f.set(nil, file("a"))
		pass(10 * time.Minute)
		var lines []string
		for line := range strings.Lines(log.String()) {
			_, msg, _ := strings.Cut(strings.TrimSpace(line), "msg=")
			lines = append(lines, msg)
		}
		want := []string{
			`"scan failed; no deletions are recorded" error="memory: scan: the website is down" next_in=5s`,
			`"scan failed; no deletions are recorded" error="memory: scan: a sitemap cannot be read" next_in=1m0s`,
			`"scan succeeded"`,
		}
		if !slices.Equal(lines, want) {
			t.Errorf("logged\n%s", log)
		}
	})
}
