package rshttp

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// resourceDump puts the Resource Dump, with its packages and their manifests.
func (w *staticWalk) resourceDump(ctx context.Context) error {
	p, err := w.current(ctx, w.set.packages)
	if err != nil {
		return err
	}
	if len(p.Groups) == 1 {
		return w.packages(ctx, p, w.target(kindResourceDump, ""), partition.Whole)
	}
	for r := range partition.Ranges(p.Groups, "") {
		if err := w.packages(ctx, p, w.target(kindDumpPart, partition.FormatRange(r)), r); err != nil {
			return err
		}
	}
	return w.put(w.document(w.target(kindResourceDump, ""), "", digest(p.At.UnixNano(), p.Groups), partitionState(p, nil)))
}

// packages puts t, the Resource Dump of the packages of p that begin in r, after the packages.
func (w *staticWalk) packages(ctx context.Context, p *partition.Partition, t target, r resourcesync.Range) error {
	ranges, covered := p.BeginningIn(r)
	st, err := w.set.resourceState(ctx, covered, nil) // first: the dump may show later changes
	if err != nil {
		return err
	}
	st.partition = p
	var listed []packages.Stats
	for r := range ranges {
		stats, err := w.resourcePackage(ctx, r)
		if err != nil {
			return err
		}
		listed = append(listed, stats)
	}
	version := ""
	if st.version != "" {
		version = digest(st.version, p.Cuts, listed)
	}
	// The dump lists the packages that were put, even if the set has changed since.
	return w.put(w.write(t, t.part, version, func(ctx context.Context, b *render.Body) error {
		i := 0
		return renderPackages(ctx, t, st, b, func(context.Context, resourcesync.Range) (packages.Stats, error) {
			i++
			return listed[i-1], nil
		})
	}))
}

// resourcePackage puts the package with the resources in r, and its manifest.
func (w *staticWalk) resourcePackage(ctx context.Context, r resourcesync.Range) (packages.Stats, error) {
	stats, err := w.set.packageStats(ctx, r)
	if err != nil {
		return stats, err
	}
	// Both must show the state that their names and the dump say.
	check := func(ctx context.Context) error {
		now, err := statOf(ctx, w.set.Stater, r)
		if err == nil && now.Version != stats.Version() {
			err = errMoved
		}
		return err
	}
	st, err := w.set.resourceState(ctx, r, nil)
	if err != nil {
		return stats, err
	}
	part := w.set.packagePart(r, stats)
	manifest := w.document(w.target(kindDumpManifest, partition.FormatRange(r)), part, stats.Version(), st)
	render := manifest.open
	manifest.open = func(ctx context.Context) (StaticContent, error) {
		content, err := render(ctx)
		if err == nil {
			err = check(ctx)
		}
		return content, err
	}
	if err := w.put(manifest); err != nil {
		return stats, err
	}
	return stats, w.put(w.packageAt(w.target(kindDumpPackage, partition.FormatRange(r)), part, stats.Version(), check))
}

// changeDump puts the Change Dump, with its packages and their manifests. It closes the last
// package first if its time is over.
func (w *staticWalk) changeDump(ctx context.Context) error {
	if _, err := w.set.changePackages.Seal(ctx); err != nil {
		return err
	}
	dump, err := w.set.changePackages.Dump(ctx)
	if err != nil {
		return err
	}
	for _, p := range dump.Packages {
		name := packages.Name(p)
		if err := w.put(w.document(w.target(kindChangeManifest, name), name, "closed", new(state))); err != nil {
			return err
		}
		t := w.target(kindChangePackage, name)
		if err := w.put(w.packageAt(t, name, "closed", func(context.Context) error { return nil })); err != nil {
			return err
		}
	}
	parts := w.set.dumpParts(dump)
	if len(parts) > 1 {
		for _, iv := range parts {
			t := w.target(kindChangeDumpPart, partition.FormatTime(iv.From))
			if err := w.put(w.document(t, t.part, digest(iv, dump.In(iv)), &state{dump: dump})); err != nil {
				return err
			}
		}
	}
	return w.put(w.document(w.target(kindChangeDump, ""), "", digest(dump.Since.UnixNano(), dump.Packages), &state{dump: dump}))
}
