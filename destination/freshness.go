package destination

import (
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A freshness shows whether a cache has sent the Resource Lists of a set from before its changes
// began. Then the changes in between may be in no document that a run has read.
type freshness struct {
	// lists is the time of the oldest answer with a Resource List, in the last reading, and part
	// the time of the oldest part which is older than its index. Both are zero if there is none.
	lists, part time.Time

	begun map[string]beginning // the latest of each list of changes

	// outdated is set if resources that the Resource Lists lack were requested after the lists
	// were answered.
	outdated bool

	stale bool // a cache has sent the Resource Lists
}

// A beginning is the time since when a list has changes.
type beginning struct {
	from time.Time // as the list states it

	// by is the time by which the changes had begun: the end of the unit in which from is written,
	// or the time of the first response that had it.
	by time.Time
}

func (r *run) freshnessOf(set string) *freshness {
	f := r.freshness[set]
	if f == nil {
		f = &freshness{begun: make(map[string]beginning)}
		r.freshness[set] = f
	}
	return f
}

// forget begins another reading of the Resource Lists.
func (f *freshness) forget() { f.lists, f.part, f.outdated = time.Time{}, time.Time{}, false }

// list records an answer with a Resource List or one of its parts.
func (f *freshness) list(p *page) {
	date := fetch.Date(p.Header)
	switch {
	case p.top:
		f.lists = earliest(f.lists, date)
	case date.Before(f.lists):
		f.part = earliest(f.part, date)
	}
}

// changes records that a list has changes since from, if its last page is p.
func (f *freshness) changes(p *page, from time.Time) {
	b := beginning{from, earliest(from.Add(state.Precision(from)), fetch.Date(p.Header))}
	known, ok := f.begun[p.uri]
	if !ok || from.After(known.from) || from.Equal(known.from) && b.by.Before(known.by) {
		f.begun[p.uri] = b
	}
}

// judge sets stale.
func (f *freshness) judge() {
	f.stale = f.outdated
	for _, b := range f.begun {
		by := b.by.Truncate(time.Second) // answers have seconds
		f.stale = f.stale || !f.lists.IsZero() && f.lists.Before(by) || !f.part.IsZero() && f.part.Before(by)
	}
}

// earliest returns the earlier of two times. A zero a is not a time.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
