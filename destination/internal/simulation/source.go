package simulation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// Host is the host of the Source, and Site its URL.
	Host = "source.example"
	Site = "http://" + Host + "/"
)

// A version is a current or former content of a resource.
type version struct {
	name    string
	n, size int
	at      time.Time // of the change, by the Source's clock
	lastmod time.Time // as the documents say, before it is rounded
}

func (v *version) uri() string { return Site + v.name }

// content returns the content, which differs for each resource and version.
func (v *version) content() []byte {
	begin := fmt.Sprintf("%s %d\n", v.name, v.n)
	return append([]byte(begin), bytes.Repeat([]byte{'.'}, max(0, v.size-len(begin)))...)
}

func (v *version) digest() string {
	sum := sha256.Sum256(v.content())
	return hex.EncodeToString(sum[:])
}

// An entry is an event at the Source. Documents are functions of the entries up to some moment.
type entry struct {
	verb string // "created", "updated", "deleted", "close", "publish", "appear", "vanish", "move" or "relocate"
	set  int
	version
	when time.Time // by the clock of the world

	// modified is the time at which its documents changed, by the clock of the Source. A
	// resource can join a set long after its version was made.
	modified time.Time
}

// A source publishes the resources of a world.
type source interface {
	http.Handler

	// note is called after each entry of the log.
	note(w *World, e *entry) error

	close()
}

// A resource is the current state of a URI at the Source.
type resource struct {
	version
	sets map[int]bool
}

// now returns the time by the Source's clock. The caller holds the lock. If lists are
// in any order, or times in microseconds, each change has a time of its own.
func (w *World) now() time.Time {
	now := time.Now().Add(w.skew).Truncate(time.Microsecond)
	if n := len(w.log); (w.Order != "" || w.Times == "") && n > 0 && !now.After(w.log[n-1].at) && now.After(w.log[n-1].at.Add(-time.Millisecond)) {
		now = w.log[n-1].at.Add(time.Microsecond)
	}
	return now
}

// change runs an event that changes a resource of the Source.
func (w *World) change(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, set, size := e.Args[0], 0, 20
	if len(e.Args) > 1 {
		fmt.Sscan(e.Args[1], &size)
	}
	if len(e.Args) > 2 {
		fmt.Sscan(e.Args[2], &set)
	}
	set %= w.sets()
	r := w.truth[name]
	switch {
	case e.Verb == "put":
		if r == nil {
			r = &resource{sets: map[int]bool{}}
			w.truth[name] = r
		}
		w.versions[name]++
		r.version = version{name: name, n: w.versions[name], size: size, at: w.now()}
		r.lastmod = w.modified(&r.version)
		if len(r.sets) == 0 || !r.sets[set] && len(e.Args) > 2 {
			w.note("created", set, r.version)
		}
		for other := range w.sets() {
			if r.sets[other] && (other != set || r.sets[set]) {
				w.note("updated", other, r.version)
			}
		}
		if len(r.sets) == 0 || len(e.Args) > 2 {
			r.sets[set] = true
		}
		return
	case r == nil:
		return
	case e.Verb == "join":
		set = size % w.sets()
		if !r.sets[set] {
			r.sets[set] = true
			w.note("created", set, r.version)
		}
		return
	}
	for other := range w.sets() { // delete from all, or from one
		if !r.sets[other] || len(e.Args) > 1 && other != size {
			continue
		}
		delete(r.sets, other)
		gone := r.version
		gone.at = w.now()
		w.note("deleted", other, gone)
	}
	if len(r.sets) == 0 {
		delete(w.truth, name)
	}
}

// modified returns the lastmod of a version.
func (w *World) modified(v *version) time.Time {
	switch w.LastMod {
	case "backwards":
		return v.at.Add(-time.Duration(v.n) * 36 * time.Hour)
	case "future":
		return v.at.Add(48 * time.Hour)
	case "constant":
		return w.began.Add(-1000 * time.Hour)
	case "none":
		return time.Time{}
	}
	return v.at
}

// hasOtherSet reports whether the Source has a set besides this one. The caller holds the
// lock.
func (w *World) hasOtherSet(set int) bool {
	for other := range w.sets() {
		if other != set && w.place(other, len(w.log)) >= 0 {
			return true
		}
	}
	return false
}

func (w *World) sets() int { return max(w.Sets, 1) }

// note adds an entry to the log. The caller holds the lock.
func (w *World) note(verb string, set int, v version) {
	e := entry{verb, set, v, time.Now(), latest(v.at, time.Now().Add(w.skew))}
	if v.name == "" {
		e.at = w.now()
		e.modified = e.at
	}
	w.log = append(w.log, e)
}

// tell notifies the Source of the new entries of the log.
func (w *World) tell() error {
	w.mu.Lock()
	news := slices.Clone(w.log[w.noted:])
	w.noted = len(w.log)
	w.mu.Unlock()
	for i := range news {
		if err := w.source.note(w, &news[i]); err != nil {
			return err
		}
		if w.hub != nil {
			w.hub.note(&news[i])
		}
	}
	return nil
}

// serveResource serves the content of a resource.
func (w *World) serveResource(rw http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	w.mu.Lock()
	v, ok := version{}, false
	if has := w.truth[name]; has != nil {
		v, ok = has.version, true
	}
	w.mu.Unlock()
	if !ok {
		http.NotFound(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "text/plain")
	serve(rw, r, v.content(), w.Validators, v.at)
}

// serve serves a representation with validators.
func serve(rw http.ResponseWriter, r *http.Request, text []byte, validators string, modified time.Time) {
	switch validators {
	case "":
		sum := sha256.Sum256(text)
		rw.Header().Set("ETag", fmt.Sprintf(`"%x"`, sum[:8]))
		modified = time.Time{}
	case "none":
		modified = time.Time{}
	}
	http.ServeContent(rw, r, "", modified, bytes.NewReader(text))
}
