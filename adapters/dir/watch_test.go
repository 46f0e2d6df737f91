package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A watched folder keeps a copy of its resources with the reports of Watch: it scans
// the folder once, and then the reported parts.
type watched struct {
	root  string
	dir   *Dir
	found chan map[string]resourcesync.Resource // after each report
}

// watchFolder watches root until the test ends, and returns after the first scan.
func watchFolder(t *testing.T, root string, o *Options) *watched {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	o.Debounce = 5 * time.Millisecond
	w := &watched{root: root, dir: openDir(t, root, o), found: make(chan map[string]resourcesync.Resource, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		var set map[string]resourcesync.Resource
		err := w.dir.Watch(ctx, func(paths []string) {
			if paths == nil {
				set, _ = list(t, w.dir)
			} else {
				replacePart(t, w.dir, set, paths)
			}
			w.found <- maps.Clone(set)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	w.await(t)
	return w
}

// replacePart replaces the part of set at paths with the result of a scan of it, as stores
// do.
func replacePart(t testing.TB, d *Dir, set map[string]resourcesync.Resource, paths []string) {
	t.Helper()
	if !slices.IsSorted(paths) {
		t.Errorf("paths are not sorted: %q", paths)
	}
	ranges, part := d.Part(t.Context(), paths)
	contains := func(ranges []resourcesync.Range, key string) bool {
		return slices.ContainsFunc(ranges, func(r resourcesync.Range) bool { return r.Contains(key) })
	}
	var kept []resourcesync.Range
	found := map[string]resourcesync.Resource{}
	for r, err := range part {
		if u, ok := errors.AsType[*resourcesync.UnreadableError](err); ok {
			kept = append(kept, u.Keys)
			continue
		}
		if err != nil {
			t.Logf("part %q: %v", paths, err)
			return
		}
		if _, twice := found[r.Key]; twice || !contains(ranges, r.Key) {
			t.Errorf("part %q has %q (twice: %t)", paths, r.Key, twice)
		}
		found[r.Key] = r.Clone()
	}
	maps.DeleteFunc(set, func(key string, _ resourcesync.Resource) bool {
		return contains(ranges, key) && !contains(kept, key)
	})
	maps.Copy(set, found)
}

func (w *watched) await(t *testing.T) map[string]resourcesync.Resource {
	t.Helper()
	select {
	case set := <-w.found:
		return set
	case <-time.After(needs.Patience):
		t.Fatal("nothing is reported")
		return nil
	}
}

// awaitListed waits until the reported parts lead to the expected set.
func (w *watched) awaitListed(t *testing.T, want string) {
	t.Helper()
	last := ""
	timeout := time.After(needs.Patience)
	for {
		select {
		case set := <-w.found:
			if last = strings.Join(keys(set), " "); last == want {
				return
			}
		case <-timeout:
			t.Fatalf("the set has %s, want %s", last, want)
		}
	}
}

func TestWatch(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/b/old", "")
	w := watchFolder(t, root, nil)

	write(t, root, "a/b/new", "")
	w.awaitListed(t, "a/b/new a/b/old")
	must(t, os.Remove(filepath.Join(root, "a/b/old")))
	w.awaitListed(t, "a/b/new")
	write(t, root, "c/d/e/f", "") // folders that were not there
	w.awaitListed(t, "a/b/new c/d/e/f")
	write(t, root, "c/d/e/g", "")
	w.awaitListed(t, "a/b/new c/d/e/f c/d/e/g")
	must(t, os.Rename(filepath.Join(root, "c"), filepath.Join(root, "x")))
	w.awaitListed(t, "a/b/new x/d/e/f x/d/e/g")
	write(t, root, "x/d/e/h/i", "")
	w.awaitListed(t, "a/b/new x/d/e/f x/d/e/g x/d/e/h/i")
	write(t, root, "x/d/e/h/j", "")
	w.awaitListed(t, "a/b/new x/d/e/f x/d/e/g x/d/e/h/i x/d/e/h/j")
	must(t, os.RemoveAll(filepath.Join(root, "x")))
	w.awaitListed(t, "a/b/new")
}

// TestWatchSeesTheLastOfMany creates and fills folders as fast as possible, so that
// most appear while others are being added.
func TestWatchSeesTheLastOfMany(t *testing.T) {
	w := watchFolder(t, t.TempDir(), nil)
	var want []string
	for i := range 100 {
		key := fmt.Sprintf("%d/%d/file", i, i)
		write(t, w.root, key, "")
		want = append(want, key)
	}
	slices.Sort(want)
	w.awaitListed(t, strings.Join(want, " "))
}

// TestWatchIgnoresWhatIsNotListed has events of excluded files only, and then one of
// another file.
func TestWatchIgnoresWhatIsNotListed(t *testing.T) {
	root := t.TempDir()
	write(t, root, ".git/config", "")
	write(t, root, "excluded/file", "")
	write(t, root, "litter/file", "")
	d := openDir(t, root, &Options{ExcludePatterns: []string{"*.tmp", "litter/"}, Exclude: func(path string, _ bool) bool {
		return path == "excluded"
	}})
	var added []string
	n := newNotices(d, func(path string) error { added = append(added, path); return nil }, nil)
	d.watching.Store(n)
	complete(t, d)
	if !slices.Equal(added, []string{root}) {
		t.Errorf("watches %q", added)
	}
	for _, name := range []string{".swp", ".git", "x.tmp", "excluded", strings.Repeat("long/", 200)} {
		n.event(fsnotify.Event{Name: filepath.Join(root, name), Op: fsnotify.Create})
	}
	if len(n.changed) > 0 || len(n.pending) > 0 {
		t.Error("woken by an unlisted file")
	}
	n.event(fsnotify.Event{Name: filepath.Join(root, "x"), Op: fsnotify.Write})
	if len(n.changed) == 0 || len(n.pending) != 1 {
		t.Error("not woken by a listed file")
	}
}

// TestWatchBursts runs in virtual time: a burst wakes once, and one that does not end
// wakes from time to time.
func TestWatchBursts(t *testing.T) {
	d := openDir(t, t.TempDir(), &Options{Debounce: 100 * time.Millisecond})
	synctest.Test(t, func(t *testing.T) {
		n := newNotices(d, func(string) error { return nil }, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var wakes atomic.Int32
		var ended error
		go func() { ended = n.run(ctx, func([]string) { wakes.Add(1) }) }()
		expect := func(want int32) {
			t.Helper()
			synctest.Wait()
			if got := wakes.Swap(0); got != want {
				t.Errorf("woken %d times, want %d", got, want)
			}
		}
		burst := func(events int) {
			for range events {
				n.note("file", fsnotify.Write)
				time.Sleep(50 * time.Millisecond) // of the clock in the bubble
			}
		}
		expect(1)
		time.Sleep(time.Hour)
		expect(0)
		burst(1)
		expect(0)
		time.Sleep(100 * time.Millisecond)
		expect(1)
		burst(15)
		expect(0)
		time.Sleep(time.Second)
		expect(1)
		burst(200) // for ten seconds
		time.Sleep(time.Second)
		if n := wakes.Swap(0); n < 9 || n > 11 {
			t.Errorf("woken %d times in ten seconds", n)
		}
		n.note("file", fsnotify.Write)
		cancel()
		synctest.Wait()
		expect(0)
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("ended with %v", ended)
		}
	})
}

// TestWatchDuringCall has a change during a call of changed. It does not wait again.
func TestWatchDuringCall(t *testing.T) {
	d := openDir(t, t.TempDir(), &Options{Debounce: 100 * time.Millisecond})
	for _, after := range []time.Duration{0, 10 * time.Millisecond, 800 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			n := newNotices(d, func(string) error { return nil }, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer synctest.Wait()
			defer time.Sleep(time.Second)
			defer cancel()
			calls := make(chan time.Time, 10)
			go n.run(ctx, func([]string) {
				calls <- time.Now()
				time.Sleep(time.Second) // as a scan of many files
			})
			<-calls
			n.note("first", fsnotify.Write)
			begun := <-calls
			time.Sleep(after)
			n.note("second", fsnotify.Write)
			if took := (<-calls).Sub(begun); took != time.Second {
				t.Errorf("the next call begins %v after the one before", took)
			}
		})
	}
}

// TestWatchTogether: a change waits only for its own events, unless something has
// disappeared, and until a large file is quiet.
func TestWatchTogether(t *testing.T) {
	d := openDir(t, t.TempDir(), &Options{Debounce: 100 * time.Millisecond})
	synctest.Test(t, func(t *testing.T) {
		n := newNotices(d, func(string) error { return nil }, nil)
		check := func(want string, wantWait time.Duration) {
			t.Helper()
			ready, all, wait := n.take(time.Now())
			if got := strings.Join(slices.Sorted(maps.Keys(ready)), " "); got != want || all || wait != wantWait {
				t.Errorf("%q, all: %t, wait %v; want %q, %v", got, all, wait, want, wantWait)
			}
		}
		check("", 0)
		n.note("a", fsnotify.Write)
		time.Sleep(60 * time.Millisecond)
		n.note("b", fsnotify.Create)
		n.note("b", fsnotify.Write)
		check("", 40*time.Millisecond)
		time.Sleep(40 * time.Millisecond)
		check("a", 60*time.Millisecond)
		n.note("old", fsnotify.Rename)
		n.note("new", fsnotify.Create)
		n.note("other", fsnotify.Write)
		time.Sleep(100 * time.Millisecond)
		n.note("other", fsnotify.Write)
		n.read("large", time.Second)
		n.read("small", slowRead-1)
		n.note("large", fsnotify.Write)
		n.note("small", fsnotify.Write)
		check("b new old other small", 4*time.Second)
		time.Sleep(4 * time.Second)
		check("large", 0)
		n.read("large", time.Second)
		n.note("large", fsnotify.Remove) // which needs no reading
		time.Sleep(100 * time.Millisecond)
		check("large", 0)
	})
}

// TestWatchPaths checks the path of each kind of change.
func TestWatchPaths(t *testing.T) {
	root := t.TempDir()
	for _, key := range []string{"folder/below", "attributes", "was-unreadable/below", "now-a-folder"} {
		must(t, os.MkdirAll(filepath.Join(root, key), 0o755))
	}
	write(t, root, "file", "")
	write(t, root, "now-a-file", "")
	n := newNotices(openDir(t, root, nil), nil, func(string) error { return nil })
	n.unreadable(only("was-unreadable/below/file"))
	n.unreadable(only("gone-unreadable/file"))
	// Until a scan has read everything, and during another one, any file may have been a
	// folder.
	removed := func(key string) string {
		return strings.Join(n.paths(map[string]fsnotify.Op{key: fsnotify.Remove}), " ")
	}
	for range 2 {
		if got, want := removed("gone"), "gone gone/"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		n.begin()()
		if got, want := removed("gone"), "gone"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		n.begin()
	}
	n.begin()()
	// So may a folder that disappeared before it was watched: its opened files were read.
	n.watch = func(string) error { return fs.ErrNotExist }
	n.enter("gone-early")
	if got, want := removed("gone-early"), "gone-early gone-early/"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	n.watched["gone-folder"] = folderID{}
	for key, want := range map[string]struct {
		op    fsnotify.Op
		paths string
	}{
		"file":            {fsnotify.Create | fsnotify.Write, "file"},
		"written":         {fsnotify.Write, "written"},
		"created-gone":    {fsnotify.Create, "created-gone"},
		"gone":            {fsnotify.Remove, "gone"},
		"gone-folder":     {fsnotify.Remove, "gone-folder gone-folder/"},
		"gone-unreadable": {fsnotify.Remove, "gone-unreadable gone-unreadable/"},
		"folder":          {fsnotify.Create, "folder/"},
		"attributes":      {fsnotify.Chmod, ""},
		"was-unreadable":  {fsnotify.Chmod, "was-unreadable/"},
		"now-a-folder":    {fsnotify.Remove | fsnotify.Create, "now-a-folder now-a-folder/"},
		"now-a-file":      {fsnotify.Rename | fsnotify.Create, "now-a-file"},
	} {
		if got := strings.Join(n.paths(map[string]fsnotify.Op{key: want.op}), " "); got != want.paths {
			t.Errorf("%s: %q, want %q", key, got, want.paths)
		}
	}
	// Paths below a reported folder are not reported.
	n.watched["gone"] = folderID{}
	got := n.paths(map[string]fsnotify.Op{
		"gone": fsnotify.Remove, "gone/x": fsnotify.Remove, "gone/y": fsnotify.Write, "gone-not/x": fsnotify.Write, "gone0": fsnotify.Write,
	})
	if want := []string{"gone", "gone-not/x", "gone/", "gone0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// Any file may have been a folder that could not be watched.
	n.watch = func(string) error { return errors.New("limit") }
	n.enter("unwatched")
	if got, want := n.paths(map[string]fsnotify.Op{"gone": fsnotify.Remove}), []string{"gone", "gone/"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
