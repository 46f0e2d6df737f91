package destination

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A changeReader reads the Change Lists or Change Dumps of a set.
type changeReader struct {
	*run
	set   tree.Set
	st    *state.Set
	lists walk
	noted int64

	// earliest is the beginning of the changes on the pages of a list, and gap is set if they
	// begin after the cursor.
	earliest time.Time
	gap      bool

	newest time.Time // that has been read: the next cursor

	// deleted has the times of deletions of resources that the copy does not have. A list
	// with the newest change first has their creations later.
	deleted      map[string]time.Time
	deletedBytes int
}

// maxDeletedBytes is the maximum size of the URIs in changeReader.deleted.
const maxDeletedBytes = 16 << 20

// remember remembers a deletion that is not noted, because the copy does not have the resource.
func (c *changeReader) remember(change *resourcesync.Change) {
	uri := change.Resource.URI
	if change.Datetime.IsZero() || c.deletedBytes+len(uri) > maxDeletedBytes {
		return
	}
	if c.deleted == nil {
		c.deleted = make(map[string]time.Time)
	}
	c.deleted[uri] = latest(c.deleted[uri], change.Datetime)
	c.deletedBytes += len(uri)
}

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
	c := &changeReader{run: r, set: set, st: st, newest: st.Cursor}
	c.lists = walk{run: r, known: c.known, visit: c.visit}
	err = c.lists.all(ctx, set.Lists[resourcesync.ChangeList])
	return c.end(ctx, c.lists.failed, err)
}

func (r *run) readChangeDumps(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	c := &changeReader{run: r, set: set, st: st, newest: st.Cursor}
	dumps := dumpReader{run: r, since: st.Cursor, begin: func(p *page, from time.Time) bool {
		return !c.begins(p, from)
	}, each: func(e packageEntry) error { return c.dump(ctx, e) }}
	if !st.Known {
		dumps.since = time.Time{}
	}
	failed, err := dumps.read(ctx, set.Lists[resourcesync.ChangeDump])
	return c.end(ctx, failed, err)
}

// errGap ends the reading of lists whose changes begin after the cursor.
var errGap = errors.New("the changes begin after the cursor")

// end ends the reading of all lists or dumps. If some of them cannot be read, the others count, and
// the cursor does not move.
func (c *changeReader) end(ctx context.Context, failed, err error) (noted int64, gap bool, _ error) {
	switch {
	case c.gap:
		return c.noted, true, nil
	case err != nil:
		return c.noted, false, err
	case failed != nil:
		return c.noted, false, failed
	}
	return c.noted, false, c.finish(ctx)
}

// finish moves the cursor. It moves only after all documents, because those without times can
// have any order. It is never later than our clock: a Source whose clock was wrong would
// otherwise be ignored until that time has come.
func (c *changeReader) finish(ctx context.Context) error {
	if now := time.Now(); c.newest.After(now) {
		c.newest = now
	}
	if c.st.Known && !c.newest.After(c.st.Cursor) {
		return nil
	}
	c.st.Known, c.st.Cursor = true, latest(c.st.Cursor, c.newest)
	return c.state.Write(ctx, func() error { return c.state.SaveSet(*c.st) })
}

// begins reports whether the changes of a list begin after the cursor, if its last page is p,
// which has changes since from. Pages can have any order.
func (c *changeReader) begins(p *page, from time.Time) bool {
	if p.first || from.Before(c.earliest) {
		c.earliest = from
	}
	c.gap = c.st.Known && p.top && p.last && c.earliest.After(c.st.Cursor)
	return c.gap
}

// known returns the record of a list that has been read.
func (c *changeReader) known(uri string) (d state.Document, err error) {
	if !c.st.Known {
		return d, nil
	}
	return c.state.Document(c.set.URI, uri)
}

// visit notes the changes of a list. It returns the parts of an index that may have changes since
// the cursor, in the order of time.
func (c *changeReader) visit(ctx context.Context, p *page) (parts []rsxml.Entry, err error) {
	if p.NotModified {
		return nil, nil
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
	return slices.DeleteFunc(parts, func(e rsxml.Entry) bool {
		until := e.Metadata.Until
		return !until.IsZero() && !until.After(c.st.Cursor)
	}), nil
}

// note notes the changes of a list, or of the manifest of a package, since the cursor. Changes
// at the cursor are read again, because more can have happened at the same time.
func (c *changeReader) note(ctx context.Context, d *page, in *state.Package) ([]rsxml.Entry, error) {
	head := &d.Head.Metadata
	newest := latest(c.newest, notAfter(head.Until, d.Header))
	if !c.st.Known {
		newest = latest(newest, head.From)
	}
	return c.noteAll(ctx, d.Document, func(e *rsxml.Entry) error {
		change := resourcesync.Change{Type: e.Metadata.Change, Datetime: e.Metadata.Datetime, Resource: resource(e)}
		if change.Type == "" {
			change.Type = resourcesync.Updated
		}
		if change.Datetime.IsZero() && !e.LastMod.Before(head.From) {
			change.Datetime = e.LastMod // version 1.0 has no datetime
		}
		if !change.Datetime.IsZero() && change.Datetime.Before(c.st.Cursor) {
			return nil
		}
		newest = latest(newest, notAfter(change.Datetime, d.Header))
		if !change.Datetime.IsZero() && change.Datetime.Before(c.deleted[change.Resource.URI]) {
			return nil // it was deleted afterwards
		}
		p := state.Pending{Set: c.set.URI, Change: change}
		p.In(in, e.Metadata.Path)
		noted, err := c.state.Note(&p)
		switch {
		case noted:
			c.noted++
		case err == nil && change.Type == resourcesync.Deleted && p.New:
			c.remember(&change)
		}
		return err
	}, func(parts []rsxml.Entry) error {
		c.newest = newest
		return c.save(d, c.st, 0, len(parts) == 0)
	})
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
