package rshttp

import (
	"github.com/resourcesync-go/resourcesync/internal/document"

	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// resourceDump puts the Resource Dump, with its packages and their manifests.
func (w *staticWalk) resourceDump(ctx context.Context) error {
	p, err := w.current(ctx, w.set.Packages)
	if err != nil {
		return err
	}
	if len(p.Groups) == 1 {
		return w.packages(ctx, p, w.target(document.KindResourceDump, ""), partition.Whole)
	}
	for r := range partition.Ranges(p.Groups, "") {
		if err := w.packages(ctx, p, w.target(document.KindDumpPart, partition.FormatRange(r)), r); err != nil {
			return err
		}
	}
	return w.put(w.document(w.target(document.KindResourceDump, ""), "", digest(p.At.UnixNano(), p.Groups), document.PartitionState(p, nil)))
}

// packages puts t, the Resource Dump of the packages of p that begin in r, after the packages.
func (w *staticWalk) packages(ctx context.Context, p *partition.Partition, t document.Target, r resourcesync.Range) error {
	ranges, covered := p.BeginningIn(r)
	st, err := w.set.ResourceState(ctx, covered, nil) // first: the dump may show later changes
	if err != nil {
		return err
	}
	st.Partition = p
	var listed []packages.Stats
	for r := range ranges {
		stats, err := w.resourcePackage(ctx, r)
		if err != nil {
			return err
		}
		listed = append(listed, stats)
	}
	version := ""
	if st.Version != "" {
		version = digest(st.Version, p.Cuts, listed)
	}
	// The dump lists the packages that were put, even if the set has changed since.
	return w.put(w.write(t, t.Part, version, func(ctx context.Context, b *render.Body) error {
		i := 0
		return document.RenderPackages(ctx, t, st, b, func(context.Context, resourcesync.Range) (packages.Stats, error) {
			i++
			return listed[i-1], nil
		})
	}))
}

// resourcePackage puts the package with the resources in r, and its manifest.
func (w *staticWalk) resourcePackage(ctx context.Context, r resourcesync.Range) (packages.Stats, error) {
	stats, err := w.set.PackageStats(ctx, r)
	if err != nil {
		return stats, err
	}
	// Both must show the state that their names and the dump say.
	check := func(ctx context.Context) error {
		now, err := document.StatOf(ctx, w.set.Stater, r)
		if err == nil && now.Version != stats.Version() {
			err = document.ErrMoved
		}
		return err
	}
	st, err := w.set.ResourceState(ctx, r, nil)
	if err != nil {
		return stats, err
	}
	part := w.set.PackagePart(r, stats)
	manifest := w.document(w.target(document.KindDumpManifest, partition.FormatRange(r)), part, stats.Version(), st)
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
	return stats, w.put(w.packageAt(w.target(document.KindDumpPackage, partition.FormatRange(r)), part, stats.Version(), check))
}

// changeDump puts the Change Dump, with its packages and their manifests. It closes the last
// package first if its time is over.
func (w *staticWalk) changeDump(ctx context.Context) error {
	if _, err := w.set.ChangePackages.Seal(ctx); err != nil {
		return err
	}
	dump, err := w.set.ChangePackages.Dump(ctx)
	if err != nil {
		return err
	}
	for _, p := range dump.Packages {
		name := packages.Name(p)
		if err := w.put(w.document(w.target(document.KindChangeManifest, name), name, "closed", new(document.State))); err != nil {
			return err
		}
		t := w.target(document.KindChangePackage, name)
		if err := w.put(w.packageAt(t, name, "closed", func(context.Context) error { return nil })); err != nil {
			return err
		}
	}
	parts := w.set.DumpParts(dump)
	if len(parts) > 1 {
		for _, iv := range parts {
			t := w.target(document.KindChangeDumpPart, partition.FormatTime(iv.From))
			if err := w.put(w.document(t, t.Part, digest(iv, dump.In(iv)), &document.State{Dump: dump})); err != nil {
				return err
			}
		}
	}
	return w.put(w.document(w.target(document.KindChangeDump, ""), "", digest(dump.Since.UnixNano(), dump.Packages), &document.State{Dump: dump}))
}
