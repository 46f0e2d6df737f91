package topic

import (
	"context"
	"log/slog"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// leftOut gathers the entries that a notification omits because their URIs cannot be
// written, and the omitted fields of the others.
type leftOut struct{ entries, fields tally }

// A tally counts, and remembers the first.
type tally struct {
	n      int
	first  string // URI
	reason error
}

func (t *tally) add(n int, uri string, reason error) {
	if t.n == 0 {
		t.first, t.reason = uri, reason
	}
	t.n += n
}

func (l *leftOut) addFields(n int, h *rsxml.Head, e *rsxml.Entry) {
	var reason error
	if l.fields.n == 0 {
		reason = rsxml.CheckEntry(h, e)
	}
	l.fields.add(n, e.Loc, reason)
}

func (l *leftOut) any() bool { return l.entries.n > 0 || l.fields.n > 0 }

// report counts and logs the omissions from notifications of what, with a line for
// entries and one for fields.
func (p *Publisher) report(log *slog.Logger, what string, l *leftOut) {
	p.counters.leftOut.Add(uint64(l.entries.n))
	p.counters.dropped.Add(uint64(l.fields.n))
	l.entries.log(log, what+" are not notified: their URIs cannot be written into a document")
	l.fields.log(log, what+" are notified without some of their fields: a document cannot hold the values")
}

func (t *tally) log(log *slog.Logger, msg string) {
	if t.n > 0 {
		log.LogAttrs(context.Background(), slog.LevelWarn, msg,
			slog.Int("count", t.n), slog.Group("first", slog.String("uri", t.first), slog.Any("reason", t.reason)))
	}
}
