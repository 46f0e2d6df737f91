package document

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/render"
)

// report counts the entries and the fields that the document b of st omits, and logs the
// first of each. A page reports nothing: its document does.
func (st *Set) report(b *render.Body, entries render.Omitted) {
	if b.Window != nil {
		return
	}
	fields := b.Fields
	if entries.N > 0 {
		st.LeftOut.Add(uint64(entries.N))
		st.logOmitted(&entries, "resources are omitted: a document cannot hold their URIs")
	}
	if fields.N > 0 {
		st.Dropped.Add(uint64(fields.N))
		st.logOmitted(&fields, "fields of entries are omitted: a document cannot hold their values")
	}
}

// logOmitted logs the omissions of a document, unless they have been logged before: a broken
// set must not fill the log each time that one of its documents is rendered.
func (st *Set) logOmitted(omitted *render.Omitted, msg string) {
	first := omitted.First()
	if st.reported.first(fmt.Sprint(msg, first)) {
		st.Log.LogAttrs(context.Background(), slog.LevelWarn, msg, slog.String("set", st.Name), slog.Int("count", omitted.N), first)
	}
}

// maxReported is the maximum number of different messages about a set in the log. Further
// ones are only counted.
const maxReported = 100

// reported has the digests of the messages that have been logged.
type reported struct {
	mu   sync.Mutex
	seen map[uint64]bool
}

var reportedSeed = maphash.MakeSeed()

// first reports whether to log the message: whether it is new and maxReported is not
// reached.
func (r *reported) first(message string) bool {
	sum := maphash.String(reportedSeed, message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen[sum] || len(r.seen) == maxReported {
		return false
	}
	if r.seen == nil {
		r.seen = make(map[uint64]bool)
	}
	r.seen[sum] = true
	return true
}
