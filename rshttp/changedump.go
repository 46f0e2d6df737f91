package rshttp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A changePackage is a package of a Change Dump: a window of the journal, or a
// part of one whose content is too much for one package.
type changePackage struct {
	resourcesync.Interval
	closed bool // it never changes again
}

// A changeDump remembers the packages of a set's closed windows.
type changeDump struct {
	mu      sync.Mutex
	parts   map[resourcesync.Interval][]changePackage // of windows
	lengths map[resourcesync.Interval]resourcesync.Length
}

// keep forgets all but the windows and packages that are still offered.
func (d *changeDump) keep(windows []resourcesync.Interval, packages []changePackage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.parts) <= len(windows) && len(d.lengths) <= len(packages) {
		return
	}
	parts, lengths := d.parts, d.lengths
	d.parts, d.lengths = nil, nil
	for _, w := range windows {
		remember(&d.parts, w, parts)
	}
	for _, p := range packages {
		remember(&d.lengths, p.Interval, lengths)
	}
}

func remember[V any](to *map[resourcesync.Interval]V, iv resourcesync.Interval, from map[resourcesync.Interval]V) {
	if v, ok := from[iv]; ok {
		if *to == nil {
			*to = make(map[resourcesync.Interval]V)
		}
		(*to)[iv] = v
	}
}

// renderChangeDump makes what lies at a set's changedump.xml: the Change Dump if one
// is enough, else the index of one for each window of the journal (section 13.1). It
// is open: its last package is that of the window that changes still come to.
func (s *Source) renderChangeDump(ctx context.Context, t target) (*document, error) {
	doc, err := s.renderChangePackages(ctx, t)
	if errors.Is(err, errMoved) {
		doc, err = s.renderChangePackages(ctx, t)
	}
	return doc, err
}

func (s *Source) renderChangePackages(ctx context.Context, t target) (*document, error) {
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, err
	}
	windows, err := s.dumpedWindows(ctx, t.set)
	if err != nil {
		return nil, err
	}
	var packages []changePackage
	for _, w := range windows {
		parts, err := s.changeParts(ctx, t.set, w)
		if err != nil {
			return nil, err
		}
		packages = append(packages, parts...)
	}
	t.set.changeDump.keep(windows, packages)
	if len(packages) > s.options.PageSize && len(windows) > 1 {
		return s.renderChangeIndex(t, doc, windows, kindChangeDumpPart)
	}
	return s.listChangePackages(ctx, t, doc, resourcesync.Interval{From: packages[0].From}, packages)
}

// renderChangeDumpPart makes one Change Dump of an index: that of the packages of
// one window.
func (s *Source) renderChangeDumpPart(ctx context.Context, t target) (*document, error) {
	from, err := time.Parse(windowLayout, t.part)
	if err != nil {
		return nil, notExist("a time", t)
	}
	doc, err := s.changeDocument(ctx, t)
	if err != nil {
		return nil, err
	}
	windows, err := s.dumpedWindows(ctx, t.set)
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(windows, from, func(w resourcesync.Interval, t time.Time) int { return w.From.Compare(t) })
	switch {
	case len(windows) == 1, !found && i < len(windows):
		return nil, s.dumpMoved(t)
	case !found:
		return nil, notExist("a window of the journal", t)
	}
	packages, err := s.changeParts(ctx, t.set, windows[i])
	if err != nil {
		return nil, err
	}
	if !windows[i].Open() {
		doc.forever, doc.from, doc.lastModified = true, windows[i].From, time.Time{}
	}
	doc, err = s.listChangePackages(ctx, t, doc, windows[i], packages)
	if errors.Is(err, errMoved) {
		err = s.dumpMoved(t)
	}
	return doc, err
}

// dumpMoved is the answer to a request for a document of a Change Dump that is no
// more.
func (s *Source) dumpMoved(t target) error {
	return &goneError{index: s.routes.url(kindChangeDump, t.set, ""), reason: "the journal is divided otherwise, or no longer has these changes"}
}

// listChangePackages completes doc, a Change Dump of the packages of iv.
func (s *Source) listChangePackages(ctx context.Context, t target, doc *document, iv resourcesync.Interval, packages []changePackage) (*document, error) {
	b := body{head: s.changeHead(t, false, iv)}
	defer b.free()
	for _, p := range packages {
		length, err := s.changePackageLength(ctx, t.set, p)
		if err != nil {
			return nil, err
		}
		e := s.packaged(kindChangePackage, kindChangeManifest, t.set, p.name())
		e.Metadata.From, e.Metadata.Until, e.Metadata.Length = p.From, p.Until, length
		if !b.add(e) {
			return nil, fmt.Errorf("the Change Dump of set %q has outgrown the limits of a document: raise PackageSize", t.set.name)
		}
	}
	return b.seal(doc)
}

// changesSince returns from when on there are documents like t, which is about
// changes.
func (st *set) changesSince(ctx context.Context, t target) (time.Time, error) {
	since, err := st.changer.Since(ctx)
	if err != nil || st.changeBytes == nil || t.kind == kindChangeWindow {
		return since, err
	}
	bytes, err := st.changeBytes.Since(ctx)
	if bytes.After(since) {
		since = bytes
	}
	return since, err
}

// dumpedWindows returns the windows of st's journal as far as there are bytes of
// their changes.
func (s *Source) dumpedWindows(ctx context.Context, st *set) ([]resourcesync.Interval, error) {
	windows, err := s.windows(ctx, st)
	if err != nil || st.changeBytes == nil {
		return windows, err
	}
	since, err := st.changeBytes.Since(ctx)
	if err != nil {
		return nil, err
	}
	first := 0
	for !windows[first].Open() && !windows[first].Until.After(since) {
		first++
	}
	windows = slices.Clone(windows[first:])
	if windows[0].From.Before(since) {
		windows[0].From = since
	}
	return windows, nil
}
