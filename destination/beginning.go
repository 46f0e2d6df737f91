package destination

import (
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
)

// A beginning is the time since when a document has changes.
type beginning struct {
	from time.Time // as the document states it

	// by is when the changes had begun: when the unit in which from is written was over, or at the
	// time of the first answer that had it.
	by time.Time
}

// recordBeginning records when the changes of a list begin whose last page is p.
func (c *changeReader) recordBeginning(p *page) {
	b := beginning{c.earliest, c.earliest.Add(state.Precision(c.earliest))}
	c.st.Began = b.from
	if date := fetch.Date(p.Header); b.by.After(date) {
		c.st.Began, b.by = time.Time{}, date
	}
	lists := c.begun[c.set.URI]
	if lists == nil {
		lists = make(map[string]beginning)
		c.begun[c.set.URI] = lists
	}
	if known := lists[p.uri]; known.from.Equal(b.from) && known.by.Before(b.by) {
		return
	}
	lists[p.uri] = b
}

// listsAreStale reports whether the Resource Lists of a set have been answered before its changes
// began, as far as the times of the answers show. A cache has sent them then, and the changes in
// between may be in no document that was read.
func (r *run) listsAreStale(set string) bool {
	oldest, ok := r.oldest[set]
	for _, b := range r.begun[set] {
		if ok && oldest.Before(b.by.Truncate(time.Second)) {
			return true
		}
	}
	return false
}
