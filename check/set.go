package check

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A set compares the lists of a set of resources, and collects resources to request. A nil
// *set ignores everything.
type set struct {
	*checker
	tracked  *tracker
	sample   *sample[content]
	versions *sample[content] // earlier states of resources
	dump     dumped
	spool    *spool // the contents of a document, if all are requested
	watched  map[string]*watch
	frozen   bool       // the sample is complete
	doubts   sync.Mutex // of watched, while resources are requested

	listed int64     // resources in Resource Lists
	at     time.Time // of the Resource List, or of its index
	from   time.Time // of the Change List, or of its index
	fromAt place

	incomplete bool // some lists could not be read
}

// A resource is the metadata of a resource in the lists.
type resource struct {
	listed   bool
	listedAt time.Time // at of the list that has it
	place    place     // of its entry in the list
	sum      uint64    // of its metadata in the list
	modified int64     // lastmod in the list, in Unix time, or 0
	packed   bool      // a package of the Resource Dump has it

	// later reports whether there are changes at the time of the list or after it, and last is
	// the last one before the list, if there is one.
	later bool
	last  *lastChange
}

// A lastChange is the last change of a resource before a list.
type lastChange struct {
	change resourcesync.ChangeType
	time   time.Time
	place  place
}

func newSet(c *checker) *set {
	n := c.options.Sample
	if c.options.All {
		n = 0
	}
	return &set{checker: c, tracked: newTracker(maxTracked), sample: newSample[content](n), versions: newSample[content](n), watched: make(map[string]*watch)}
}

// entry receives an entry of a document.
func (st *set) entry(d *document, e *rsxml.Entry, at place) {
	if st == nil || d.head.Index || d.isPart(e) {
		return
	}
	switch d.capability {
	case resourcesync.ResourceList, "":
		st.list(d, e, at)
	case resourcesync.ChangeList:
		st.change(d, e, at)
	default:
		return
	}
	for i := range e.Links {
		if l := &e.Links[i]; l.Rel == resourcesync.RelMemento {
			st.version(l, at)
		}
	}
}

// version receives a link to an earlier state of a resource.
func (st *set) version(l *resourcesync.Link, at place) {
	want := content{URI: l.Href, Length: -1, Version: true, Document: at.document, Line: at.line, Column: at.column, Entry: at.entry}
	if st.options.All {
		st.spool = st.spool.add(st.checker, want)
	} else {
		st.versions.add(l.Href, want)
	}
}

// list receives an entry of a Resource List.
func (st *set) list(d *document, e *rsxml.Entry, at place) {
	st.listed++
	switch {
	case st.options.All:
		st.spool = st.spool.add(st.checker, listed(d, e, at))
	case st.sample.wants(e.Loc):
		st.sample.add(e.Loc, listed(d, e, at))
	}
	r := st.tracked.of(e.Loc)
	if r == nil {
		return
	}
	sum := metadataSum(e)
	switch {
	case r.listed && r.sum != sum:
		st.add("resource-conflict", at, "", "%s is also in line %d of %s, with other metadata", e.Loc, r.place.line, r.place.document)
	case r.listed:
		st.add("resource-repeated", at, "", "%s is also in line %d of %s", e.Loc, r.place.line, r.place.document)
	default:
		r.listed, r.listedAt, r.place, r.sum = true, d.head.Metadata.At, at, sum
		if !e.LastMod.IsZero() {
			r.modified = e.LastMod.Unix()
		}
	}
}

// metadataSum returns a hash of the metadata in an entry about the state of a resource.
func metadataSum(e *rsxml.Entry) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	length, _ := e.Metadata.Length.Bytes()
	maphash.WriteComparable(&h, e.LastMod.UnixNano())
	maphash.WriteComparable(&h, length)
	h.WriteString(e.Metadata.Type)
	for i := range e.Metadata.Hashes {
		h.WriteString(e.Metadata.Hashes[i].Algorithm)
		h.WriteString(e.Metadata.Hashes[i].Digest)
	}
	return h.Sum64()
}

// change receives an entry of a Change List. The Resource List has been read before.
func (st *set) change(d *document, e *rsxml.Entry, at place) {
	st.watch(d, e, at)
	t := e.Metadata.Datetime
	if t.IsZero() || st.at.IsZero() {
		return
	}
	r := st.tracked.of(e.Loc)
	if r == nil {
		return
	}
	limit := st.at
	if r.listed && r.listedAt.After(limit) {
		limit = r.listedAt
	}
	switch {
	case !t.Before(limit):
		r.later = true
	case r.last == nil || !t.Before(r.last.time):
		r.last = &lastChange{e.Metadata.Change, t, at}
	}
}

// document is called at the end of a document, after its entries.
func (st *set) document(ctx context.Context, d *document, x expectation) error {
	if st == nil {
		return nil
	}
	m := &d.head.Metadata
	switch {
	case x.nested || x.paged: // the index, or the first page, has its time
	case d.capability == resourcesync.ResourceList:
		st.at = m.At
	case d.capability == resourcesync.ChangeList:
		st.from, st.fromAt = m.From, d.place
	}
	spool := st.spool
	st.spool = nil
	return st.requestAll(ctx, spool)
}

// missed notes that a document could not be read completely.
func (st *set) missed() {
	if st != nil {
		st.incomplete = true
	}
}

// finish compares the lists, and requests a sample of the resources.
func (st *set) finish(ctx context.Context) error {
	if !st.incomplete {
		st.compare()
	}
	if err := st.settle(ctx); err != nil {
		return err
	}
	return st.request(ctx, st.versions.all(), st.doubt)
}

// compare compares the Resource Lists with the Change Lists.
func (st *set) compare() {
	if st.listed > 0 && !st.at.IsZero() && st.from.After(st.at) {
		st.add("changes-gap", st.fromAt, "", "from is %s, but the at of the Resource List is %s: changes between these times are in no list",
			st.from.Format(time.RFC3339Nano), st.at.Format(time.RFC3339Nano))
	}
	for _, r := range st.tracked.known {
		last := r.last
		switch {
		case r.later || last == nil || last.change == "" || st.at.IsZero():
		case r.listed && last.change == resourcesync.Deleted:
			st.add("list-contradicts-changes", r.place, "", "the resource is listed, but line %d of %s says that it was deleted at %s, before the at of the list",
				last.place.line, last.place.document, last.time.Format(time.RFC3339Nano))
		case !r.listed && last.change != resourcesync.Deleted:
			st.add("list-contradicts-changes", last.place, "", "the resource was %s at %s, before the at of the Resource List, which does not list it",
				last.change, last.time.Format(time.RFC3339Nano))
		}
	}
}
