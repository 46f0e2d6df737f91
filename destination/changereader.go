package destination

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A changeReader reads the Change Lists or Change Dumps of a set. It stages their entries, and
// compares them with the copy when it has the last one of each resource.
type changeReader struct {
	*run
	set   tree.Set
	st    *state.Set
	lists walk
	seen  map[string]bool // documents

	closed map[string]time.Time // until of the documents that are closed, as their index says
	noted  int64

	// earliest is the time since when the pages of a list have changes, and gap is set if
	// that is after the cursor.
	earliest time.Time
	gap      bool

	newest time.Time     // that has been read: the next cursor
	lag    time.Duration // the largest that has been seen
	cutoff time.Time     // documents that end before and entries of unread documents before are not read
	before time.Time     // of the answer before to the first document, or zero

	listed *state.Reading  // what all documents had, if it is needed
	fresh  map[string]bool // parts that their index did not have before

	// early is set if an entry before the cursor is staged, or one without a time in a document
	// before one that is not read, and unmodified if a document is not read. It can have a later
	// change of the same resource. Then all are read.
	early, untimed, unmodified, all bool

	outdated bool // a cache has sent a document from before its last reading, so entries are missing
	undated  bool // a document without a Date lacks former entries, and can be such a one

	// disordered is set if an index has its parts in an order other than the order of their times.
	// It can be newest first, or a clock was set back.
	disordered bool

	audit bool // the entries are staged for an audit, also those that are known

	readings []*state.Reading // not saved yet
	prints   int              // of them
	staged   int              // entries
	compared int64            // the position of the last one that has been compared with the copy
}

// maxPrints and maxStaged are the numbers of digests in memory and of staged entries after which
// entries are compared with the copy, though later ones of their resources may follow.
const (
	maxPrints = 1 << 20
	maxStaged = 1 << 18
)

func (r *run) newChangeReader(set tree.Set, st *state.Set) *changeReader {
	return &changeReader{run: r, set: set, st: st, seen: make(map[string]bool), closed: make(map[string]time.Time), fresh: make(map[string]bool), newest: st.Cursor}
}

// begin determines how far back the document at uri and its parts are read. On first contact, that
// is a day before the cursor. Later it is twice the largest lag.
func (c *changeReader) begin(uri string) error {
	reading, err := c.state.Reading(c.set.URI, uri)
	c.cutoff, c.before = time.Time{}, time.Time{}
	if c.audit && !c.st.Base.IsZero() {
		c.cutoff = c.st.Base.Add(-state.MaxMargin)
	}
	if err != nil || !c.st.Known || c.st.Cursor.IsZero() {
		return err
	}
	margin := time.Duration(state.MaxMargin)
	if reading != nil {
		c.before = reading.Date
		if c.st.Lag >= 0 {
			margin = min(margin, 2*(c.st.Lag+time.Second)) // a Date has seconds
		}
	}
	c.cutoff = c.st.Cursor.Add(-margin)
	oldest, err := c.state.OldestPackage()
	if !oldest.IsZero() && oldest.Before(c.cutoff) {
		c.cutoff = oldest // it lacks the changes since then
	}
	return err
}

// end ends the reading of all lists or dumps. If some of them cannot be read, the others count, and
// the cursor does not move. Before a gap nothing counts: the Resource Lists are compared instead.
func (c *changeReader) end(ctx context.Context, failed, err error) (noted int64, gap bool, _ error) {
	switch {
	case c.gap:
		return c.noted, true, nil
	case err != nil:
		return c.noted, false, err
	case failed != nil:
		c.readings = nil // see flush
		return c.noted, false, errors.Join(failed, c.flush(ctx, nil))
	}
	return c.noted, false, c.finish(ctx)
}

// begins reports whether the changes of a list begin after the cursor, if its last page is p,
// which has changes since from. Pages can have any order.
func (c *changeReader) begins(p *page, from time.Time) bool {
	if p.first || from.Before(c.earliest) {
		c.earliest = from
	}
	if p.top {
		if c.st.Began = c.earliest; c.earliest.Add(state.Precision(c.earliest)).After(fetch.Date(p.Header)) {
			c.st.Began = time.Time{}
		}
		c.freshnessOf(c.set.URI).changes(p, c.earliest)
	}
	c.gap = c.st.Known && p.top && p.last && c.earliest.After(latest(c.st.Cursor, c.st.Base))
	return c.gap
}

