package publisher

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/rsxml"
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
	return &batch{head: changeHead(capabilityList, resourcesync.Interval{}), max: max, room: roomFor(capabilityList)}
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
		return false, fmt.Errorf("the journal broke its contract: a change of %q of type %q at %v", c.Resource.Key, c.Type, c.Datetime)
	}
	if !c.Datetime.After(b.seen) || c.Datetime.Before(b.last) {
		return false, fmt.Errorf("the journal broke its contract: a change at %v after %v, in response to a request for changes after %v", c.Datetime, b.last, b.seen)
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

// A mark is a state of a batch to which it can be rewound.
type mark struct {
	seen, last     time.Time
	count, entries int
}

func (b *batch) mark() mark { return mark{b.seen, b.last, b.count, len(b.entries)} }

// rewind removes the changes added since m.
func (b *batch) rewind(m mark) {
	b.seen, b.last, b.count, b.entries = m.seen, m.last, m.count, b.entries[:m.entries]
}

// body returns the notification: the changes after b.from, up to b.seen.
func (b *batch) body(capabilityList string) []byte {
	h := changeHead(capabilityList, resourcesync.Interval{From: b.from, Until: b.seen})
	return document(&h, b.entries)
}
