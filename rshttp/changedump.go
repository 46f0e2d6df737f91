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

// changeDumpState reads the state of a document that lists packages of changes: which
// packages there are. None of them ever changes.
func changeDumpState(ctx context.Context, t target, was *state) (*state, error) {
	if closed, err := was.stillClosed(ctx); err != nil || closed {
		return was, err
	}
	dump, err := t.set.changePackages(ctx)
	if err != nil {
		return nil, err
	}
	covers := dump.covers()
	if was != nil && !was.closed && was.changes == covers {
		return was, nil
	}
	return &state{version: packageName(covers), changes: covers, dump: dump}, nil
}

// isChangePackage reports whether the package, manifest or Change Dump t is listed.
func isChangePackage(t target) bool { return t.set.changeDump.Load().lists(t.part) }

// renderChangeDump renders what lies at a set's changedump.xml: the Change Dump if one
// is enough, else the index of several (section 13.1). It lists closed packages alone,
// and is open itself: more will come.
func renderChangeDump(ctx context.Context, t target, st *state, b *render.Body) error {
	if parts := t.set.groupChanges(st.dump); len(parts) > 1 {
		return renderChangeIndex(t, b, parts, kindChangeDumpPart)
	}
	return listChangePackages(ctx, t, b, resourcesync.Interval{From: st.dump.since}, st.dump.packages)
}

// groupChanges divides the packages of a set into Change Dumps: one if they fit into
// it, else those that end in the same Window together, and at most PageSize of them.
// The last is open.
func (st *set) groupChanges(dump *changeDump) []resourcesync.Interval {
	parts := []resourcesync.Interval{{From: dump.since}}
	if len(dump.packages) <= st.options.PageSize {
		return parts
	}
	var end time.Time
	n := 0
	for i, p := range dump.packages {
		of := paging.Boundary(p.Until, st.options.Window)
		if i > 0 && (!of.Equal(end) || n == st.options.PageSize) {
			parts[len(parts)-1].Until = p.From
			parts = append(parts, resourcesync.Interval{From: p.From})
			n = 0
		}
		end = of
		n++
	}
	return parts
}

// renderChangeDumpPart renders one Change Dump of an index.
func renderChangeDumpPart(ctx context.Context, t target, st *state, b *render.Body) error {
	from, err := partition.ParseTime(t.part)
	if err != nil {
		return notExist("a time", t)
	}
	parts := t.set.groupChanges(st.dump)
	i, found := partition.Find(parts, from)
	switch {
	case len(parts) == 1, !found && i < len(parts):
		return t.dumpMoved()
	case !found:
		return notExist("a Change Dump", t)
	}
	part := parts[i]
	var packages []resourcesync.Interval
	for _, p := range st.dump.packages {
		if !p.From.Before(part.From) && (part.Open() || !p.Until.After(part.Until)) {
			packages = append(packages, p)
		}
	}
	if !part.Open() {
		st.close(versionJournal{journal{t.set}}, part, time.Time{})
	}
	err = listChangePackages(ctx, t, b, part, packages)
	if errors.Is(err, errMoved) {
		err = t.dumpMoved()
	}
	return err
}

// dumpMoved is the answer to a request for a document of a Change Dump that is no
// more.
func (t target) dumpMoved() error {
	return &goneError{index: t.url(kindChangeDump, ""), reason: "the journal is divided otherwise, or no longer has these changes"}
}

// listChangePackages writes a Change Dump of the packages of iv into b.
func listChangePackages(ctx context.Context, t target, b *render.Body, iv resourcesync.Interval, packages []resourcesync.Interval) error {
	b.Head = changeHead(t, false, iv)
	for _, p := range packages {
		length, err := t.set.changePackageLength(ctx, p)
		if err != nil {
			return err
		}
		e := t.set.packageEntry(kindChangePackage, packageName(p))
		e.Metadata.From, e.Metadata.Until, e.Metadata.Length = p.From, p.Until, length
		if !b.Add(e) {
			return fmt.Errorf("the Change Dump of set %q has outgrown the limits of a document: raise PackageSize", t.set.name)
		}
	}
	return nil
}
