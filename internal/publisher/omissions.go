package publisher

import (
	"context"
	"log/slog"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

// omissions collects the entries that a notification omits because of invalid URIs, and the
// omitted fields of the others.
type omissions struct{ entries, fields tally }

// A tally counts omissions and keeps the first.
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

func (l *omissions) addFields(n int, h *rsxml.Head, e *rsxml.Entry) {
	var reason error
	if l.fields.n == 0 {
		reason = rsxml.CheckEntry(h, e)
	}
	l.fields.add(n, e.Loc, reason)
}

func (l *omissions) any() bool { return l.entries.n > 0 || l.fields.n > 0 }

// report counts and logs omissions from notifications, with a line for entries and one for
// fields. what names the entries.
func (p *Publisher) report(log *slog.Logger, what string, l *omissions) {
	p.counters.leftOut.Add(uint64(l.entries.n))
	p.counters.dropped.Add(uint64(l.fields.n))
	l.entries.log(log, what+" are not published: a document cannot hold their URIs")
	l.fields.log(log, what+" are published without some of their fields: a document cannot hold the values")
}

func (t *tally) log(log *slog.Logger, msg string) {
	if t.n > 0 {
		log.LogAttrs(context.Background(), slog.LevelWarn, msg,
			slog.Int("count", t.n), slog.Group("first", slog.String("uri", t.first), slog.Any("reason", t.reason)))
	}
}
