package destination

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A listReader stages the entries of a document with changes. It knows which of them are new, if
// it has been read before.
type listReader struct {
	*changeReader
	known, reading *state.Reading // the last one, or nil, and this one
	in             *state.Package
	from           time.Time
	limit          time.Time // times from then on are in the future
	age            state.Age // of entries, if the document has no reading
	late           bool      // it is a notification: entries can be older than what has been read

	newest    time.Time // of the times of changes
	estimated time.Time // of the lastmods of changes without times
	ahead     bool      // a time is after the limit, by less than a day
	unsaved   bool      // entries stay unknown, and have to be read again

	last                  time.Time // the time of the entry before
	ascending, descending bool      // the order that the times show
	buffer                []state.Staged
	buffered              map[string]bool // their URIs
	bytes                 int
	streaming             bool
	index                 bool // known at its end
}

// Entries are buffered until the order of the list is known: it is newest first if no entry is
// later than the one before it.
const (
	maxBuffered      = 4096
	maxBufferedBytes = 4 << 20
)

func (c *changeReader) newListReader(d *tree.Document, uri string, known *state.Reading, in *state.Package) *listReader {
	if c.audit && known != nil && d.Head.Metadata.From.After(known.Date) {
		known = nil // the list has begun again, and its entries can look like those before
	}
	l := &listReader{
		changeReader: c, known: known, in: in, from: d.Head.Metadata.From, limit: limit(d),
		reading:  &state.Reading{Set: c.set.URI, URI: uri, Date: fetch.Date(d.Header), Newest: d.Head.Metadata.From, Validators: d.Validators, Whole: true, Closed: c.isClosed(d, uri)},
		buffered: make(map[string]bool),
	}
	if until := latest(c.closed[uri], d.Head.Metadata.Until); c.audit && !until.IsZero() && until.Before(c.st.Cursor.Add(-2*state.MaxMargin)) {
		l.age = state.AgeKnown // the reading is forgotten
	}
	l.time(d.Head.Metadata.Until)
	if !c.st.Known {
		l.time(l.from)
	}
	return l
}

// limit returns the end of the second of an answer, or the present time if that is earlier. Times
// from then on are in the future, and move no cursor: the clock of the Source is wrong, or its
// times are local ones.
func limit(d *tree.Document) time.Time {
	limit := time.Now()
	if date := fetch.Date(d.Header).Add(time.Second); date.Before(limit) {
		return date
	}
	return limit
}

// time records a time of the list.
func (l *listReader) time(t time.Time) {
	switch {
	case t.IsZero():
	case t.Before(l.limit):
		l.newest = latest(l.newest, t)
	case t.Before(l.limit.Add(state.MaxMargin)):
		l.ahead = true
	}
}

// entry stages an entry, unless it has been read before.
func (l *listReader) entry(e *rsxml.Entry) error {
	p := state.Staged{Date: l.limit, Age: l.age}
	p.Set = l.set.URI
	p.Change = resourcesync.Change{Type: e.Metadata.Change, Datetime: e.Metadata.Datetime, Resource: resource(e)}
	c := &p.Change
	if c.Type == "" {
		c.Type = resourcesync.Updated
	}
	if l.time(c.Datetime); c.Datetime.Before(l.limit) {
		l.reading.Newest = latest(l.reading.Newest, c.Datetime)
	}
	l.order(e)
	print := state.Print(c)
	known := l.known != nil && l.known.Has(print)
	outdated := !known && c.Datetime.IsZero() && l.stale() // the list may have begun again since
	switch {
	case known:
		p.Age = state.AgeKnown
	case l.known != nil && l.known.Whole && !outdated:
		p.Age = state.AgeNew
	}
	if l.unsaved = l.unsaved || outdated; !outdated {
		l.reading.Add(print)
	}
	if p.Age == state.AgeUnknown && l.known == nil {
		if isNew, err := l.isNew(c.Datetime, print); err != nil {
			return err
		} else if isNew {
			p.Age = state.AgeNew
		}
	}
	old := !c.Datetime.IsZero() && c.Datetime.Before(l.cutoff)
	switch {
	case l.audit && old:
		return nil
	case l.audit:
	case p.Age == state.AgeKnown, p.Age == state.AgeUnknown && old:
		if touched, err := l.touched(c.Resource.URI); !touched || err != nil {
			return err
		}
	}
	l.estimate(&p, e)
	p.In(l.in, e.Metadata.Path)
	if l.streaming {
		return l.stage(&p)
	}
	l.buffer = append(l.buffer, p)
	l.buffered[c.Resource.URI] = true
	if l.bytes += weight(e); len(l.buffer) < maxBuffered && l.bytes < maxBufferedBytes {
		return nil
	}
	return l.release()
}

// stale reports whether a cache has sent a document from before the last reading, or a clock was set back.
func (l *listReader) stale() bool { return l.known != nil && l.reading.Date.Before(l.known.Date) }

