package document

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

func isWindow(t Target) bool { return t.Set.Windows.Lists(t.Part) }

// renderChangeList renders changelist.xml: one open Change List while one is enough (section
// 12.1), otherwise the index (section 12.2).
func renderChangeList(ctx context.Context, t Target, st *State, b *render.Body) error {
	windows, err := t.windows(ctx, st)
	if err != nil {
		return err
	}
	if len(windows) == 1 {
		return renderChanges(ctx, t, st, b, Journal{t.Set}, windows[0])
	}
	return renderChangeIndex(t, b, windows, t.recentLink())
}

// windows returns the windows of the journal, as the document t in the state st shows them.
func (t Target) windows(ctx context.Context, st *State) ([]resourcesync.Interval, error) {
	if st.Windows != nil {
		return st.Windows, nil
	}
	return t.Set.Windows.Get(ctx)
}

// recentLink returns the link to the Change List of the newest changes.
func (t Target) recentLink() resourcesync.Link {
	return resourcesync.Link{Rel: resourcesync.RelAlternate, Href: t.URL(KindRecentChanges, "")}
}

// renderRecentChanges renders the Change List of the newest changes (section 12.1), for
// Destinations that cannot read a Change List Index.
func renderRecentChanges(ctx context.Context, t Target, st *State, b *render.Body) error {
	iv, err := t.Set.Windows.Recent(ctx)
	if err != nil {
		return err
	}
	return renderChanges(ctx, t, st, b, Journal{t.Set}, iv)
}

func renderChangeIndex(t Target, b *render.Body, windows []resourcesync.Interval, links ...resourcesync.Link) error {
	// An index that is full omits the oldest lists; its from is the from of the first
	// listed one.
	windows = windows[max(0, len(windows)-rsxml.MaxEntries):]
	b.Head = changeHead(t, true, resourcesync.Interval{From: windows[0].From})
	b.Head.Links = append(b.Head.Links, links...)
	for _, iv := range render.Listed(b, windows, true) {
		e := &rsxml.Entry{Metadata: rsxml.Metadata{From: iv.From, Until: iv.Until}}
		if err := t.addPart(b, partition.FormatTime(iv.From), e); err != nil {
			return err
		}
	}
	return nil
}

// window returns the window that t names, or ErrMoved if the index no longer lists it.
func (t Target) window(windows []resourcesync.Interval) (resourcesync.Interval, error) {
	from, err := partition.ParseTime(t.Part)
	if err != nil {
		return resourcesync.Interval{}, t.NotExist("a time")
	}
	i, found := partition.Find(windows, from)
	switch {
	case len(windows) == 1, !found && i < len(windows):
		// If the rest of the journal fits into one list, a closed list must not
		// be opened again under its old name.
		return resourcesync.Interval{From: from}, ErrMoved
	case !found:
		return resourcesync.Interval{}, t.NotExist("a window of the journal")
	}
	return windows[i], nil
}

func renderChangeWindow(ctx context.Context, t Target, st *State, b *render.Body) error {
	windows, err := t.windows(ctx, st)
	if err != nil {
		return err
	}
	iv, err := t.window(windows)
	if errors.Is(err, ErrMoved) {
		return renderArchivedWindow(ctx, t, st, b, iv.From)
	}
	if err != nil {
		return err
	}
	return renderChanges(ctx, t, st, b, Journal{t.Set}, iv)
}

// renderChanges renders the Change List of the changes of r in iv. A window of an index
// is closed if iv is.
func renderChanges(ctx context.Context, t Target, st *State, b *render.Body, r Record, iv resourcesync.Interval) error {
	last, err := listChanges(ctx, t, r, iv, b, t.Set.withVersions())
	if errors.Is(err, ErrMoved) && t.Set.Memento && b.Window == nil {
		// The journal was divided by the size of entries without links to
		// versions, and this list has no space for them.
		b.Free()
		last, err = listChanges(ctx, t, r, iv, b, nil)
	}
	if err != nil {
		return err
	}
	st.Last, st.Covered = last, iv
	if t.Kind.Parent != "" && !iv.Open() {
		st.close(r, iv, last)
	}
	return nil
}

// listChanges writes the head of the document t and an entry for each change of r in iv
// into b, and returns the datetime of the newest. If complete is not nil, listChanges calls
// it to complete each entry.
func listChanges(ctx context.Context, t Target, r Record, iv resourcesync.Interval, b *render.Body, complete func(*resourcesync.Change, *rsxml.Entry)) (last time.Time, err error) {
	b.Head = changeHead(t, false, iv)
	var (
		builder entries.Builder
		left    render.Omitted
	)
	last = iv.From
	omit := func(c *resourcesync.Change, err error) {
		last = c.Datetime
		left.Add(c.Resource.Key, c.Resource.URI, err)
	}
	changes := r.Changes(ctx, iv, omit)
	if b.Window != nil {
		changes = newestFirst(ctx, t, r, iv, b.Window)
	}
	for c, err := range changes {
		if err != nil {
			return last, err
		}
		last = c.Datetime
		e := builder.Change(&c)
		if complete != nil {
			complete(&c, e)
		}
		if !b.Add(e) {
			return last, b.Full(ErrMoved)
		}
	}
	// Changes that were dropped meanwhile may be missing.
	since, _, err := r.Stat(ctx)
	if err != nil {
		return last, err
	}
	if since.After(iv.From) {
		return last, ErrMoved
	}
	t.Set.report(b, left)
	return last, nil
}

func changeHead(t Target, index bool, iv resourcesync.Interval) *rsxml.Head {
	h := t.head(index)
	h.Metadata.From, h.Metadata.Until = iv.From, iv.Until
	if h.Metadata.From.Before(Epoch) {
		h.Metadata.From = Epoch
	}
	return h
}

func (t Target) NotExist(what string) error {
	return fmt.Errorf("%q is not %s: %w", t.Part, what, fs.ErrNotExist)
}

// renderArchivedWindow renders a Change List that the journal no longer has. It renders the
// same bytes as before, unless changes have been erased.
func renderArchivedWindow(ctx context.Context, t Target, st *State, b *render.Body, from time.Time) error {
	gone := &Gone{Index: t.URL(KindChangeList, ""), Reason: "the journal no longer has this window"}
	a := t.Set.ChangeArchiver
	if a == nil {
		return gone
	}
	// Read first: any later erasure makes the document stale.
	stat, err := a.StatArchive(ctx)
	if err != nil {
		return err
	}
	windows, err := a.ArchivedWindows(ctx, t.Set.Division.PageSize)
	if err != nil {
		return err
	}
	i, found := partition.Find(windows, from)
	if !found {
		return gone
	}
	st.record = ChangeArchive{a}
	err = renderChanges(ctx, t, st, b, st.record, windows[i])
	if errors.Is(err, ErrMoved) {
		return gone
	}
	if st.erased = stat.Erased; !stat.Erased.IsZero() {
		st.Modified = time.Time{} // the entries no longer determine it
	}
	return err
}

// archivedLists yields the Change Lists in the archive of a journal.
func (st *Set) archivedLists(ctx context.Context) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		windows, err := st.ChangeArchiver.ArchivedWindows(ctx, st.Division.PageSize)
		if err != nil {
			yield(resourcesync.Snapshot{}, err)
			return
		}
		for _, iv := range windows {
			uri := st.URL(KindChangeWindow, partition.FormatTime(iv.From))
			if !yield(resourcesync.Snapshot{URI: uri, Interval: iv}, nil) {
				return
			}
		}
	}
}
