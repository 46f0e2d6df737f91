package rshttp

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/render"
)

// report counts the entries and the fields that a document of st does not have,
// and logs the first of each.
func (s *Source) report(st *set, entries, fields render.Omitted) {
	if entries.N > 0 {
		s.counters.leftOut.Add(uint64(entries.N))
		s.logOmitted(st, &entries, "resources are left out: their URIs cannot be written into a document")
	}
	if fields.N > 0 {
		s.counters.dropped.Add(uint64(fields.N))
		s.logOmitted(st, &fields, "fields are left out of entries: a document cannot hold their values")
	}
}

// logOmitted logs what a document omits, unless it has been logged before: a broken
// set must not flood the log whenever one of its documents is rendered.
func (s *Source) logOmitted(st *set, omitted *render.Omitted, msg string) {
	first := omitted.First()
	if st.reported.first(fmt.Sprint(msg, first)) {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, msg, slog.String("set", st.name), slog.Int("count", omitted.N), first)
	}
}

// maxReported is the number of different messages about one set in the log. Later
// ones are only counted.
const maxReported = 100

// reported remembers which messages have been logged. The zero value is ready.
type reported struct {
	mu   sync.Mutex
	seen map[uint64]struct{}
}

var reportedSeed = maphash.MakeSeed()

// first reports whether the message is to be logged: whether it is new, and not
// one of too many.
func (r *reported) first(message string) bool {
	sum := maphash.String(reportedSeed, message)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.seen[sum]; ok || len(r.seen) == maxReported {
		return false
	}
	if r.seen == nil {
		r.seen = make(map[uint64]struct{})
	}
	r.seen[sum] = struct{}{}
	return true
}
