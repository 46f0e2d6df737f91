package rshttp

import (
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
		_, gone := errors.AsType[*goneError](err)
		if !gone && !errors.Is(err, errMoved) || walk == maxWalks {
			return err
		}
	}
}

func (s *Static) walk(ctx context.Context, skip func(set string, c resourcesync.Capability) bool, put func(*StaticDocument) error) error {
	for _, st := range s.src.site.order {
		if err := st.ready(ctx); err != nil {
			return err
		}
	}
	for _, st := range s.src.site.order {
		w := &staticWalk{Static: s, set: st, put: put}
		for _, c := range st.capabilities() {
			if skip != nil && skip(st.Name, c) {
				continue
			}
			if err := w.list(ctx, c); err != nil {
				return err
			}
		}
	}
	kinds := s.src.site.routes.kinds
	for _, st := range s.src.site.order {
		if err := put(s.document(target{kind: kinds[kindCapabilityList], set: st}, "", "configuration", nil)); err != nil {
			return err
		}
	}
	for i := range s.src.site.description.parts {
		t := target{kind: kinds[kindDescriptionPart], part: strconv.Itoa(i + 1)}
		if err := put(s.document(t, t.part, "configuration", nil)); err != nil {
			return err
		}
	}
	return put(s.document(target{kind: kinds[kindDescription]}, "", "configuration", nil))
}

// A staticWalk puts the documents of a set.
type staticWalk struct {
	*Static
	set *set
	put func(*StaticDocument) error
}

// target returns a document of the set.
func (w *staticWalk) target(kind, part string) target {
	k := w.src.site.routes.kinds[kind]
	return target{kind: k, set: w.set, part: part, path: kind + " " + part}
}

// list puts the documents of a capability.
func (w *staticWalk) list(ctx context.Context, c resourcesync.Capability) error {
	switch c {
	case resourcesync.ResourceList:
		if err := w.resources(ctx, kindResourceList); err != nil || w.src.options.Sitemaps&PlainSitemaps == 0 {
			return err
		}
		return w.resources(ctx, kindSitemap)
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
	stat, err := statOf(ctx, w.set.Stater, partition.Whole)
	if err != nil || stat.Version == p.Version {
		return p, err
	}
	return d.Renew(ctx, p)
}

// resources puts the Resource List or the sitemap, with the pages if it is an index.
func (w *staticWalk) resources(ctx context.Context, kind string) error {
	p, err := w.current(ctx, w.set.pages)
	if err != nil {
		return err
	}
	t := w.target(kind, "")
	if len(p.Cuts) == 1 {
		st, err := w.set.resourceState(ctx, partition.Whole, nil)
		if err != nil {
			return err
		}
		return w.put(w.document(t, "", st.version, st))
	}
	for r := range p.Ranges() {
		st, err := w.set.resourceState(ctx, r, nil)
		if err != nil {
			return err
		}
		page := w.target(t.kind.parts, partition.FormatRange(r))
		if err := w.put(w.document(page, page.part, st.version, st)); err != nil {
			return err
		}
	}
	return w.put(w.document(t, "", digest(p.At.UnixNano(), p.Cuts), partitionState(p, nil)))
}

// changes puts the Change List, with the windows and the recent changes if it is an index.
func (w *staticWalk) changes(ctx context.Context) error {
	t := w.target(kindChangeList, "")
	st, err := journalState(ctx, t, nil) // before the windows: they may show later changes
	if err != nil {
		return err
	}
	windows, err := w.set.windows.Get(ctx)
	if err != nil {
		return err
	}
	if len(windows) == 1 {
		return w.put(w.changeList(t, st.version, windows[0]))
	}
	for _, iv := range windows {
		version := st.version
		if !iv.Open() {
			version = closedVersion(iv, time.Time{})
		}
		if err := w.put(w.changeList(w.target(kindChangeWindow, partition.FormatTime(iv.From)), version, iv)); err != nil {
			return err
		}
	}
	division := digest(windows)
	if st.version != "" {
		st.version = digest(st.version, division)
	}
	if err := w.put(w.document(w.target(kindRecentChanges, ""), "", st.version, st)); err != nil {
		return err
	}
	return w.put(w.write(t, "", division, func(_ context.Context, b *render.Body) error {
		return renderChangeIndex(t, b, windows, t.recentLink())
	}))
}

// closedVersion returns the version of a list of the closed interval iv of a journal or of an
// archive from which a change was last erased at a time.
func closedVersion(iv resourcesync.Interval, erased time.Time) string {
	return fmt.Sprint("closed ", iv.From.UnixNano(), iv.Until.UnixNano(), " ", stamp(erased))
}

// changeList returns the Change List t of the changes in iv.
func (w *staticWalk) changeList(t target, version string, iv resourcesync.Interval) *StaticDocument {
	if version != "" {
		version = digest(version, iv)
	}
	return w.write(t, t.part, version, func(ctx context.Context, b *render.Body) error {
		return renderChanges(ctx, t, new(state), b, journal{w.set}, iv)
	})
}

// write returns the document t that render writes.
func (w *staticWalk) write(t target, part, version string, write func(context.Context, *render.Body) error) *StaticDocument {
	k := *t.kind
	k.render = func(ctx context.Context, _ target, _ *state, b *render.Body) error { return write(ctx, b) }
	t.kind = &k
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
	pages, err := t.archivePages(ctx)
	if err != nil {
		return err
	}
	if len(pages) > 1 {
		for _, p := range pages {
			page := w.target(t.kind.parts, partition.FormatTime(time.UnixMicro(p.From)))
			if err := w.put(w.document(page, page.part, "", new(state))); err != nil {
				return err
			}
		}
	}
	return w.put(w.document(t, "", "", new(state)))
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
		t := w.target(kindChangeWindow, partition.FormatTime(iv.From))
		if err := w.put(w.document(t, t.part, digest(closedVersion(iv, stat.Erased), iv), new(state))); err != nil {
			return err
		}
	}
	return nil
}
