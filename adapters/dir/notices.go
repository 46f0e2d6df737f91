package dir

import (
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/resourcesync-go/resourcesync"
)

const (
	// maxPending is the maximum number of files and folders with unreported changes.
	// Beyond it, anything may have changed.
	maxPending = 1 << 16

	// slowRead is the duration of a read after which the next read of the same file
	// waits.
	slowRead = 100 * time.Millisecond

	// restRatio is that wait, in durations of the read: a large file that changes
	// all the time keeps one reader busy for a fifth of the time.
	restRatio = 4
)

// notices collects the events of the operating system. One goroutine receives them
// and never blocks, because further events would be lost. Another reports them.
type notices struct {
	dir       *Dir
	prefix    string         // of the names of events
	changed   chan struct{}  // of capacity 1; full if something has changed
	receivers sync.WaitGroup // of events

	// registering is held while folders are watched or unwatched. It is locked before mu.
	registering sync.Mutex

	mu        sync.Mutex
	watch     func(path string) error // starts watching one folder
	unwatch   func(path string) error // stops it
	end       func() error            // stops watching all folders; nil if they are not watched
	ended     bool
	pending   map[string]*pending  // by key
	all       bool                 // anything may have changed
	lost      bool                 // renamed folders may be watched under their old names
	watched   map[string]folderID  // the folders that scans have read, by key
	keys      map[folderID]string  // the keys under which folders are watched
	unwatched bool                 // some folders that were read could not be watched
	scans     int                  // complete scans that have begun
	known     bool                 // watched has all folders whose files may be listed
	failed    map[string]bool      // keys of folders in which something could not be read
	resting   map[string]time.Time // when a large file may be read again, by key

	limitOnce, lossOnce sync.Once
}

// pending are the events of one file or folder that have not been reported.
type pending struct {
	first, last time.Time
	op          fsnotify.Op
}

func newNotices(d *Dir, watch, unwatch func(path string) error) *notices {
	return &notices{
		dir:     d,
		prefix:  strings.TrimSuffix(d.path, string(filepath.Separator)) + string(filepath.Separator),
		watch:   watch,
		unwatch: unwatch,
		changed: make(chan struct{}, 1),
		pending: map[string]*pending{},
		watched: map[string]folderID{},
		keys:    map[folderID]string{},
		failed:  map[string]bool{},
		resting: map[string]time.Time{},
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
				n.dir.log.Warn("dir: change events were lost; scanning the whole folder", "error", err)
			})
			n.noteAll()
		}
	}
}

// event records one event. The file or folder that it names may no longer exist.
func (n *notices) event(e fsnotify.Event) {
	below, ok := strings.CutPrefix(e.Name, n.prefix)
	if !ok || below == "" { // the folder of the Dir itself
		if e.Op != fsnotify.Chmod || n.hasFailed("") {
			n.noteAll()
		}
		return
	}
	key := filepath.ToSlash(below)
	name := path.Base(key)
	if len(key) <= resourcesync.MaxKeyLength && (n.dir.admits(key, name, true) || n.dir.admits(key, name, false)) {
		n.note(key, e.Op)
	}
}

// note records an event of the file or folder at key.
func (n *notices) note(key string, op fsnotify.Op) {
	n.mu.Lock()
	now := time.Now()
	p := n.pending[key]
	switch {
	case n.all:
	case p != nil:
		p.op |= op
		p.last = now
	case len(n.pending) == maxPending:
		n.overflow()
	default:
		n.pending[key] = &pending{now, now, op}
	}
	n.mu.Unlock()
	n.signal()
}

// noteAll records that anything may have changed.
func (n *notices) noteAll() {
	n.mu.Lock()
	n.overflow()
	n.mu.Unlock()
	n.signal()
}

// overflow replaces the pending events by the fact that anything may have changed. The caller holds n.mu.
func (n *notices) overflow() {
	n.all, n.lost = true, true
	clear(n.pending)
}

func (n *notices) signal() {
	select {
	case n.changed <- struct{}{}:
	default:
	}
}
