package rshttp

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// leftOut gathers the entries or the fields that one document cannot express.
type leftOut struct {
	n      int
	key    string
	uri    string
	reason error
}

// add adds the entry of r.
func (l *leftOut) add(r *resourcesync.Resource, reason error) {
	if l.n++; l.n == 1 {
		l.key, l.uri, l.reason = r.Key, r.URI, reason
	}
}

// addFields adds n fields of e.
func (l *leftOut) addFields(n int, h *rsxml.Head, e *rsxml.Entry) {
	if l.n += n; l.reason == nil {
		l.uri, l.reason = e.Loc, rsxml.CheckEntry(h, e)
	}
}

// report counts the entries and the fields that a document of st does not have,
// and logs the first of each.
func (s *Source) report(st *set, entries, fields leftOut) {
	if entries.n > 0 {
		s.counters.leftOut.Add(uint64(entries.n))
		entries.log(s, st, "resources are left out: their URIs cannot be written into a document")
	}
	if fields.n > 0 {
		s.counters.dropped.Add(uint64(fields.n))
		fields.log(s, st, "fields are left out of entries: a document cannot hold their values")
	}
}

// log logs the omitted entries or fields, unless they have been logged before: a
// broken set must not flood the log whenever one of its documents is made.
func (l *leftOut) log(s *Source, st *set, msg string) {
	if !st.reported.first(fmt.Sprint(msg, l.uri, l.reason)) {
		return
	}
	first := []any{slog.String("uri", l.uri), slog.Any("reason", l.reason)}
	if l.key != "" {
		first = append(first, slog.String("key", l.key))
	}
	s.log.LogAttrs(context.Background(), slog.LevelWarn, msg,
		slog.String("set", st.name), slog.Int("count", l.n), slog.Group("first", first...))
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
