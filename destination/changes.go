package destination

import (
	"context"
	"errors"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// readChanges notes the changes since the cursor of st, and moves the cursor: from the Change
// Lists or, if there are none or they begin after the cursor, from the Change Dumps. If these
// begin after the cursor as well, changes in between are lost: gap is true, and nothing is
// noted. If st is not known, the documents are read from their beginning.
func (r *run) readChanges(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	lists, dumps := set.Lists[resourcesync.ChangeList], set.Lists[resourcesync.ChangeDump]
	if len(lists) > 0 {
		noted, gap, err = r.readChangeLists(ctx, set, st)
		if err != nil || !gap || !r.offers(dumps) {
			return noted, gap, err
		}
	}
	if len(lists) > 0 { // packages can lag behind the lists, so the lists are compared again after them
		if err := r.state.Write(ctx, func() error { return r.state.ForgetAllReadings(set.URI) }); err != nil {
			return 0, false, err
		}
	}
	noted, gap, err = r.readChangeDumps(ctx, set, st)
	if len(lists) == 0 || gap {
		return noted, gap, err
	}
	if err != nil {
		if !isListError(err) || ctx.Err() != nil {
			return noted, false, err
		}
		r.report.unused(r.log, dumps[0], err)
		return noted, true, nil
	}
	more, gap, err := r.readChangeLists(ctx, set, st) // after the last package
	return noted + more, gap, err
}

func (r *run) readChangeLists(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	for all := false; ; all = true {
		c := r.newChangeReader(set, st)
		c.all = all
		if err := r.state.ClearStaged(); err != nil {
			return 0, false, err
		}
		c.lists = walk{run: r, known: c.known, visit: c.visit}
		err := c.lists.all(ctx, set.Lists[resourcesync.ChangeList])
		if all || err != nil || !c.early || !c.unmodified {
			return c.end(ctx, c.lists.failed, err)
		}
	}
}

// errGap ends the reading of lists whose changes begin after the cursor.
var errGap = errors.New("the changes begin after the cursor")

// visit stages the changes of a list. It returns the parts of an index that may have changes since
// the cutoff, in the order of time.
func (c *changeReader) visit(ctx context.Context, p *page) (parts []rsxml.Entry, err error) {
	if p.top && p.first {
		if err := c.begin(p.uri); err != nil {
			return nil, err
		}
	}
	c.seen[p.uri] = true
	if p.NotModified {
		c.early, c.unmodified = c.early || c.untimed, true
		return nil, c.state.Write(ctx, func() error {
			return c.state.Reread(c.set.URI, p.uri, fetch.Date(p.Header), c.isClosed(p.Document, p.uri))
		})
	}
	from := p.Head.Metadata.From
	if !from.IsZero() && c.begins(p, from) {
		return nil, errGap
	}
	if parts, err = c.note(ctx, p, nil); err != nil {
		return nil, err
	}
	if len(parts) > 0 && from.IsZero() {
		from = parts[0].Metadata.From
	}
	if c.begins(p, from) {
		return nil, errGap
	}
	return c.unread(parts)
}

// unread returns the parts of an index that may have changes since the cutoff. A part that was
// not closed when it was read, or that the index did not have, can have some at any time. If a
// clock was set back, parts after such a one may seem to end before the cutoff. They are read
// too, because they have later changes.
func (c *changeReader) unread(parts []rsxml.Entry) ([]rsxml.Entry, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	open, err := c.state.Open(c.set.URI)
	read, setBack := false, false
	return slices.DeleteFunc(parts, func(e rsxml.Entry) bool {
		until := e.Metadata.Until
		c.closed[e.Loc] = until
		setBack = setBack || !until.IsZero() && until.Before(e.Metadata.From)
		// A change at until may have come after the last reading.
		if until.IsZero() || open[e.Loc] || c.fresh[e.Loc] || !until.Before(c.cutoff) {
			read = true
			return false
		}
		return !read || !setBack
	}), err
}

// isClosed reports whether no entries follow in a document: it has an until, or its index has one, and the answer
// is later. A cache can have a document from before that. Without a Date, no answer shows its age.
func (c *changeReader) isClosed(d *tree.Document, uri string) bool {
	if !d.NotModified && !d.Head.Metadata.Until.IsZero() {
		return true
	}
	until := c.closed[uri]
	if until.IsZero() {
		return false
	}
	over := until.Add(state.Precision(until))
	if d.Header.Get("Date") == "" {
		over = over.Add(2 * state.MaxMargin)
	}
	return !fetch.Date(d.Header).Before(over)
}
