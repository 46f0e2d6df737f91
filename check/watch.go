package check

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Resource List is the state at its time. Changes after it are in the Change Lists, so a resource
// is compared with its last entry there. Change Lists are read after the Resource List: a set
// watches the resources whose last entries it needs.

// maxDoubts is the maximum number of resources of a set that differ from the Resource List, and
// are compared with the Change Lists, too.
const maxDoubts = 10_000

// A watch is a resource whose last entry in the Change Lists is needed.
type watch struct {
	want  content
	fault *fault // what is wrong with it, if it has been requested

	change resourcesync.ChangeType // the last one since the list, or ""
	later  content                 // of that change
}

// watchSample watches the resources that were chosen at random. The Resource Lists have been read.
func (st *set) watchSample() {
	if st.frozen {
		return
	}
	st.frozen = true
	for _, want := range st.sample.all() {
		st.watched[want.URI] = &watch{want: want}
	}
}

// doubt watches a resource that differs from the Resource List.
func (st *set) doubt(w *content, f *fault) error {
	st.doubts.Lock()
	defer st.doubts.Unlock()
	if len(st.watched) >= maxDoubts {
		st.skip("%s and further resources differ from the Resource List, and were not compared with the Change Lists: there are more than %d", w.URI, maxDoubts)
		return nil
	}
	st.watched[w.URI] = &watch{want: *w, fault: f}
	return nil
}

// watch notes the change of a resource that is watched.
func (st *set) watch(d *document, e *rsxml.Entry, at place) {
	st.watchSample()
	w := st.watched[e.Loc]
	if w == nil {
		return
	}
	t, limit := e.Metadata.Datetime, w.want.Listed
	if limit.IsZero() {
		limit = st.at
	}
	if t.IsZero() {
		t = d.head.Metadata.Until // it may be as late as that, or later
		if t.IsZero() {
			t = limit
		}
	}
	if !t.Before(limit) {
		w.change, w.later = e.Metadata.Change, contentOf(e, at)
	}
}

// settle requests the resources that are watched, unless they have been requested, and compares
// them with their last entries.
func (st *set) settle(ctx context.Context) error {
	st.watchSample()
	watched := st.watched
	st.watched = make(map[string]*watch)
	var wants []content
	for _, w := range watched {
		switch {
		case w.change == resourcesync.Deleted: // a Destination deletes it
		case w.change != "":
			wants = append(wants, w.later)
		case w.fault == nil:
			wants = append(wants, w.want)
		default:
			if err := st.addUnlessChanged(ctx, &w.want, w.fault); err != nil {
				return err
			}
		}
	}
	return st.request(ctx, wants, func(w *content, f *fault) error { return st.addUnlessChanged(ctx, w, f) })
}
