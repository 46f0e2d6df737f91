package rshttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// renderChangeDump makes what lies at a set's changedump.xml: the Change Dump if one
// is enough, else the index of several (section 13.1). It lists closed packages
// alone, and is open itself: more will come.
func (s *Source) renderChangeDump(ctx context.Context, t target) (*document, error) {
	doc, err := s.renderChangePackages(ctx, t)
	if errors.Is(err, errMoved) {
		doc, err = s.renderChangePackages(ctx, t)
	}
	return doc, err
}

func (s *Source) renderChangePackages(ctx context.Context, t target) (*document, error) {
	dump, err := s.changePackages(ctx, t.set)
	if err != nil {
		return nil, err
	}
	doc := &document{target: t, packages: dump.covers()}
	if parts := s.groupChanges(dump); len(parts) > 1 {
		return s.renderChangeIndex(t, doc, parts, kindChangeDumpPart)
	}
	return s.listChangePackages(ctx, t, doc, resourcesync.Interval{From: dump.since}, dump.packages)
}

// groupChanges divides the packages of a set into Change Dumps: one if they fit into
// it, else those that end in the same Window together, and at most PageSize of them.
// The last is open.
func (s *Source) groupChanges(dump *changeDump) []resourcesync.Interval {
	parts := []resourcesync.Interval{{From: dump.since}}
	if len(dump.packages) <= s.options.PageSize {
		return parts
	}
	var end time.Time
	n := 0
	for i, p := range dump.packages {
		of := paging.Boundary(p.Until, s.options.Window)
		if i > 0 && (!of.Equal(end) || n == s.options.PageSize) {
			parts[len(parts)-1].Until = p.From
			parts = append(parts, resourcesync.Interval{From: p.From})
			n = 0
		}
		end = of
		n++
	}
	return parts
}

// renderChangeDumpPart makes one Change Dump of an index.
func (s *Source) renderChangeDumpPart(ctx context.Context, t target) (*document, error) {
	from, err := partition.ParseTime(t.part)
	if err != nil {
		return nil, notExist("a time", t)
	}
	dump, err := s.changePackages(ctx, t.set)
	if err != nil {
		return nil, err
	}
	parts := s.groupChanges(dump)
	i, found := partition.Find(parts, from)
	switch {
	case len(parts) == 1, !found && i < len(parts):
		return nil, s.dumpMoved(t)
	case !found:
		return nil, notExist("a Change Dump", t)
	}
	part := parts[i]
	var packages []resourcesync.Interval
	for _, p := range dump.packages {
		if !p.From.Before(part.From) && (part.Open() || !p.Until.After(part.Until)) {
			packages = append(packages, p)
		}
	}
	doc := &document{target: t, packages: dump.covers()}
	if !part.Open() {
		doc.forever, doc.from = true, part.From
	}
	doc, err = s.listChangePackages(ctx, t, doc, part, packages)
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
func (s *Source) listChangePackages(ctx context.Context, t target, doc *document, iv resourcesync.Interval, packages []resourcesync.Interval) (*document, error) {
	b := render.Body{Head: s.changeHead(t, false, iv)}
	defer b.Free()
	for _, p := range packages {
		length, err := s.changePackageLength(ctx, t.set, p)
		if err != nil {
			return nil, err
		}
		e := s.packaged(kindChangePackage, kindChangeManifest, t.set, packageName(p))
		e.Metadata.From, e.Metadata.Until, e.Metadata.Length = p.From, p.Until, length
		if !b.Add(e) {
			return nil, fmt.Errorf("the Change Dump of set %q has outgrown the limits of a document: raise PackageSize", t.set.name)
		}
	}
	return doc.complete(b.Text())
}

// changesSince returns the time after which there are documents like t, which is
// about changes.
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
