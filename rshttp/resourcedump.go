package rshttp

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// dumpPackageState reads the state of a package or its manifest.
func dumpPackageState(ctx context.Context, t target, was *state) (*state, error) {
	return t.rangeState(ctx, t.set.packages, was)
}

// isDumpPackage reports whether the package or manifest t is listed.
func isDumpPackage(t target) bool { return t.isRangeOf(t.set.packages) }

// packageEntry returns the beginning of the entry of a package of a kind in a dump.
func (st *set) packageEntry(kind, part string) *rsxml.Entry {
	return &rsxml.Entry{
		Loc:      st.url(kind, part),
		Metadata: rsxml.Metadata{Type: "application/zip"},
		Links: []resourcesync.Link{{
			Rel:  resourcesync.RelContents,
			Href: st.url(st.routes.kinds[kind].manifest, part),
			Type: "application/xml",
		}},
	}
}

// dumpEntry returns the entry of the package with the resources in r.
func (st *set) dumpEntry(r resourcesync.Range, stats packages.Stats) *rsxml.Entry {
	e := st.packageEntry(kindDumpPackage, partition.FormatRange(r))
	e.LastMod, e.Metadata.At, e.Metadata.Length = stats.At, stats.At, stats.Length
	return e
}

// packageStats returns the length and the newest change of the package with the resources in
// r.
func (st *set) packageStats(ctx context.Context, r resourcesync.Range) (packages.Stats, error) {
	return st.resourcePackages.Stats(ctx, r, func(stat resourcesync.Stat) (packages.Stats, error) {
		b := render.Body{SizeOnly: true}
		defer b.Free()
		now := newResourceState(r, stat)
		c, err := listResourcePackage(ctx, target{kind: st.routes.kinds[kindDumpManifest], set: st}, now, &b)
		if err != nil {
			return packages.Stats{}, err
		}
		return st.packageSize().StatsOf(c, now.version, b.Size)
	})
}

// newPackages returns the partitioner of st into packages.
func newPackages(st *set) *partition.Partitioner {
	return &partition.Partitioner{
		Set:    st.name,
		Into:   "packages",
		Stater: st.stater,
		Cut:    st.resourcePackages.Cut,
		Dated:  st.cutter != nil,
		Group:  st.groupPackages,
		Lazy:   len(st.channels()) == 0, // or else the dump is announced
	}
}
