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
)

// A watched folder tells a test of each wake.
type watched struct {
	root  string
	dir   *Dir
	wakes chan struct{}
}

// watchFolder watches root until the test ends, and returns when that has begun.
func watchFolder(t *testing.T, root string, o *Options) *watched {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	o.Debounce = 5 * time.Millisecond
	w := &watched{root: root, dir: openDir(t, root, o), wakes: make(chan struct{}, 1000)}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.dir.Watch(ctx, func() { w.wakes <- struct{}{} }); !errors.Is(err, context.Canceled) {
			t.Errorf("Watch ended with %v", err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	w.await(t)
	return w
}

func (w *watched) await(t *testing.T) {
	t.Helper()
	select {
	case <-w.wakes:
	case <-time.After(10 * time.Second):
		t.Fatal("not woken")
	}
}

// awaitListed scans at every wake until the scan finds what it should.
func (w *watched) awaitListed(t *testing.T, want string) {
	t.Helper()
	for {
		w.await(t)
		if strings.Join(keys(complete(t, w.dir)), " ") == want {
			return
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

// TestWatchSeesTheLastOfMany makes and fills folders as fast as it can, so that
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

// TestWatchIgnoresWhatIsNotListed has events only of files that are left out,
// and then one of a file that is not.
func TestWatchIgnoresWhatIsNotListed(t *testing.T) {
	root := t.TempDir()
	write(t, root, ".git/config", "")
	write(t, root, "excluded/file", "")
	d := openDir(t, root, &Options{Exclude: func(path string, _ bool) bool {
		return path == "excluded" || strings.HasSuffix(path, ".tmp")
	}})
	var added []string
	n := newNotices(d, func(path string) error { added = append(added, path); return nil }, nil)
	n.rewatch(t.Context())
	if !slices.Equal(added, []string{root}) {
		t.Errorf("watches %q", added)
	}
	for _, name := range []string{".swp", ".git", "x.tmp", "excluded"} {
		n.event(fsnotify.Event{Name: filepath.Join(root, name), Op: fsnotify.Create})
	}
	if len(n.changed) > 0 || len(n.fresh) > 0 {
		t.Error("woken by what is not listed")
	}
	n.event(fsnotify.Event{Name: filepath.Join(root, "x"), Op: fsnotify.Write})
	if len(n.changed) == 0 {
		t.Error("not woken by what is")
	}
}

// TestWatchBursts runs on a clock of its own: a burst wakes once, and one that
// does not end wakes now and then.
func TestWatchBursts(t *testing.T) {
	d := openDir(t, t.TempDir(), &Options{Debounce: 100 * time.Millisecond})
	synctest.Test(t, func(t *testing.T) {
		n := newNotices(d, func(string) error { return nil }, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var wakes atomic.Int32
		var ended error
		go func() { ended = n.run(ctx, func() { wakes.Add(1) }) }()
		expect := func(want int32) {
			t.Helper()
			synctest.Wait()
			if got := wakes.Swap(0); got != want {
				t.Errorf("woken %d times, want %d", got, want)
			}
		}
		burst := func(events int) {
			for range events {
				n.note("file", false)
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
		n.note("file", false)
		cancel()
		synctest.Wait()
		expect(0)
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("ended with %v", ended)
		}
	})
}

func TestWatchLimit(t *testing.T) {
	var log logbook
	root := t.TempDir()
	manyFiles(t, root, 20)
	d := openDir(t, root, &Options{Logger: log.logger()})
	added := 0
	n := newNotices(d, func(string) error {
		if added++; added > 3 {
			return errors.New("no space left on device")
		}
		return fs.ErrNotExist // gone, which is no limit
	}, nil)
	for range 3 {
		added = 0
		n.watchBelow(t.Context(), "")
		if added != 4 {
			t.Errorf("%d folders were tried", added)
		}
	}
	if log.lines("msg=") != 1 || log.lines("not all folders") != 1 {
		t.Errorf("log: %s", &log.buf)
	}
}

// TestWatchOverflow loses events: everything is watched and looked at anew.
func TestWatchOverflow(t *testing.T) {
	var log logbook
	d := openDir(t, t.TempDir(), &Options{Logger: log.logger()})
	n := newNotices(d, nil, nil)
	n.fresh = map[string]bool{}
	events, errs := make(chan fsnotify.Event), make(chan error, 2)
	errs <- fsnotify.ErrEventOverflow
	errs <- fsnotify.ErrEventOverflow
	close(events)
	close(errs)
	n.receive(events, errs)
	if len(n.changed) != 1 || !n.fresh[""] {
		t.Error("an overflow is ignored")
	}
	if log.lines("msg=") != 1 || log.lines("lost") != 1 {
		t.Errorf("log: %s", &log.buf)
	}
}

func TestWatchRemembersNewFolders(t *testing.T) {
	root := t.TempDir()
	must(t, os.Mkdir(filepath.Join(root, "folder"), 0o755))
	write(t, root, "file", "")
	n := newNotices(openDir(t, root, nil), nil, nil)
	n.fresh = map[string]bool{}
	for _, name := range []string{"folder", "file", "gone"} {
		n.event(fsnotify.Event{Name: filepath.Join(root, name), Op: fsnotify.Create})
		n.event(fsnotify.Event{Name: filepath.Join(root, name), Op: fsnotify.Write})
	}
	if len(n.fresh) != 1 || !n.fresh["folder"] {
		t.Errorf("to be watched: %v", n.fresh)
	}
	for i := range 2 * maxFresh {
		n.note(fmt.Sprint(i), true)
	}
	if len(n.fresh) != 1 || !n.fresh[""] {
		t.Errorf("to be watched: %d", len(n.fresh))
	}
}

// TestWatchForgetsFolders moves and removes folders with others below.
func TestWatchForgetsFolders(t *testing.T) {
	root := t.TempDir()
	for _, key := range []string{"a/b/c", "ab", "d/e", "f"} {
		must(t, os.MkdirAll(filepath.Join(root, key), 0o755))
	}
	watching := map[string]bool{}
	n := newNotices(openDir(t, root, nil),
		func(path string) error { watching[path] = true; return nil },
		func(path string) error { delete(watching, path); return fsnotify.ErrNonExistentWatch })
	n.rewatch(t.Context())
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "d", "a")))
	must(t, os.Remove(filepath.Join(root, "f")))
	n.event(fsnotify.Event{Name: filepath.Join(root, "a"), Op: fsnotify.Rename})
	n.event(fsnotify.Event{Name: filepath.Join(root, "d", "a"), Op: fsnotify.Create})
	n.event(fsnotify.Event{Name: filepath.Join(root, "f"), Op: fsnotify.Remove})
	n.event(fsnotify.Event{Name: filepath.Join(root, "file"), Op: fsnotify.Remove})
	n.rewatch(t.Context())
	want := []string{"", "ab", "d", "d/a", "d/a/b", "d/a/b/c", "d/e"}
	if got := slices.Sorted(maps.Keys(n.watched)); !slices.Equal(got, want) {
		t.Errorf("remembers %q, want %q", got, want)
	}
	for i, key := range want {
		want[i] = n.path(key)
	}
	if got := slices.Sorted(maps.Keys(watching)); !slices.Equal(got, want) {
		t.Errorf("watches %q, want %q", got, want)
	}
}
