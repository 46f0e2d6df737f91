package dir

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"

	"github.com/resourcesync-go/resourcesync"
)

// maxFresh is the maximum number of remembered new folders. Beyond it, rewatch walks
// the whole folder.
const maxFresh = 1000

// notices collects the events of the operating system. One goroutine receives them
// and never blocks, because further events would be lost. Another processes them.
type notices struct {
	dir            *Dir
	watch, unwatch func(path string) error // start and stop watching one folder
	changed        chan struct{}           // of capacity 1; full if something has changed

	mu      sync.Mutex
	watched map[string]bool // keys of the watched folders
	gone    map[string]bool // watched folders that were moved or removed
	fresh   map[string]bool // keys of folders to watch with everything below

	limitOnce, lossOnce sync.Once
}

func newNotices(d *Dir, watch, unwatch func(path string) error) *notices {
	return &notices{
		dir:     d,
		watch:   watch,
		unwatch: unwatch,
		changed: make(chan struct{}, 1),
		watched: map[string]bool{},
		gone:    map[string]bool{},
		fresh:   map[string]bool{"": true},
	}
}

// receive receives events and errors until both channels are closed.
func (n *notices) receive(events <-chan fsnotify.Event, errs <-chan error) {
	for events != nil || errs != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			n.event(e)
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			n.lossOnce.Do(func() {
				n.dir.log.Warn("dir: change events were lost; watching all folders again", "err", err)
			})
			n.note("", true)
		}
	}
}

// event records one event. The file or folder that it names may no longer exist.
func (n *notices) event(e fsnotify.Event) {
	below, err := filepath.Rel(n.dir.path, e.Name)
	if err != nil || below == "." {
		n.note("", false)
		return
	}
	key := filepath.ToSlash(below)
	name := path.Base(key)
	if !n.dir.admits(key, name, true) && !n.dir.admits(key, name, false) {
		return
	}
	if e.Has(fsnotify.Rename) || e.Has(fsnotify.Remove) {
		n.noteGone(key)
	}
	isFolder := false
	if e.Has(fsnotify.Create) {
		info, err := n.dir.root.Lstat(below)
		isFolder = err == nil && info.IsDir()
	}
	n.note(key, isFolder)
}

// note records a change and, if it is a new folder, that the folder must be watched.
func (n *notices) note(key string, isFolder bool) {
	n.mu.Lock()
	switch {
	case !isFolder || n.fresh[""]:
	case key == "" || len(n.fresh) == maxFresh:
		n.fresh = map[string]bool{"": true}
	default:
		n.fresh[key] = true
	}
	n.mu.Unlock()
	select {
	case n.changed <- struct{}{}:
	default:
	}
}

// noteGone records that a watched folder no longer exists at key.
func (n *notices) noteGone(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.watched[key] {
		n.gone[key] = true
	}
}

// rewatch stops watching removed folders and starts watching new ones.
func (n *notices) rewatch(ctx context.Context) {
	n.mu.Lock()
	gone, fresh := n.gone, n.fresh
	n.gone, n.fresh = map[string]bool{}, map[string]bool{}
	n.mu.Unlock()
	if len(gone) > 0 {
		n.unwatchBelow(gone)
	}
	for key := range fresh {
		n.watchBelow(ctx, key)
	}
}

// unwatchBelow stops watching the folders in gone and everything below them. The
// operating system would continue to watch moved folders, under their old names.
func (n *notices) unwatchBelow(gone map[string]bool) {
	n.mu.Lock()
	var below []string
	for key := range n.watched {
		for at := key; at != ""; at = at[:max(0, strings.LastIndexByte(at, '/'))] {
			if gone[at] {
				below = append(below, key)
				delete(n.watched, key)
				break
			}
		}
	}
	n.mu.Unlock()
	for _, key := range below {
		n.unwatch(n.path(key)) // fails if the watch has ended by itself
	}
}

func (n *notices) path(key string) string {
	return filepath.Join(n.dir.path, filepath.FromSlash(key))
}

// watchBelow starts watching the folder at key and everything below. The scan reports
// folders that cannot be opened.
func (n *notices) watchBelow(ctx context.Context, key string) {
	prefix := ""
	if key != "" {
		prefix = key + "/"
	}
	root, err := n.dir.folder(prefix)
	if err != nil {
		return
	}
	in := newFolder(root)
	defer in.release()
	n.dir.walk(ctx, in, key, n)
}

// enter starts watching a folder before its entries are read, so that each entry is
// either read or reported. If a folder cannot be watched because a limit of the
// operating system is reached, the walk ends, because the others could not be watched
// either.
func (n *notices) enter(key string) error {
	err := n.watch(n.path(key))
	if err == nil {
		n.mu.Lock()
		n.watched[key] = true
		n.mu.Unlock()
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	n.limitOnce.Do(func() {
		n.dir.log.Warn("dir: not all folders can be watched; changes in the others wait for the next scan", "key", key, "err", err)
	})
	return err
}

func (n *notices) files(context.Context, *folder, []file) error { return nil }

func (n *notices) unreadable(context.Context, string, resourcesync.Range, error) {}

func (n *notices) skip(string, error) {}
