package static

import (
	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// resourceDump puts the Resource Dump, with its packages and their manifests.
func (w *walk) resourceDump() error {
	p, err := w.current(w.set.Packages)
	if err != nil {
		return err
	}
	for r := range partition.Ranges(p.Groups, "") {
		if len(p.Groups) == 1 {
			return w.dump(p, document.KindResourceDump, "", r)
		}
		if err := w.dump(p, document.KindDumpPart, partition.FormatRange(r), r); err != nil {
			return err
		}
	}
	return w.put(document.KindResourceDump, "", digest(p.At.UnixNano(), p.Groups), document.PartitionState(p, nil))
}

// dump puts the Resource Dump of the packages of p that begin in r, after the packages. It
// lists those that were put, even if the set has changed since.
func (w *walk) dump(p *partition.Partition, kind, part string, r resourcesync.Range) error {
	ranges, covered := p.BeginningIn(r)
	st, err := w.state(covered) // first: the dump may show later changes
	if err != nil {
		return err
	}
	st.Partition = p
	for r := range ranges {
		stats, err := w.resourcePackage(r)
		if err != nil {
			return err
		}
		st.Listed = append(st.Listed, stats)
		if err := w.session.catchUp(w.ctx, w.writer); err != nil {
			return err
		}
	}
	return w.put(kind, part, digestIn(st, p.Cuts, st.Listed), st)
}

// resourcePackage puts the package with the resources in r, and its manifest.
func (w *walk) resourcePackage(r resourcesync.Range) (packages.Stats, error) {
	stats, err := during(w.ctx, w.writer, func() (packages.Stats, error) { return w.set.PackageStats(w.ctx, r) })
	if err != nil {
		return stats, err
	}
	// Both must show the state that their names and the dump say.
	check := func() error {
		now, err := document.StatOf(w.ctx, w.set.Stater, r)
		if err == nil && now.Version != stats.Version() {
			err = document.ErrMoved
		}
		return err
	}
	st, err := w.state(r)
	part, name := partition.FormatRange(r), w.set.PackagePart(r, stats)
	if err == nil {
		err = w.putNamed(document.KindDumpManifest, part, name, stats.Version(), st, check)
	}
	if err == nil {
		err = w.putNamed(document.KindDumpPackage, part, name, stats.Version(), nil, check)
	}
	return stats, err
}

// changeDump puts the Change Dump, with its packages and their manifests. It closes the last
// package first if its time is over.
func (w *walk) changeDump() error {
	dump, err := during(w.ctx, w.writer, func() (*packages.ChangeDump, error) {
		if _, err := w.set.ChangePackages.Seal(w.ctx); err != nil {
			return nil, err
		}
		return w.set.ChangePackages.Dump(w.ctx)
	})
	if err != nil {
		return err
	}
	for _, p := range dump.Packages {
		for _, kind := range []string{document.KindChangeManifest, document.KindChangePackage} {
			if err := w.put(kind, packages.Name(p), "closed", new(document.State)); err != nil {
				return err
			}
		}
		if err := w.session.catchUp(w.ctx, w.writer); err != nil {
			return err
		}
	}
	if parts := w.set.DumpParts(dump); len(parts) > 1 {
		for _, iv := range parts {
			if err := w.put(document.KindChangeDumpPart, partition.FormatTime(iv.From), digest(iv, dump.In(iv)), &document.State{Dump: dump}); err != nil {
				return err
			}
		}
	}
	return w.put(document.KindChangeDump, "", digest(dump.Since.UnixNano(), dump.Packages), &document.State{Dump: dump})
}
