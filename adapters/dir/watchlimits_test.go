package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/resourcesync-go/resourcesync"
)

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
		return fs.ErrNotExist // it has vanished; that is not a limit
	}, nil)
	d.watching.Store(n)
	for range 3 {
		if found := complete(t, d); len(found) != 20 {
			t.Errorf("found %d files", len(found))
		}
	}
	if log.lines("msg=") != 1 || log.lines("not all folders") != 1 || len(n.watched) != 0 {
		t.Errorf("watched: %v, log: %s", n.watched, &log.buf)
	}
}

// TestWatchOverflow loses events, so anything may have changed.
func TestWatchOverflow(t *testing.T) {
	var log logbook
	d := openDir(t, t.TempDir(), &Options{Logger: log.logger()})
	n := newNotices(d, nil, nil)
	n.note("file", fsnotify.Write)
	events, errs := make(chan fsnotify.Event), make(chan error, 2)
	errs <- fsnotify.ErrEventOverflow
	errs <- fsnotify.ErrEventOverflow
	close(events)
	close(errs)
	n.receive(events, errs)
	n.note("file", fsnotify.Write)
	if len(n.changed) != 1 || !n.all || len(n.pending) != 0 {
		t.Error("an overflow is ignored")
	}
	if log.lines("msg=") != 1 || log.lines("lost") != 1 {
		t.Errorf("log: %s", &log.buf)
	}
	if _, all, _ := n.take(time.Now()); !all {
		t.Error("an overflow is not reported")
	}
	if _, all, _ := n.take(time.Now()); all {
		t.Error("an overflow is reported twice")
	}
}

// TestWatchIsBounded has more changes than the watcher remembers.
func TestWatchIsBounded(t *testing.T) {
	n := newNotices(openDir(t, t.TempDir(), nil), nil, nil)
	for i := range maxPending {
		n.note(fmt.Sprint(i), fsnotify.Write)
	}
	if n.all || len(n.pending) != maxPending {
		t.Errorf("%d changes, all: %t", len(n.pending), n.all)
	}
	n.note("0", fsnotify.Write)
	n.note("another", fsnotify.Write)
	n.note("another", fsnotify.Write)
	if !n.all || len(n.pending) != 0 {
		t.Errorf("%d changes, all: %t", len(n.pending), n.all)
	}
}

// TestWatchForgetsFolders moves and removes folders with subfolders.
func TestWatchForgetsFolders(t *testing.T) {
	root := t.TempDir()
	for _, key := range []string{"a/b/c", "ab", "d/e", "f"} {
		must(t, os.MkdirAll(filepath.Join(root, key), 0o755))
	}
	watching := map[string]bool{}
	d := openDir(t, root, nil)
	n := newNotices(d,
		func(path string) error { watching[path] = true; return nil },
		func(path string) error { delete(watching, path); return fsnotify.ErrNonExistentWatch })
	d.watching.Store(n)
	complete(t, d)
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "d", "a")))
	must(t, os.Remove(filepath.Join(root, "f")))
	n.event(fsnotify.Event{Name: filepath.Join(root, "a"), Op: fsnotify.Rename})
	n.event(fsnotify.Event{Name: filepath.Join(root, "d", "a"), Op: fsnotify.Create})
	n.event(fsnotify.Event{Name: filepath.Join(root, "f"), Op: fsnotify.Remove})
	n.event(fsnotify.Event{Name: filepath.Join(root, "file"), Op: fsnotify.Remove})
	ready, _, _ := n.take(time.Now().Add(time.Hour))
	replacePart(t, d, map[string]resourcesync.Resource{}, n.paths(ready))
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

// TestWatchRenamed: a scan enters renamed folders before it is known that they were renamed.
// The operating system would continue to watch them under their old names.
func TestWatchRenamed(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "a/b"), 0o755))
	w, err := fsnotify.NewWatcher()
	must(t, err)
	defer w.Close()
	n := newNotices(openDir(t, root, nil), w.Add, w.Remove)
	n.enter("a")
	n.enter("a/b")
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "x")))
	n.enter("x")
	n.enter("x/b")
	want := []string{n.path("x"), n.path("x/b")}
	if got := slices.Sorted(slices.Values(w.WatchList())); !slices.Equal(got, want) {
		t.Errorf("watches %q, want %q", got, want)
	}
	// A new folder takes the old name.
	must(t, os.MkdirAll(filepath.Join(root, "a"), 0o755))
	n.enter("a")
	n.forget(map[string]bool{"x": true})
	if got, want := w.WatchList(), []string{n.path("a")}; !slices.Equal(got, want) {
		t.Errorf("watches %q, want %q", got, want)
	}
	if got := slices.Sorted(maps.Keys(n.watched)); !slices.Equal(got, []string{"a", "a/b"}) { // a/b may have been listed
		t.Errorf("remembers %q", got)
	}
}

// TestWatchAfterLoss: a folder that is renamed while events are lost is watched under its
// new name. The system still watches the same folder, under the old name.
func TestWatchAfterLoss(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a/b/c", "")
	w := watchFolder(t, root, nil)
	must(t, os.Rename(filepath.Join(root, "a"), filepath.Join(root, "x")))
	w.dir.watching.Load().noteAll()
	w.awaitListed(t, "x/b/c")
	write(t, root, "x/b/d", "")
	w.awaitListed(t, "x/b/c x/b/d")
}

// TestWatchMovedFolder moves a folder after a scan has opened it, before it is watched.
func TestWatchMovedFolder(t *testing.T) {
	root := t.TempDir()
	write(t, root, "folder/file", "")
	away := filepath.Join(t.TempDir(), "folder")
	d := openDir(t, root, nil)
	watch := func(path string) error {
		if filepath.Base(path) != "folder" {
			return nil
		}
		if err := os.Rename(path, away); err != nil {
			t.Error(err)
		}
		return &fs.PathError{Op: "watch", Path: path, Err: fs.ErrNotExist}
	}
	n := newNotices(d, watch, func(string) error { return nil })
	d.watching.Store(n)
	for range d.Resources(t.Context()) {
	}
	if got, want := n.paths(map[string]fsnotify.Op{"folder": fsnotify.Rename}), []string{"folder", "folder/"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(n.failed) > 0 {
		t.Errorf("remembered after the report: %v", n.failed)
	}
}
