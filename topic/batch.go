package topic

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A batch is a Change Notification in the making: the changes of a journal since
// where the notification before it ends.
type batch struct {
	head rsxml.Head // anything that makes entries be written in full
	max  int        // entries
	room int        // bytes of entries

	from time.Time // the notification has the changes after it
	seen time.Time // the journal has been read up to here, this included

	last    time.Time // the newest change read; zero if none
	count   int       // entries
	entries []byte
	builder entries.Builder

	// What was left out until this time has been reported.
	reported time.Time
}

func newBatch(capabilityList string, max int) *batch {
	return &batch{head: changeHead(capabilityList, resourcesync.Interval{}), max: max, room: roomFor(capabilityList)}
}

// begin empties b. The next notification begins at from, and the journal is read
// on after it.
func (b *batch) begin(from time.Time) {
	b.from, b.seen, b.last = from, from, time.Time{}
	b.count = 0
	if b.entries = b.entries[:0]; cap(b.entries) > 2*maxBody {
		b.entries = nil
	}
}

// add appends the next change, or returns false if b is full. Then c is the first
// that the next notification tells, and b is complete.
func (b *batch) add(c *resourcesync.Change, left *leftOut) (ok bool, err error) {
	if c.Type != resourcesync.Created && c.Type != resourcesync.Updated && c.Type != resourcesync.Deleted || c.Datetime.IsZero() {
		return false, fmt.Errorf("the journal broke its contract: a change of %q of type %q at %v", c.Resource.Key, c.Type, c.Datetime)
	}
	if !c.Datetime.After(b.seen) || c.Datetime.Before(b.last) {
		return false, fmt.Errorf("the journal broke its contract: a change at %v after %v, asked for those after %v", c.Datetime, b.last, b.seen)
	}
	// Changes of the same datetime stay together: no interval could separate
	// them.
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
		return false, fmt.Errorf("more changes have the datetime %v than a document can tell: give the changes of a journal datetimes of their own", c.Datetime)
	}
	if dropped > 0 && c.Datetime.After(b.reported) {
		left.addFields(dropped, &b.head, e)
	}
	b.last = c.Datetime
	return true, nil
}

// A mark is how far a batch was.
type mark struct {
	seen, last     time.Time
	count, entries int
}

func (b *batch) mark() mark { return mark{b.seen, b.last, b.count, len(b.entries)} }

// back takes out of b what has come since m.
func (b *batch) back(m mark) {
	b.seen, b.last, b.count, b.entries = m.seen, m.last, m.count, b.entries[:m.entries]
}

// body returns the notification: the changes after b.from, up to b.seen.
func (b *batch) body(capabilityList string) []byte {
	h := changeHead(capabilityList, resourcesync.Interval{From: b.from, Until: b.seen})
	return document(&h, b.entries)
}
