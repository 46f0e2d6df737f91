package destination

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A changeReader reads the Change Lists or Change Dumps of a set.
type changeReader struct {
	*run
	set   tree.Set
	st    *state.Set
	seen  map[string]bool // lists
	noted int64
	gap   bool

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
		if isLocal(err) || ctx.Err() != nil {
			return noted, false, err
		}
		r.report.unused(r.log, dumps[0], err)
		return noted, true, nil
	}
	more, gap, err := r.readChangeLists(ctx, set, st) // after the last package
	return noted + more, gap, err
}

func (r *run) readChangeLists(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	c := &changeReader{run: r, set: set, st: st, seen: make(map[string]bool), newest: st.Cursor}
	for _, uri := range set.Lists[resourcesync.ChangeList] {
		if err := c.list(ctx, uri, 0); err != nil || c.gap {
			return c.noted, c.gap, err
		}
	}
	return c.noted, false, c.finish(ctx)
}

func (r *run) readChangeDumps(ctx context.Context, set tree.Set, st *state.Set) (noted int64, gap bool, err error) {
	c := &changeReader{run: r, set: set, st: st, newest: st.Cursor}
	dumps := dumpReader{run: r, since: st.Cursor, begin: func(_ *tree.Document, from time.Time) bool {
		c.gap = c.gap || st.Known && from.After(st.Cursor)
		return !c.gap
	}, each: func(e packageEntry) error { return c.dump(ctx, e) }}
	if !st.Known {
		dumps.since = time.Time{}
	}
	if err := dumps.read(ctx, set.Lists[resourcesync.ChangeDump]); err != nil || c.gap {
		return c.noted, c.gap, err
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

// list reads a Change List or an index of them.
func (c *changeReader) list(ctx context.Context, uri string, depth int) error {
	if c.seen[uri] {
		return nil
	}
	c.seen[uri] = true
	known, err := c.state.Document(uri)
	if err != nil {
		return err
	}
	if !c.st.Known {
		known = fetch.Validators{}
	}
	var parts []rsxml.Entry
	err = c.attempt(ctx, uri, func() error {
		parts, err = c.read(ctx, uri, depth, known)
		return err
	})
	if err != nil || c.gap {
		return err
	}
	if len(parts) > 0 && depth == maxIndexes {
		return fmt.Errorf("%s: there are more than %d levels of indexes", uri, maxIndexes)
	}
	for _, part := range parts {
		if err := c.list(ctx, part.Loc, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// read notes the changes of a list. It returns the parts of an index that may have changes
// since the cursor, in the order of time.
func (c *changeReader) read(ctx context.Context, uri string, depth int, known fetch.Validators) (parts []rsxml.Entry, err error) {
	d, err := c.reader.Open(ctx, uri, known)
	if err != nil || d.NotModified {
		return nil, err
	}
	defer d.Close()
	from := d.Head.Metadata.From
	if d.Head.Index {
		if parts, err = readParts(uri, d); err != nil {
			return nil, err
		}
		if len(parts) > 0 && from.IsZero() {
			from = parts[0].Metadata.From
		}
	}
	if depth == 0 && c.st.Known && from.After(c.st.Cursor) {
		c.gap = true
		return nil, nil
	}
	if d.Head.Index {
		return slices.DeleteFunc(parts, func(e rsxml.Entry) bool {
			until := e.Metadata.Until
			return !until.IsZero() && !until.After(c.st.Cursor)
		}), nil
	}
	return nil, c.note(ctx, uri, d, nil)
}

// readParts returns the parts of an index or dump, sorted by time if they have times: their URIs,
// times and lengths, and the links to copies of manifests.
func readParts(uri string, d *tree.Document) (parts []rsxml.Entry, err error) {
	size := 0
	for e, err := range d.Entries() {
		if err != nil {
			return nil, err
		}
		part := rsxml.Entry{Loc: e.Loc, Metadata: rsxml.Metadata{From: e.Metadata.From, Until: e.Metadata.Until, Length: e.Metadata.Length}}
		size += len(e.Loc)
		for _, l := range e.Links {
			if l.Rel == resourcesync.RelContents {
				part.Links = []resourcesync.Link{l}
				size += len(l.Href)
				break
			}
		}
		if parts = append(parts, part); len(parts) > maxParts || size > maxPartBytes {
			return nil, fmt.Errorf("%s: the index has more than %d entries, or more than %d bytes of URLs", uri, maxParts, maxPartBytes)
		}
	}
	timed := !slices.ContainsFunc(parts, func(e rsxml.Entry) bool { return e.Metadata.From.IsZero() })
	if timed {
		slices.SortStableFunc(parts, func(a, b rsxml.Entry) int { return a.Metadata.From.Compare(b.Metadata.From) })
	}
	return parts, nil
}

// note notes the changes of a list, or of the manifest of a package, since the cursor. Changes
// at the cursor are read again, because more can have happened at the same time.
func (c *changeReader) note(ctx context.Context, uri string, d *tree.Document, in *state.Package) error {
	head := &d.Head.Metadata
	newest := latest(c.newest, notAfter(head.Until, d.Header))
	if !c.st.Known {
		newest = latest(newest, head.From)
	}
	return c.noteAll(ctx, d, func(e *rsxml.Entry) error {
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
	}, func() error {
		c.newest = newest
		return c.state.SaveDocument(uri, d.Validators)
	})
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
