// Package changes holds the rules by which a set changes: which events a write adds
// to the journal, when, and what the set holds afterwards. Stores differ only in how
// they keep resources, so they share these rules.
//
// A store loads the items of the edited keys into a [Batch], applies the edits, and
// saves the items and events that result.
package changes

import (
	"maps"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Kinds of edits besides the types of change that a host records.
const (
	// Upsert states the new state of a resource, not what happened to it. It changes nothing
	// if the set has an equal entry.
	Upsert resourcesync.ChangeType = "upsert"

	// Withdraw removes a resource from the set and journals nothing. Release
	// journals the deletion of a resource that is still withdrawn. Together they
	// are a deletion.
	Withdraw resourcesync.ChangeType = "withdraw"
	Release  resourcesync.ChangeType = "release"
)

// An Edit is a change as a writer requests it.
type Edit struct {
	Type resourcesync.ChangeType // one of the constants above, or of resourcesync
	Key  string

	// Resource is the new state of the resource. For a deletion it is what the
	// host recorded, or nil.
	Resource *resourcesync.Resource

	// AsOf, if not 0, is the time of the listing that the edit comes from: an item that has
	// changed since stays unchanged.
	AsOf int64
}

// Edits returns an edit of this type for each key.
func Edits(change resourcesync.ChangeType, keys []string) []Edit {
	edits := make([]Edit, len(keys))
	for i, key := range keys {
		edits[i] = Edit{Type: change, Key: key}
	}
	return edits
}

// An Item is the state of a key in a set. The zero value describes an unknown key.
type Item struct {
	Newest    int64                  // time of the newest change of the key; 0 if unknown
	Live      *resourcesync.Resource // nil if the set does not list the key
	Withdrawn *resourcesync.Resource // withdrawn, its deletion not journalled yet
	Changed   bool                   // by the batch: the store must save it
}

// An Event is a change in the journal.
type Event struct {
	At       int64
	Type     resourcesync.ChangeType
	Resource *resourcesync.Resource
}

// Change returns the change as readers see it.
func (e *Event) Change() resourcesync.Change {
	return resourcesync.Change{Type: e.Type, Datetime: time.UnixMicro(e.At).UTC(), Resource: *e.Resource}
}

// Counts are the numbers of resources that edits have created, updated, deleted, and left
// unchanged.
type Counts struct{ Created, Updated, Deleted, Unchanged int }

// AddTo adds the counts to the result of a scan.
func (c Counts) AddTo(r *resourcesync.ScanResult) {
	r.Created += c.Created
	r.Updated += c.Updated
	r.Deleted += c.Deleted
	r.Unchanged += c.Unchanged
}

// A Batch applies edits to one set. Times are microseconds since 1970; no two events
// of a set have the same.
type Batch struct {
	// Items has the item of each edited key. It is nil for a journal without
	// resources, which accepts every edit.
	Items map[string]*Item

	Ready bool             // false until the set's first scan: there is no journal yet
	Last  int64            // time of the set's newest change
	Count int64            // resources in the set
	Now   func() time.Time // time of day

	Events []Event
	Counts Counts

	edited int // how many of Events the edits made
}

// Tick returns the time of the change after the one at last: now, or the microsecond
// after last if that is later.
func Tick(last int64, now time.Time) int64 { return max(now.UnixMicro(), last+1) }

func (b *Batch) tick() int64 {
	b.Last = Tick(b.Last, b.Now())
	return b.Last
}

// Apply makes edits in order. [Batch.Vacated] and [Batch.Reannounce] come after it.
func (b *Batch) Apply(edits []Edit) {
	last := b.Last
	for i := range edits {
		e := &edits[i]
		r := e.Resource
		if r != nil {
			r = Recorded(r, last, b.Now)
		}
		switch it := b.Items[e.Key]; {
		case b.Items == nil:
			b.Events = append(b.Events, Event{b.tick(), e.Type, r})
		case e.AsOf != 0 && it.Newest > e.AsOf:
			if e.Type == Upsert {
				b.Counts.Unchanged++
			}
		case e.Type == Withdraw:
			b.withdraw(it)
		case e.Type == Release:
			b.release(e.Key, it)
		case e.Type == resourcesync.Deleted:
			b.delete(e.Key, it, r)
		default:
			b.put(it, r, e.Type == Upsert)
		}
	}
	b.edited = len(b.Events)
}

// Recorded returns r as a set records it: without a LastModified in the future, which
// cannot be true. last is the time of the newest change of the set. No time up to last is
// in the future, even if the clock has been set back. Recorded does not modify r.
func Recorded(r *resourcesync.Resource, last int64, now func() time.Time) *resourcesync.Resource {
	if !r.LastModified.After(time.UnixMicro(last)) || !r.LastModified.After(now()) {
		return r
	}
	known := *r
	known.LastModified = time.Time{}
	return &known
}

// put makes r the resource of its key. The state of the set determines the type of
// change. A recorded change is journalled even if the entry is equal: the host states
// that the resource has changed.
func (b *Batch) put(it *Item, r *resourcesync.Resource, upsert bool) {
	b.restore(it)
	was := it.Live
	switch {
	case was == nil:
		b.Counts.Created++
		b.Count++
		b.record(it, resourcesync.Created, r)
	case upsert && was.EqualEntry(*r):
		b.Counts.Unchanged++
		if was.Stamp != r.Stamp {
			it.Live, it.Changed = r, true
		}
		return
	case was.URI != r.URI:
		// Destinations know URIs, not keys: the old URI is deleted, the new one
		// is created.
		b.Counts.Updated++
		b.record(it, resourcesync.Deleted, tombstone(r.Key, was))
		b.record(it, resourcesync.Created, r)
	default:
		b.Counts.Updated++
		b.record(it, resourcesync.Updated, r)
	}
	it.Live = r
}

// delete removes the resource of a key. recorded is the resource that the host recorded
// with the deletion, or nil.
func (b *Batch) delete(key string, it *Item, recorded *resourcesync.Resource) {
	switch {
	case it.Withdrawn != nil:
		b.release(key, it)
	case it.Live != nil:
		if recorded == nil || recorded.URI == "" {
			recorded = tombstone(key, it.Live)
		}
		b.Counts.Deleted++
		b.Count--
		it.Live = nil
		b.record(it, resourcesync.Deleted, recorded)
	}
}

// withdraw removes a resource from the set and keeps it for its deletion.
func (b *Batch) withdraw(it *Item) {
	if it.Live != nil {
		b.Count--
		it.Live, it.Withdrawn = nil, it.Live
		it.Newest, it.Changed = b.tick(), true
	}
}

func (b *Batch) restore(it *Item) {
	if it.Withdrawn != nil {
		b.Count++
		it.Live, it.Withdrawn = it.Withdrawn, nil
		it.Newest, it.Changed = b.tick(), true
	}
}

func (b *Batch) release(key string, it *Item) {
	if it.Withdrawn != nil {
		b.Counts.Deleted++
		b.record(it, resourcesync.Deleted, tombstone(key, it.Withdrawn))
		it.Withdrawn = nil
	}
}

func tombstone(key string, r *resourcesync.Resource) *resourcesync.Resource {
	return &resourcesync.Resource{Key: key, URI: r.URI}
}

func (b *Batch) record(it *Item, change resourcesync.ChangeType, r *resourcesync.Resource) {
	it.Newest, it.Changed = b.tick(), true
	b.Events = append(b.Events, Event{it.Newest, change, r})
}

// Vacated returns the URIs that the events leave deleted, in order. Another resource
// may still have one of them: the store adds its item, and calls [Batch.Reannounce].
func (b *Batch) Vacated() []string {
	if b.Items == nil || !b.Ready {
		return nil
	}
	var vacated map[string]bool
	for i := range b.Events {
		e := &b.Events[i]
		switch {
		case e.Type != resourcesync.Deleted:
			delete(vacated, e.Resource.URI)
		case vacated == nil:
			vacated = map[string]bool{e.Resource.URI: true}
		default:
			vacated[e.Resource.URI] = true
		}
	}
	return slices.Sorted(maps.Keys(vacated))
}

// Reannounce repeats the Created event of resources that still have one of the
// vacated URIs: Destinations know URIs, not keys, and have just received its deletion. Of
// several resources at one URI, the first by key is announced.
func (b *Batch) Reannounce(vacated []string) {
	if len(vacated) == 0 {
		return
	}
	first := make(map[string]string, len(vacated)) // URI to key
	for key, it := range b.Items {
		if it.Live == nil {
			continue
		}
		if best, found := first[it.Live.URI]; !found || key < best {
			first[it.Live.URI] = key
		}
	}
	for _, uri := range vacated {
		if key, found := first[uri]; found {
			b.record(b.Items[key], resourcesync.Created, b.Items[key].Live)
		}
	}
}

// Reannounced returns the events that Reannounce added. They do not mean that their
// resources have changed.
func (b *Batch) Reannounced() []Event { return b.Events[b.edited:] }

// Changed returns the keys of the items to save, in order.
func (b *Batch) Changed() []string {
	var keys []string
	for key, it := range b.Items {
		if it.Changed {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
