package simulation

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// judgeStale judges whether a copy may still have text, the content of another version than v.
func (w *World) judgeStale(c *comparison, v *version, text string) {
	w.mu.Lock()
	have, known := w.version(v.name, text)
	noted := w.hasChange(v)
	fetched, wrong := w.fetched(have)
	unchanged := w.documentsUnchanged(have)
	w.mu.Unlock()
	shown := func(t time.Time) string { return (&foreign{w}).time(t) }
	err := fmt.Errorf("%s is stale: version %d instead of %d", v.name, have.n, v.n)
	switch {
	case !known:
		w.fail("content", "%s has the content %.40q, which the Source never had", v.name, text)
	case w.Source != "" && w.NoHash && (v.lastmod.Equal(have.lastmod) || w.LastMod == "future") && (w.NoLength || len(v.content()) == len(text)):
		c.undetectable++ // the program that publishes the resource has not noticed a change
	case w.Source != "" || !w.NoHash || !w.NoLength && len(v.content()) != len(text):
		w.fail("stale", "%v", err)
	case w.hasLastMod() && shown(v.lastmod) != shown(have.lastmod):
		w.fail("stale", "%v, although the lastmod of the versions differs", err)
	case noted && w.Changes == "" && shown(v.at) != shown(have.at):
		w.fail("stale", "%v, although the datetimes of the changes differ", err)
	case w.marked() && !fetched.Before(w.mark(v).Truncate(w.tick()).Add(w.tick())):
		c.undetectable++
	case unchanged:
		c.undetectable++
	case w.Validators == "" || !wrong && w.Validators == "modified" && v.at.Truncate(time.Second).After(have.at.Truncate(time.Second)):
		w.fail("stale", "%v, although validators distinguish the versions", err)
	default:
		c.unverifiable++
	}
}

// isServed reports whether a copy may still have text, the content of a resource that no current set lists.
//
// It may if a current set has deleted the resource, a set that has vanished still has it, and the order and the times of
// its changes in the current set contradict each other. The documents would be the same if the clock had been set back
// before the current set created the resource again. So the Destination requests the resource, and the Source answers
// with its content. No Destination can know better. An entry with the hash of an earlier version proves nothing, because
// a Source can serve a change before it lists it.
func (w *World) isServed(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, _, _ := strings.Cut(text, " ")
	r := w.truth[name]
	if r == nil || w.isListed(r) || text != string(r.content()) || !w.listsChanges() || w.Changes == "bare" {
		return false
	}
	for set := range w.sets() {
		if w.place(set, len(w.log)) >= 0 && w.contradicts(name, set) {
			return true
		}
	}
	return false
}

// contradicts reports whether the order and the times of the changes of a resource in a set contradict each other: its
// last change is not listed as the last one, or has an earlier time than another one. The caller holds the lock.
func (w *World) contradicts(name string, set int) bool {
	var last, newest time.Time
	changes := 0
	for _, e := range w.log {
		if e.name == name && e.set == set {
			last = e.at.Truncate(w.tick())
			newest = latest(newest, last)
			changes++
		}
	}
	return last.Before(newest) || w.Order != "" && changes > 1
}

// hasChange reports whether a Change List of a foreign Source still has the change that made a version.
// The caller holds the lock.
func (w *World) hasChange(v *version) bool {
	if !w.listsChanges() {
		return false
	}
	for set := range w.sets() {
		for _, l := range (&foreign{w}).changeLists(set, len(w.log)) {
			if slices.ContainsFunc(l.changes, func(e entry) bool { return e.name == v.name && e.n == v.n }) {
				return true
			}
		}
	}
	return false
}

// hasLastMod reports whether the entries of resources have a lastmod.
func (w *World) hasLastMod() bool { return w.LastMod != "none" }

// marked reports whether documents have a time for each version.
func (w *World) marked() bool { return w.hasLastMod() || w.listsChanges() && w.Changes == "" }

// listsChanges reports whether the Source publishes changes.
func (w *World) listsChanges() bool {
	return w.Lists != "none" && !w.NoLists || w.hasDumps("changes") && w.UseDumps
}

// dumpsDecide reports whether dumps define the resources of the Source, because there are no
// lists.
func (w *World) dumpsDecide() bool {
	return w.NoLists || w.Lists == "none" && w.hasDumps("changes")
}

// mark returns the time that documents have for a version.
func (w *World) mark(v *version) time.Time {
	if w.hasLastMod() {
		return v.lastmod
	}
	return v.at
}

// version returns the version of a resource with a content. The caller holds the lock.
func (w *World) version(name, text string) (v version, ok bool) {
	for _, e := range w.log {
		if e.name == name && e.verb != "deleted" && string(e.content()) == text {
			return e.version, true
		}
	}
	return v, false
}

// documentsUnchanged reports whether all documents of a foreign Source are the same as when the Destination last
// requested a version, and whenever it has read them since. The caller holds the lock.
func (w *World) documentsUnchanged(v version) bool {
	var requested time.Time
	documents := make(map[string]string)
	f := &foreign{w}
	for _, r := range w.requests {
		if r.name == v.name && r.version == v.n && !r.faulty {
			requested = r.when
		}
		if strings.HasSuffix(r.name, ".xml") {
			documents[r.name], _ = f.document(r.name, time.Now())
		}
	}
	if w.Source != "" || w.Dumps != "" || requested.IsZero() {
		return false
	}
	for name, text := range documents {
		if then, _ := f.document(name, requested); then != text {
			return false
		}
	}
	return !slices.ContainsFunc(w.requests, func(r *request) bool {
		then, _ := f.document(r.name, r.when)
		return documents[r.name] != "" && r.when.After(requested) && then != documents[r.name]
	})
}

// fetched returns the time, by the Source's clock, at which the Destination last received a
// version or an answer that the version is current, and whether that answer was wrong. The caller
// holds the lock.
func (w *World) fetched(v version) (at time.Time, wrong bool) {
	for _, r := range w.requests {
		whole := r.received && (r.status == http.StatusOK || r.status == http.StatusPartialContent)
		switch {
		case r.faulty:
		case whole && w.Dumps != "" && w.inPackage(r.name, v):
			at, wrong = r.at.Add(-w.DumpLag), false
		case r.name != v.name:
		case whole && r.version == v.n:
			at, wrong = r.at, false
		case r.status == http.StatusNotModified:
			at, wrong = r.at, r.version != v.n
		}
	}
	return at, wrong
}
