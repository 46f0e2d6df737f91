package publisher

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A batch is an unfinished Change Notification: the changes of a journal after the end of
// the previous notification.
type batch struct {
	head rsxml.Head // selects the format of entries
	max  int        // maximum number of entries
	room int        // maximum size of entries, in bytes

	from time.Time // the notification has the changes after this time
	seen time.Time // the journal has been read up to and including this time

	last    time.Time // the newest change read; zero if none
	count   int       // entries
	entries []byte
	builder entries.Builder

	// Omissions up to this time have been reported.
	reported time.Time
}

func newBatch(capabilityList string, max int) *batch {
	return &batch{head: head(resourcesync.ChangeNotification, capabilityList, resourcesync.Interval{}), max: max, room: roomFor(capabilityList)}
}

// begin empties b. The next notification begins at from, and the journal is read after
// from.
func (b *batch) begin(from time.Time) {
	b.from, b.seen, b.last = from, from, time.Time{}
	b.count = 0
	if b.entries = b.entries[:0]; cap(b.entries) > 2*maxBody {
		b.entries = nil
	}
}

// add appends the next change. If b is full, it returns false: b is then complete, and c is
// the first change of the next notification.
func (b *batch) add(c *resourcesync.Change, left *omissions) (ok bool, err error) {
	if c.Type != resourcesync.Created && c.Type != resourcesync.Updated && c.Type != resourcesync.Deleted || c.Datetime.IsZero() {
		return false, fmt.Errorf("the journal broke its contract: an invalid change: key %q, type %q, datetime %v", c.Resource.Key, c.Type, c.Datetime)
	}
	if !c.Datetime.After(b.seen) || c.Datetime.Before(b.last) {
		return false, fmt.Errorf("the journal broke its contract: a change at %v after one at %v, in response to a request for changes after %v", c.Datetime, b.last, b.seen)
	}
	// Changes with the same datetime stay together: no interval can separate them.
	separable := b.count > 0 && c.Datetime.After(b.last)
	if separable && b.count >= b.max {
		b.seen = b.last
		return false, nil
	}
	if err := rsxml.CheckURI(c.Resource.URI); err != nil {
		if c.Datetime.After(b.reported) {
			left.entries.add(1, c.Resource.URI, err)
		}
		b.last = c.Datetime
		return true, nil
	}
	e := b.builder.Change(c)
	before := len(b.entries)
	var dropped int
	b.entries, dropped = rsxml.AppendEntry(b.entries, &b.head, e)
	if separable && len(b.entries) > b.room {
		b.entries = b.entries[:before]
		b.seen = b.last
		return false, nil
	}
	if b.count++; b.count > rsxml.MaxEntries || len(b.entries) > rsxml.MaxBytes-maxBody {
		return false, fmt.Errorf("more changes have the datetime %v than a document can hold: the changes of a journal need distinct datetimes", c.Datetime)
	}
	if dropped > 0 && c.Datetime.After(b.reported) {
		left.addFields(dropped, &b.head, e)
	}
	b.last = c.Datetime
	return true, nil
}

// body returns the notification: the changes after b.from, up to b.seen.
func (b *batch) body(capabilityList string) []byte {
	h := head(resourcesync.ChangeNotification, capabilityList, resourcesync.Interval{From: b.from, Until: b.seen})
	return document(&h, b.entries)
}

// maxBody is the maximum size of a notification, in bytes, unless a single change is
// larger. Hubs accept that much.
const maxBody = 1 << 20

// head returns the head of a notification (Change Notification 3, Framework Notification 3).
func head(c resourcesync.Capability, up string, iv resourcesync.Interval) rsxml.Head {
	h := rsxml.Head{Metadata: rsxml.Metadata{Capability: c, From: iv.From, Until: iv.Until}}
	if up != "" {
		h.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: up}}
	}
	return h
}

// document returns the document of h with the encoded entries, in a new slice without spare
// capacity.
func document(h *rsxml.Head, entries []byte) []byte {
	var scratch [1024]byte
	before := rsxml.AppendHead(scratch[:0], h)
	b := make([]byte, 0, len(before)+len(entries)+len(tail))
	b = append(b, before...)
	b = append(b, entries...)
	return rsxml.AppendTail(b, h)
}

var tail = rsxml.AppendTail(nil, new(rsxml.Head))

// roomFor returns the maximum size of the entries of a Change Notification, in bytes, so
// that it does not exceed maxBody with times of any length.
func roomFor(capabilityList string) int {
	longest := time.Date(2000, 1, 1, 0, 0, 0, 123456789, time.UTC)
	h := head(resourcesync.ChangeNotification, capabilityList, resourcesync.Interval{From: longest, Until: longest})
	return maxBody - len(rsxml.AppendHead(nil, &h)) - len(tail)
}

// frameworkDocument returns the document of u, or false if it has no entry. It omits entries
// with invalid URIs.
func frameworkDocument(u *Update, left *omissions) (_ []byte, ok bool) {
	h := head(resourcesync.FrameworkNotification, u.Up, resourcesync.Interval{})
	var entries []byte
	for i := range u.Entries {
		e := &u.Entries[i]
		if err := rsxml.CheckURI(e.Loc); err != nil {
			left.entries.add(1, e.Loc, err)
			continue
		}
		var dropped int
		if entries, dropped = rsxml.AppendEntry(entries, &h, e); dropped > 0 {
			left.addFields(dropped, &h, e)
		}
	}
	return document(&h, entries), len(entries) > 0
}

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

// omit counts and logs omissions from notifications, with a line for entries and one for
// fields. what names the entries.
func (p *Publisher) omit(log *slog.Logger, what string, l *omissions) {
	p.totals.Count(func(c *topic.Counters) {
		c.LeftOut += uint64(l.entries.n)
		c.Dropped += uint64(l.fields.n)
	})
	l.entries.log(log, what+" are not published: a document cannot hold their URIs")
	l.fields.log(log, what+" are published without some of their fields: a document cannot hold the values")
}

func (t *tally) log(log *slog.Logger, msg string) {
	if t.n > 0 {
		log.LogAttrs(context.Background(), slog.LevelWarn, msg,
			slog.Int("count", t.n), slog.Group("first", slog.String("uri", t.first), slog.Any("reason", t.reason)))
	}
}
