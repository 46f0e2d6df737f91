package rshttp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// errMoved says that the windows of a journal are no longer those that a list
// was begun for.
var errMoved = errors.New("the journal has been divided otherwise meanwhile")

// renderChangeList makes what lies at a set's changelist.xml: one open Change
// List as long as one is enough (section 12.1), else the index of all (section
// 12.2).
func (s *Source) renderChangeList(ctx context.Context, t target) (*document, error) {
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, err
	}
	for retried := false; ; retried = true {
		windows, err := t.set.windows.Get(ctx)
		if err != nil {
			return nil, err
		}
		if len(windows) > 1 {
			return s.renderChangeIndex(t, doc, windows, kindChangeWindow)
		}
		out, err := s.renderChanges(ctx, t, t.set, doc, windows[0])
		if !errors.Is(err, errMoved) || retried {
			return out, err
		}
	}
}

// renderRecentChanges makes the Change List of the newest changes (section 12.1), for
// Destinations that cannot read a Change List Index.
func (s *Source) renderRecentChanges(ctx context.Context, t target) (*document, error) {
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, err
	}
	for retried := false; ; retried = true {
		iv, err := t.set.windows.Recent(ctx)
		if err != nil {
			return nil, err
		}
		out, err := s.renderChanges(ctx, t, t.set, doc, iv)
		if !errors.Is(err, errMoved) || retried {
			return out, err
		}
	}
}

// renderChangeIndex makes the index t of the documents about windows, which are of
// the kind of.
func (s *Source) renderChangeIndex(t target, doc *document, windows []resourcesync.Interval, of string) (*document, error) {
	// More lists than an index holds: the oldest are no longer offered, and
	// from says so.
	windows = windows[max(0, len(windows)-rsxml.MaxEntries):]
	b := render.Body{Head: s.changeHead(t, true, resourcesync.Interval{From: windows[0].From})}
	defer b.Free()
	if t.kind == kindChangeList {
		b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelAlternate, Href: s.routes.url(kindRecentChanges, t.set, "")})
	}
	for _, iv := range windows {
		fits := b.Add(&rsxml.Entry{
			Loc:      s.routes.url(of, t.set, partition.FormatTime(iv.From)),
			Metadata: rsxml.Metadata{From: iv.From, Until: iv.Until},
		})
		if !fits {
			return nil, fmt.Errorf("the %s index of set %q has outgrown the limits of a document: raise Window or PageSize", t.capability(), t.set.name)
		}
	}
	return doc.complete(b.Text())
}

// renderChangeWindow makes one Change List of an index.
func (s *Source) renderChangeWindow(ctx context.Context, t target) (*document, error) {
	from, err := partition.ParseTime(t.part)
	if err != nil {
		return nil, notExist("a time", t)
	}
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, err
	}
	for retried := false; ; retried = true {
		windows, err := t.set.windows.Get(ctx)
		if err != nil {
			return nil, err
		}
		i, found := partition.Find(windows, from)
		switch {
		case len(windows) == 1:
			// What is left of the journal fits into the one list. A list
			// that was closed must not open again under its old name.
			return s.renderArchivedWindow(ctx, t, from)
		case found:
			out, err := s.renderChanges(ctx, t, t.set, doc, windows[i])
			if !errors.Is(err, errMoved) || retried {
				return out, err
			}
		case i < len(windows):
			return s.renderArchivedWindow(ctx, t, from)
		default:
			return nil, notExist("a window of the journal", t)
		}
	}
}

// renderChanges makes the Change List of the changes in iv.
func (s *Source) renderChanges(ctx context.Context, t target, from record, doc *document, iv resourcesync.Interval) (*document, error) {
	var b render.Body
	defer func() { b.Free() }()
	last, err := s.listChanges(ctx, t, from, iv, &b, s.withVersions(t.set))
	if errors.Is(err, errMoved) && t.set.memento {
		// The journal was divided by the size of entries without links to
		// versions. Such a list cannot have them.
		b.Free()
		b = render.Body{}
		last, err = s.listChanges(ctx, t, from, iv, &b, nil)
	}
	if err != nil {
		return nil, err
	}
	if t.kind == kindChangeWindow && !iv.Open() {
		doc.forever, doc.from, doc.lastModified = true, iv.From, last
	}
	if !doc.erased.IsZero() {
		doc.lastModified = time.Time{} // the entries no longer determine it
	}
	return doc.complete(b.Text())
}

// listChanges writes the head of the document t and an entry for each of the
// changes of a record in iv, of which the newest is at last, into b. If complete is not nil, it
// adds to the entry of a change: in a manifest where in the package its bitstreams are.
func (s *Source) listChanges(ctx context.Context, t target, from record, iv resourcesync.Interval, b *render.Body, complete func(*resourcesync.Change, *rsxml.Entry)) (last time.Time, err error) {
	b.Head = s.changeHead(t, false, iv)
	var (
		builder entries.Builder
		left    render.Omitted
	)
	last = iv.From
	omit := func(c *resourcesync.Change, err error) {
		last = c.Datetime
		left.Add(c.Resource.Key, c.Resource.URI, err)
	}
	for c, err := range from.changes(ctx, iv, omit) {
		if err != nil {
			return last, err
		}
		last = c.Datetime
		e := builder.Change(&c)
		if complete != nil {
			complete(&c, e)
		}
		if !b.Add(e) {
			return last, errMoved
		}
	}
	// What has been dropped in the meantime may be missing.
	since, err := from.since(ctx)
	if err != nil {
		return last, err
	}
	if since.After(iv.From) {
		return last, errMoved
	}
	s.report(t.set, left, b.Fields)
	return last, nil
}

// changeDocument begins a document about the journal as it is now.
func (s *Source) changeDocument(ctx context.Context, t target) (*document, error) {
	doc := &document{target: t}
	if t.set.changeStater != nil {
		stat, err := t.set.changeStater.Stat(ctx, partition.Whole)
		if err != nil {
			return nil, err
		}
		doc.version, doc.lastModified = stat.Version, stat.LastModified
		doc.setVersion.Store(&stat.Version)
	}
	return doc, nil
}

func (s *Source) changeHead(t target, index bool, iv resourcesync.Interval) *rsxml.Head {
	h := &rsxml.Head{
		Index:    index,
		Metadata: rsxml.Metadata{Capability: t.capability(), From: iv.From, Until: iv.Until},
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: s.routes.url(kindCapabilityList, t.set, "")}},
	}
	if h.Metadata.From.Before(epoch) {
		h.Metadata.From = epoch
	}
	if index := t.index(); index != "" {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: s.routes.url(index, t.set, "")})
	}
	h.Links = s.archiveLink(h.Links, t)
	return h
}

func notExist(what string, t target) error {
	return fmt.Errorf("%q is not %s: %w", t.part, what, fs.ErrNotExist)
}