// known returns the validators of a list that has been read.
func (c *changeReader) known(uri string) (d state.Document, err error) {
	if !c.st.Known || c.all {
		return d, nil
	}
	r, err := c.state.Reading(c.set.URI, uri)
	if r != nil {
		d.Validators = r.Validators
	}
	return d, err
}

// finish compares the staged entries, and moves the cursor, in one transaction with the record of
// the documents: otherwise a late notification could repeat a change whose deletion has been read
// already.
func (c *changeReader) finish(ctx context.Context) error {
	return c.flush(ctx, func() error {
		c.st.Lag = max(c.st.Lag, c.lag)
		if err := c.move(); err != nil {
			return err
		}
		return c.state.ForgetReadings(c.set.URI, c.st.Cursor.Add(-2*state.MaxMargin), c.seen)
	})
}

// move moves the cursor. It moves only after all documents, because those without times can have
// any order.
func (c *changeReader) move() error {
	c.st.Known, c.st.Cursor = !c.freshnessOf(c.set.URI).stale, latest(latest(c.st.Cursor, c.st.Base), c.newest)
	return c.state.SaveSet(*c.st)
}

// flush compares the staged entries with the copy, and notes the entries that the copy does
// not show yet. Then it records the documents that they come from, and calls end unless it
// is nil. While end is nil, entries stay staged up to a limit, because entries of later
// packages can replace them.
func (c *changeReader) flush(ctx context.Context, end func() error) error {
	for c.staged > 0 {
		changes, err := c.state.StagedAfter(c.compared, readBatch)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			break
		}
		c.compared = changes[len(changes)-1].N
		err = c.state.Write(ctx, func() error {
			for i := range changes {
				p := &changes[i]
				if c.lists.failed != nil || c.outdated || c.undated {
					p.MayBeFollowed()
				}
				noted, err := c.state.NoteChange(c.st, p)
				if err != nil {
					return err
				}
				if noted {
					c.noted++
					c.lag = max(c.lag, p.Lag)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	readings := c.readings
	if c.lists.failed != nil {
		// Older changes may come later, so newer ones have to be read again after them.
		readings = nil
	}
	all := end != nil || c.staged > maxStaged || c.prints > maxPrints
	if c.readings, c.prints = nil, 0; all {
		c.staged, c.compared = 0, 0
	}
	return c.state.Write(ctx, func() error {
		for _, r := range readings {
			if err := c.state.SaveReading(r); err != nil {
				return err
			}
		}
		if end != nil {
			if err := end(); err != nil {
				return err
			}
		}
		if all {
			return c.state.ClearStaged()
		}
		return nil
	})
}

// read records that a document has been read, after its changes are noted.
func (c *changeReader) read(r *state.Reading) {
	c.seen[r.URI] = true
	c.readings = append(c.readings, r)
	c.prints += r.Len()
}

// note stages the changes of a list, or of the manifest of a package.
func (c *changeReader) note(ctx context.Context, p *page, in *state.Package) ([]rsxml.Entry, error) {
	known, err := c.state.Reading(c.set.URI, p.uri)
	if err != nil {
		return nil, err
	}
	l := c.newListReader(p.Document, p.uri, known, in)
	parts, err := c.noteAll(ctx, p.Document, l.entry, l.end)
	if err != nil {
		return nil, err
	}
	c.undated = c.undated || p.Header.Get("Date") == "" && known != nil && known.Lost()
	c.disordered = sortParts(parts) || c.disordered
	if len(parts) > 0 || p.cut != nil || p.top && l.repeatable(l.reading) {
		l.reading.Validators = fetch.Validators{} // the parts, or a list that looks the same, have to be read
	}
	if c.audit {
		return parts, nil
	}
	if p.top && (l.restarted() || l.replaced()) {
		c.gap = true
		return nil, errGap
	}
	c.read(l.reading)
	if c.prints > maxPrints || c.staged > maxStaged {
		return parts, c.flush(ctx, nil)
	}
	return parts, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
