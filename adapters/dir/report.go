package dir

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/resourcesync-go/resourcesync"
)

// disappeared are the events after which a file or folder may be gone.
const disappeared = fsnotify.Remove | fsnotify.Rename

// take removes and returns the pending events that are to be reported now, by key, or
// reports that anything may have changed. wait is the time until more are to be reported,
// or 0 if nothing is pending.
func (n *notices) take(now time.Time) (ready map[string]fsnotify.Op, all bool, wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.all {
		n.all = false
		return nil, true, 0
	}
	rests := func(key string, p *pending) time.Duration {
		if p.op&disappeared != 0 {
			return 0 // there is nothing to read
		}
		return n.resting[key].Sub(now)
	}
	settles := func(p *pending) time.Duration {
		return min(p.last.Sub(now), p.first.Sub(now)+(maxDelay-1)*n.dir.debounce) + n.dir.debounce
	}
	together := false
	for _, p := range n.pending {
		together = together || p.op&disappeared != 0 && settles(p) <= 0
	}
	ready = map[string]fsnotify.Op{}
	for key, p := range n.pending {
		left := rests(key, p)
		if !together {
			left = max(left, settles(p))
		}
		switch {
		case left <= 0:
			ready[key] = p.op
			delete(n.pending, key)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	if wait > 0 {
		wait = max(wait, n.dir.debounce/4) // so that a burst is not reported file by file
	}
	return ready, false, wait
}

// paths returns the paths of the files and folders that have had these events, sorted,
// and stops watching folders that are gone.
func (n *notices) paths(ready map[string]fsnotify.Op) []string {
	var all []string
	gone := map[string]bool{}
	for key, op := range ready {
		if op == fsnotify.Write {
			all = append(all, key)
			continue
		}
		info, err := os.Lstat(n.path(key))
		switch {
		case err != nil || op&disappeared != 0:
			gone[key] = true
			all = append(all, key)
			if n.mayHaveBeenFolder(key) || err == nil && info.IsDir() {
				all = append(all, key+"/")
			}
		case !info.IsDir():
			all = append(all, key)
		case op.Has(fsnotify.Create) || n.hasFailed(key): // other attributes of folders do not matter
			all = append(all, key+"/")
		}
	}
	n.forget(gone)
	slices.Sort(all)
	folder := ""
	return slices.DeleteFunc(all, func(path string) bool {
		if folder != "" && strings.HasPrefix(path, folder) {
			return true // the folder is reported
		}
		if strings.HasSuffix(path, "/") {
			folder = path
		}
		return false
	})
}

// mayHaveBeenFolder reports whether the missing entry at key may have been a folder whose files
// are listed. Scans watch a folder before they read it. While a complete scan runs, it may
// still list a folder that it has opened before it disappeared.
func (n *notices) mayHaveBeenFolder(key string) bool {
	n.mu.Lock()
	_, watched := n.watched[key]
	may := watched || n.unwatched || !n.known
	n.mu.Unlock()
	return may || n.hasFailed(key)
}

// forget stops watching the folders in gone and everything below them. The operating
// system would continue to watch moved folders, under their old names.
func (n *notices) forget(gone map[string]bool) {
	n.registering.Lock()
	defer n.registering.Unlock()
	n.mu.Lock()
	maps.DeleteFunc(gone, func(key string, _ bool) bool {
		_, watched := n.watched[key]
		return !watched && !n.failed[key]
	})
	if len(gone) == 0 {
		n.mu.Unlock()
		return
	}
	isGone := func(key string) bool {
		for at := key; at != ""; at = at[:max(0, strings.LastIndexByte(at, '/'))] {
			if gone[at] {
				return true
			}
		}
		return false
	}
	var below []string
	for key := range n.watched {
		if isGone(key) {
			below = append(below, key)
			n.drop(key)
		}
	}
	maps.DeleteFunc(n.failed, func(key string, _ bool) bool { return isGone(key) })
	unwatch := n.unwatch
	n.mu.Unlock()
	for _, key := range below {
		unwatch(n.path(key)) // fails if the watch has ended by itself
	}
}

// drop forgets the folder at key, with n.mu held.
func (n *notices) drop(key string) {
	if id := n.watched[key]; n.keys[id] == key {
		delete(n.keys, id)
	}
	delete(n.watched, key)
}

func (n *notices) path(key string) string {
	return filepath.Join(n.dir.path, filepath.FromSlash(key))
}

// enter starts watching the folder at key, which a scan is about to read. Without a
// watch, scans of the whole folder find the changes. Like the other methods that scans
// call, it does nothing if n is nil.
func (n *notices) enter(key string) {
	if n == nil {
		return
	}
	n.registering.Lock()
	defer n.registering.Unlock()
	id := identify(n.path(key))
	n.mu.Lock()
	n.drop(key)
	delete(n.failed, key)
	old, moved := n.keys[id]
	n.watched[key] = id
	if id != (folderID{}) {
		n.keys[id] = key
	}
	watch, unwatch := n.watch, n.unwatch
	n.mu.Unlock()
	// Watching a folder that is watched already would change nothing: its events would
	// continue to have its old name.
	if moved {
		unwatch(n.path(old))
	}
	err := watch(n.path(key))
	if err == nil {
		return
	}
	isGone := errors.Is(err, fs.ErrNotExist)
	if !isGone { // the scan reads a folder that is gone if it has opened it before
		n.mu.Lock()
		n.drop(key)
		n.unwatched = true
		n.mu.Unlock()
	}
	if isGone || errors.Is(err, fs.ErrPermission) || errors.Is(err, fsnotify.ErrClosed) {
		return
	}
	n.limitOnce.Do(func() {
		n.dir.log.Warn("dir: not all folders can be watched; changes in the others wait for the next scan of the whole folder", "key", key, "error", err)
	})
}

// unreadable records that a scan could not read keys, so that a later event of their
// folder is a reason to read it again.
func (n *notices) unreadable(keys resourcesync.Range) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failed[keys.From[:max(0, strings.LastIndexByte(keys.From, '/'))]] = true
}

// hasFailed reports whether a scan could not read something in the folder at key or
// below it.
func (n *notices) hasFailed(key string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for failed := range n.failed {
		if rest, ok := strings.CutPrefix(failed, key); ok && (key == "" || rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// read records that a scan has taken this long to read the file at key.
func (n *notices) read(key string, took time.Duration) {
	if n == nil || took < slowRead {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(n.resting, func(_ string, until time.Time) bool { return !until.After(now) })
	n.resting[key] = now.Add(restRatio * took)
}
