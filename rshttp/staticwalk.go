package rshttp

import (
	"github.com/resourcesync-go/resourcesync/internal/document"

	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// maxWalks is the number of times that Documents begins again because a set changes, at most.
const maxWalks = 5

// Documents calls put for each document and package, after those that it links to below it:
// parts come before their index, packages before their dump, lists before the Capability
// List, and the Source Description is the last. So a reader that starts there finds a file at
// the end of each link if put stores the documents in this order.
//
// An index lists the documents that put received, even if the set changes in between. If that
// is no longer possible, because a set outgrows a document for example, Documents begins
// again, and calls put a second time for some documents.
//
// If skip is not nil, Documents omits the lists and dumps, with all their parts and packages,
// for which it returns true. Capability Lists still name them.
//
// Documents returns the first error of put. It returns [resourcesync.ErrNotReady] if a set has
// no data yet.
func (s *Static) Documents(ctx context.Context, skip func(set string, c resourcesync.Capability) bool, put func(*StaticDocument) error) error {
	for walk := 1; ; walk++ {
		err := s.walk(ctx, skip, put)
		_, gone := errors.AsType[*document.Gone](err)
		if !gone && !errors.Is(err, document.ErrMoved) || walk == maxWalks {
			return err
		}
	}
}

func (s *Static) walk(ctx context.Context, skip func(set string, c resourcesync.Capability) bool, put func(*StaticDocument) error) error {
	for _, st := range s.src.site.Order {
		if err := st.Ready(ctx); err != nil {
			return err
		}
	}
	for _, st := range s.src.site.Order {
		w := &staticWalk{Static: s, set: st, put: put}
		for _, c := range st.Capabilities() {
			if skip != nil && skip(st.Name, c) {
				continue
			}
			if err := w.list(ctx, c); err != nil {
				return err
			}
		}
	}
	kinds := s.src.site.Routes.Kinds
	for _, st := range s.src.site.Order {
		if err := put(s.document(document.Target{Kind: kinds[document.KindCapabilityList], Set: st}, "", "configuration", nil)); err != nil {
			return err
		}
	}
	for i := range s.src.site.Description.Parts {
		t := document.Target{Kind: kinds[document.KindDescriptionPart], Part: strconv.Itoa(i + 1)}
		if err := put(s.document(t, t.Part, "configuration", nil)); err != nil {
			return err
		}
	}
	return put(s.document(document.Target{Kind: kinds[document.KindDescription]}, "", "configuration", nil))
}

// A staticWalk puts the documents of a set.
type staticWalk struct {
	*Static
	set *document.Set
	put func(*StaticDocument) error
}

// target returns a document of the set.
func (w *staticWalk) target(kind, part string) document.Target {
	k := w.src.site.Routes.Kinds[kind]
	return document.Target{Kind: k, Set: w.set, Part: part, Path: kind + " " + part}
}

// list puts the documents of a capability.
func (w *staticWalk) list(ctx context.Context, c resourcesync.Capability) error {
	switch c {
	case resourcesync.ResourceList:
		if err := w.resources(ctx, document.KindResourceList); err != nil || w.src.options.Sitemaps&PlainSitemaps == 0 {
			return err
		}
		return w.resources(ctx, document.KindSitemap)
	case resourcesync.ChangeList:
		return w.changes(ctx)
	case resourcesync.ResourceDump:
		return w.resourceDump(ctx)
	case resourcesync.ChangeDump:
		return w.changeDump(ctx)
	}
	return w.archive(ctx, c)
}

// current returns the partition of the set in its current state.
func (w *staticWalk) current(ctx context.Context, d *partition.Partitioner) (*partition.Partition, error) {
	p, err := d.Get(ctx)
	if err != nil {
		return nil, err
	}
	stat, err := document.StatOf(ctx, w.set.Stater, partition.Whole)
	if err != nil || stat.Version == p.Version {
		return p, err
	}
	return d.Renew(ctx, p)
}

// resources puts the Resource List or the sitemap, with the pages if it is an index.
func (w *staticWalk) resources(ctx context.Context, kind string) error {
	p, err := w.current(ctx, w.set.Pages)
	if err != nil {
		return err
	}
	t := w.target(kind, "")
	if len(p.Cuts) == 1 {
		st, err := w.set.ResourceState(ctx, partition.Whole, nil)
		if err != nil {
			return err
		}
		return w.put(w.document(t, "", st.Version, st))
	}
	for r := range p.Ranges() {
		st, err := w.set.ResourceState(ctx, r, nil)
		if err != nil {
			return err
		}
		page := w.target(t.Kind.Parts, partition.FormatRange(r))
		if err := w.put(w.document(page, page.Part, st.Version, st)); err != nil {
			return err
		}
	}
	return w.put(w.document(t, "", digest(p.At.UnixNano(), p.Cuts), document.PartitionState(p, nil)))
}

// changes puts the Change List, with the windows and the recent changes if it is an index.
func (w *staticWalk) changes(ctx context.Context) error {
	t := w.target(document.KindChangeList, "")
	st, err := document.JournalState(ctx, t, nil) // before the windows: they may show later changes
	if err != nil {
		return err
	}
	windows, err := w.set.Windows.Get(ctx)
	if err != nil {
		return err
	}
	if len(windows) == 1 {
		return w.put(w.changeList(t, st.Version, windows[0]))
	}
	for _, iv := range windows {
		version := st.Version
		if !iv.Open() {
			version = closedVersion(iv, time.Time{})
		}
		if err := w.put(w.changeList(w.target(document.KindChangeWindow, partition.FormatTime(iv.From)), version, iv)); err != nil {
			return err
		}
	}
	division := digest(windows)
	if st.Version != "" {
		st.Version = digest(st.Version, division)
	}
	if err := w.put(w.document(w.target(document.KindRecentChanges, ""), "", st.Version, st)); err != nil {
		return err
	}
	return w.put(w.write(t, "", division, func(_ context.Context, b *render.Body) error {
		return document.RenderChangeIndex(t, b, windows, t.RecentLink())
	}))
}

// closedVersion returns the version of a list of the closed interval iv of a journal or of an
// archive from which a change was last erased at a time.
func closedVersion(iv resourcesync.Interval, erased time.Time) string {
	return fmt.Sprint("closed ", iv.From.UnixNano(), iv.Until.UnixNano(), " ", document.Stamp(erased))
}

// changeList returns the Change List t of the changes in iv.
func (w *staticWalk) changeList(t document.Target, version string, iv resourcesync.Interval) *StaticDocument {
	if version != "" {
		version = digest(version, iv)
	}
	return w.write(t, t.Part, version, func(ctx context.Context, b *render.Body) error {
		return document.RenderChanges(ctx, t, new(document.State), b, w.set.Journal(), iv)
	})
}

// write returns the document t that render writes.
func (w *staticWalk) write(t document.Target, part, version string, write func(context.Context, *render.Body) error) *StaticDocument {
	k := *t.Kind
	k.Render = func(ctx context.Context, _ document.Target, _ *document.State, b *render.Body) error {
		return write(ctx, b)
	}
	t.Kind = &k
	return w.document(t, part, version, nil)
}

// archive puts an archive, with its pages, and the Change Lists that only the archive of a
// journal has. An archive of the host has no version, so its documents are always rendered.
func (w *staticWalk) archive(ctx context.Context, c resourcesync.Capability) error {
	if a := w.set.ChangeArchiver; a != nil && c == resourcesync.ChangeListArchive {
		if err := w.archivedLists(ctx, a); err != nil {
			return err
		}
	}
	t := w.target(string(c), "")
	pages, err := t.ArchivePages(ctx)
	if err != nil {
		return err
	}
	if len(pages) > 1 {
		for _, p := range pages {
			page := w.target(t.Kind.Parts, partition.FormatTime(time.UnixMicro(p.From)))
			if err := w.put(w.document(page, page.Part, "", new(document.State))); err != nil {
				return err
			}
		}
	}
	return w.put(w.document(t, "", "", new(document.State)))
}

func (w *staticWalk) archivedLists(ctx context.Context, a resourcesync.ChangeArchiver) error {
	stat, err := a.StatArchive(ctx)
	if err != nil {
		return err
	}
	windows, err := a.ArchivedWindows(ctx, w.src.options.Division.PageSize)
	if err != nil {
		return err
	}
	for _, iv := range windows {
		t := w.target(document.KindChangeWindow, partition.FormatTime(iv.From))
		if err := w.put(w.document(t, t.Part, digest(closedVersion(iv, stat.Erased), iv), new(document.State))); err != nil {
			return err
		}
	}
	return nil
}
