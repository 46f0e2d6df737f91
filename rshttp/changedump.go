package rshttp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
	"github.com/resourcesync-go/resourcesync/rsxml"
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

// renderChangeDump makes the Change Dump of a set (section 13.1). It is open: its
// last package is that of the window that changes still come to.
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
	// More packages than a dump holds: the oldest are no longer offered, and
	// from says so.
	packages = packages[max(0, len(packages)-rsxml.MaxEntries):]
	t.set.changeDump.keep(windows, packages)
	b := body{head: s.changeHead(t, false, resourcesync.Interval{From: packages[0].From})}
	defer b.free()
	for _, p := range packages {
		length, err := s.changePackageLength(ctx, t.set, p)
		if err != nil {
			return nil, err
		}
		part := p.name()
		fits := b.add(&rsxml.Entry{
			Loc:      s.routes.url(kindChangePackage, t.set, part),
			Metadata: rsxml.Metadata{From: p.From, Until: p.Until, Length: length, Type: "application/zip"},
			Links: []resourcesync.Link{{
				Rel:  resourcesync.RelContents,
				Href: s.routes.url(kindChangeManifest, t.set, part),
				Type: "application/xml",
			}},
		})
		if !fits {
			return nil, fmt.Errorf("the Change Dump of set %q has outgrown the limits of a document: raise PackageSize or Window", t.set.name)
		}
	}
	return b.seal(doc)
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

// changeParts divides a window of st's journal into packages, each as full as
// PackageSize and the limits of its manifest allow. Of a closed window that is the
// same for ever; those of an open one are kept as changes come to its end.
func (s *Source) changeParts(ctx context.Context, st *set, w resourcesync.Interval) ([]changePackage, error) {
	d := &st.changeDump
	d.mu.Lock()
	parts, ok := d.parts[w]
	d.mu.Unlock()
	if ok {
		return parts, nil
	}
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeDumpManifest}}
	var (
		e       rsxml.Entry
		scratch []byte
		last    time.Time
		size    int
		part    = changePackage{w, !w.Open()}
	)
	for c, err := range st.changer.Changes(ctx, w) {
		if err != nil {
			return nil, providerError("journal", err)
		}
		e.SetChange(&c)
		scratch = rsxml.AppendEntry(scratch[:0], &head, &e)
		weight := len(scratch) + virtualzip.MaxName
		if length, _ := c.Resource.Length.Bytes(); c.Type != resourcesync.Deleted {
			weight += s.share(length)
		}
		if size > 0 && size+weight > paging.MaxBytes && c.Datetime.After(last) {
			part.Until = c.Datetime
			parts = append(parts, part)
			part = changePackage{resourcesync.Interval{From: c.Datetime, Until: w.Until}, part.closed}
			size = 0
		}
		size += weight
		last = c.Datetime
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parts = append(parts, part)
	if !w.Open() {
		d.mu.Lock()
		defer d.mu.Unlock()
		remember(&d.parts, w, map[resourcesync.Interval][]changePackage{w: parts})
	}
	return parts, nil
}

// changePackageLength returns the length of a package, as far as those of what is
// in it are known.
func (s *Source) changePackageLength(ctx context.Context, st *set, p changePackage) (resourcesync.Length, error) {
	d := &st.changeDump
	d.mu.Lock()
	length, ok := d.lengths[p.Interval]
	d.mu.Unlock()
	if ok {
		return length, nil
	}
	inv, err := s.changes(ctx, target{kind: kindChangeManifest, set: st}, p)
	if err != nil {
		return resourcesync.Length{}, err
	}
	defer inv.body.free()
	length, err = inv.packageLength()
	if err == nil && p.closed {
		d.mu.Lock()
		defer d.mu.Unlock()
		remember(&d.lengths, p.Interval, map[resourcesync.Interval]resourcesync.Length{p.Interval: length})
	}
	return length, err
}

// name returns how a package is named in URLs: by its interval. A name that has an
// end never comes to be that of something else.
func (p changePackage) name() string {
	name := p.From.UTC().Format(windowLayout)
	if !p.Open() {
		name += "-" + p.Until.UTC().Format(windowLayout)
	}
	return name
}

// changeManifest takes the inventory of the package of changes whose manifest is
// t.
func (s *Source) changeManifest(ctx context.Context, t target) (*inventory, error) {
	begin, _, _ := strings.Cut(t.part, "-")
	from, err := time.Parse(windowLayout, begin)
	if err != nil || from.After(time.Now()) {
		return nil, notExist("an interval of the past", t)
	}
	windows, err := s.dumpedWindows(ctx, t.set)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(windows, func(w resourcesync.Interval) bool { return w.Contains(from) })
	if i >= 0 {
		parts, err := s.changeParts(ctx, t.set, windows[i])
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			if p.name() != t.part {
				continue
			}
			if inv, err := s.changes(ctx, t, p); !errors.Is(err, errMoved) {
				return inv, err
			}
		}
	}
	return nil, &goneError{index: s.routes.url(kindChangeDump, t.set, ""), reason: "the journal is divided otherwise, or no longer has these changes"}
}

// changes takes the inventory of a package of changes; t is its manifest. The
// caller frees the body.
func (s *Source) changes(ctx context.Context, t target, p changePackage) (*inventory, error) {
	inv := &inventory{sized: true}
	var err error
	if inv.doc, err = s.changeDocument(ctx, t); err != nil {
		return nil, err
	}
	inv.body, inv.at, err = s.listChanges(ctx, t, p.Interval, func(c resourcesync.Change) string { return "/" + inv.add(c) })
	if p.closed {
		inv.doc.forever, inv.doc.from, inv.doc.lastModified = true, p.From, inv.at
	}
	return inv, err
}