// isNew reports whether an entry without a time, or at a time up to the cursor, in a document that is read for the first
// time, was in no document of the set when these were read last. A clock was set back, it is listed late, or the document
// is a new one. The readings of entries from before since can be forgotten: it is the time of the entry, or the from of
// its document.
func (l *listReader) isNew(t time.Time, print uint64) (_ bool, err error) {
	since := t
	if t.IsZero() {
		since = l.from
	}
	if l.audit || l.before.IsZero() || since.IsZero() || t.After(l.st.Cursor) || since.Before(l.st.Cursor.Add(-2*state.MaxMargin)) {
		return false, nil
	}
	if l.listed == nil {
		if l.listed, err = l.state.Listed(l.set.URI); err != nil {
			return false, err
		}
	}
	return l.listed.Whole && !l.listed.Has(print), nil
}

// touched reports whether another entry of a resource is staged or will be. All further ones of
// it are compared, because one of them can be the last.
func (l *listReader) touched(uri string) (bool, error) {
	if l.buffered[uri] || l.staged == 0 {
		return l.buffered[uri], nil
	}
	return l.state.IsStaged(l.set.URI, uri)
}

// order determines the order of the times.
func (l *listReader) order(e *rsxml.Entry) {
	t := e.Metadata.Datetime
	if t.IsZero() {
		t = e.LastMod
	}
	if t.IsZero() {
		return
	}
	if !l.last.IsZero() {
		l.ascending = l.ascending || t.After(l.last)
		l.descending = l.descending || t.Before(l.last)
	}
	l.last = t
}

// estimate sets when the change of an entry happened, as far as its list and earlier readings show it.
func (l *listReader) estimate(p *state.Staged, e *rsxml.Entry) {
	t := p.Change.Datetime
	p.Sure = !l.from.IsZero() && !l.st.Base.IsZero() && l.from.After(l.st.Base)
	if t.IsZero() {
		// Version 1.0 has no datetime. But lastmods need not be times of changes.
		l.untimed = l.untimed || p.Age != state.AgeKnown
		if m := e.LastMod; !m.Before(l.from) && m.Before(l.limit) {
			p.Estimate = m
			l.estimated = latest(l.estimated, m)
		}
		return
	}
	early := l.st.Known && !t.After(l.st.Cursor)
	l.early = l.early || early && p.Age != state.AgeKnown
	p.Late = t.Before(l.st.Cursor) && l.st.Known && p.Age == state.AgeNew || l.late
	before := l.before
	if l.known != nil {
		before = l.known.Date
	}
	if t.Before(before) {
		p.Lag = before.Sub(t)
	}
}

// stage stages an entry in the order of the list.
func (l *listReader) stage(p *state.Staged) error {
	l.staged++
	p.Disordered = l.disordered
	return l.state.Stage(p, l.backward())
}

func (l *listReader) backward() bool { return l.descending && !l.ascending }

// release stages the buffered entries.
func (l *listReader) release() error {
	for i := range l.buffer {
		if err := l.stage(&l.buffer[i]); err != nil {
			return err
		}
	}
	l.buffer, l.buffered, l.streaming = nil, nil, true
	return nil
}

// restarted reports whether the list may begin after the cursor, although its from is too coarse to
// show that: it has lost entries or parts, none of them shows that it is the list that was read
// before, or an earlier run ended before it read the changes.
func (l *listReader) restarted() bool {
	switch {
	case !l.st.Known || !l.begun().After(l.st.Cursor):
		return false
	case l.known == nil:
		return l.st.Unread
	}
	return l.known.Lost() || l.repeatable(l.known)
}

// replaced reports whether a list lacks all its former entries, although its from is before the
// newest of them. It has lost entries that it should have, or it began after that reading, and a
// clock was set back.
func (l *listReader) replaced() bool {
	return l.st.Known && l.known != nil && !l.known.Shares() && l.from.Before(l.known.Newest)
}

// repeatable reports whether a list that begins after a reading of this one can look the same: the
// reading has no entries, and the unit in which from is written was not over.
func (l *listReader) repeatable(r *state.Reading) bool {
	return !l.index && r.Len() == 0 && l.begun().After(r.Date)
}

// begun returns the end of the unit in which from is written: the list began before.
func (l *listReader) begun() time.Time { return l.from.Add(state.Precision(l.from)) }

// addPart adds the URI of a part or package to a reading, and reports whether the one before, unless it is nil, lacks it.
func addPart(reading, known *state.Reading, uri string) (fresh bool) {
	part := state.Print(&resourcesync.Change{Resource: resourcesync.Resource{URI: uri}})
	reading.Add(part)
	return known != nil && !known.Has(part)
}

// end ends the list. Its lastmods are times of changes if they do not run both ways, and if no
// entry has a better one.
func (l *listReader) end(parts []rsxml.Entry) error {
	l.index = len(parts) > 0
	for i := range parts {
		if addPart(l.reading, l.known, parts[i].Loc) {
			l.fresh[parts[i].Loc] = true
		}
	}
	if l.newest.IsZero() || l.newest.Equal(l.from) {
		if !l.ascending || !l.descending {
			l.newest = latest(l.newest, l.estimated)
		}
	}
	if l.ahead {
		l.reading.Validators = fetch.Validators{} // read again, until these times have come
	}
	if l.stale() {
		l.outdated = true
		// The entries that it lacks were read before, and are not new when they come
		// back.
		l.reading.Keep(l.known)
		l.reading.Date = l.known.Date
		if l.unsaved {
			l.reading.Validators = fetch.Validators{}
		}
	}
	l.changeReader.newest = latest(l.changeReader.newest, l.newest)
	return l.release()
}
