package document

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// packageEntry returns the beginning of the entry of a package of a kind in a dump.
func (st *Set) packageEntry(kind, part string) *rsxml.Entry {
	return &rsxml.Entry{
		Loc:      st.URL(kind, part),
		Metadata: rsxml.Metadata{Type: "application/zip"},
		Links: []resourcesync.Link{{
			Rel:  resourcesync.RelContents,
			Href: st.URL(st.Routes.Kinds[kind].Manifest, part),
			Type: "application/xml",
		}},
	}
}

func (st *Set) dumpEntry(r resourcesync.Range, stats packages.Stats) *rsxml.Entry {
	e := st.packageEntry(KindDumpPackage, st.PackagePart(r, stats))
	e.LastMod, e.Metadata.At, e.Metadata.Length = stats.At, stats.At, stats.Length
	return e
}

// PackagePart returns the name in URLs of the package with the resources in r.
func (st *Set) PackagePart(r resourcesync.Range, stats packages.Stats) string {
	part := partition.FormatRange(r)
	if st.Routes.static {
		part += "~" + stats.Version()
	}
	return part
}

// PackageStats returns the length and the newest change of the package with the resources in
// r.
func (st *Set) PackageStats(ctx context.Context, r resourcesync.Range) (packages.Stats, error) {
	return st.ResourcePackages.Stats(ctx, r, func(stat resourcesync.Stat) (packages.Stats, error) {
		b := render.Body{SizeOnly: true}
		defer b.Free()
		now := st.newResourceState(r, stat)
		c, err := listResourcePackage(ctx, Target{Kind: st.Routes.Kinds[KindDumpManifest], Set: st}, now, &b)
		if err != nil {
			return packages.Stats{}, err
		}
		return st.packageSize().StatsOf(c, now.Version, b.Size)
	})
}

// statsIn returns the stats of the package i of a Resource Dump in the state st, with the
// resources in r.
func (st *Set) statsIn(ctx context.Context, state *State, i int, r resourcesync.Range) (packages.Stats, error) {
	if state.Listed != nil {
		return state.Listed[i], nil
	}
	return st.PackageStats(ctx, r)
}

func newPackages(st *Set) *partition.Partitioner {
	return &partition.Partitioner{
		Set:    st.Name,
		Into:   "packages",
		Stater: st.Stater,
		Cut:    st.ResourcePackages.Cut,
		Dated:  st.Cutter != nil,
		Group:  st.groupPackages,
		Lazy:   len(st.Channels()) == 0, // or else the dump is announced
	}
}

// A Resource Dump with too many packages becomes an index of Resource Dumps (section 11.1).
// Each is a range of keys, like a page of a Resource List, and lists the packages that begin
// in it. It need not end where a package does, so it survives when packages are split or
// joined, and each package is in exactly one dump, wherever its boundaries are.

// groupPackages divides the packages of p into Resource Dumps, and keeps the boundaries of
// previous that still fit. previous may be nil.
func (st *Set) groupPackages(ctx context.Context, p, previous *partition.Partition) ([]resourcesync.Cut, error) {
	var cuts []resourcesync.Cut
	if previous != nil && p.HasCutsOf(previous) {
		cuts = slices.Clone(previous.Groups)
	} else {
		var before []resourcesync.Cut
		if previous != nil {
			before = previous.Groups
		}
		dumps := paging.NewCuts(before, st.Division.PageSize)
		head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceDump}}
		longest := packages.Stats{At: time.Unix(0, 1), Length: resourcesync.Bytes(math.MaxInt64)}
		var scratch []byte
		for r := range p.Ranges() {
			scratch, _ = rsxml.AppendEntry(scratch[:0], &head, st.dumpEntry(r, longest))
			dumps.Add(r.From, len(scratch), time.Time{})
		}
		cuts = dumps.Done()
	}
	if st.Stater == nil || len(cuts) == 1 {
		return cuts, nil
	}
	i := 0
	for r := range partition.Ranges(cuts, "") {
		_, covered := p.BeginningIn(r)
		stat, err := st.Stater.Stat(ctx, covered)
		if err != nil {
			return nil, err
		}
		cuts[i].Newest = stat.LastModified
		i++
	}
	return cuts, nil
}

// dumpRange returns the range of keys in which the packages that t lists begin.
func (t Target) dumpRange() (r resourcesync.Range, ok bool) {
	if t.Kind.Parent == "" {
		return partition.Whole, true
	}
	return partition.ParseRange(t.Part)
}

// isDumpPart reports whether the Resource Dump t is listed.
func isDumpPart(t Target) bool {
	r, ok := t.dumpRange()
	p := t.Set.Packages.Current()
	return !ok || p != nil && partition.Has(p.Groups, r)
}

// dumpState reads the state of a Resource Dump or its index. A dump is not rendered again
// until a pause after the last rendering, which may take long. An unlisted dump is not
// cached.
func dumpState(ctx context.Context, t Target, was *State) (*State, error) {
	r, ok := t.dumpRange()
	if !ok {
		return nil, t.NotExist("a range of keys")
	}
	p, err := t.Set.Packages.Get(ctx)
	if err != nil {
		return nil, err
	}
	isIndex := t.Kind.Parent == "" && len(p.Groups) > 1
	if was != nil && was.Partition.Number != p.Number {
		was = nil
	}
	if isIndex {
		return PartitionState(p, was), nil
	}
	if was != nil && time.Now().Before(was.rest) {
		return was, nil
	}
	_, covered := p.BeginningIn(r)
	st, err := t.Set.ResourceState(ctx, covered, was)
	if err != nil || st == was {
		return st, err
	}
	st.Partition = p
	if st.Version == "" {
		st.Version = PartitionState(p, nil).Version
	}
	if !isDumpPart(t) && t.Kind.Parent != "" {
		st.Version = ""
	}
	return st, nil
}

// renderResourceDump renders resourcedump.xml: the Resource Dump if one is enough (section
// 11.1), otherwise the index. It also renders a part of the index: the Resource Dump of the
// packages that begin in a range of keys.
func renderResourceDump(ctx context.Context, t Target, st *State, b *render.Body) error {
	p := st.Partition
	if t.Kind.Parent == "" && len(p.Groups) > 1 {
		return renderRangeIndex(t, p.At, p.Groups, b)
	}
	err := renderPackages(ctx, t, st, b)
	if errors.Is(err, errOutgrown) {
		// The set has grown since it was divided.
		if _, err = t.Set.Packages.Renew(ctx, p); err == nil {
			err = ErrMoved
		}
	}
	return err
}

// renderPackages renders the Resource Dump t.
func renderPackages(ctx context.Context, t Target, st *State, b *render.Body) error {
	started := time.Now()
	at := st.Modified
	b.Head = resourceHead(t, false, at)
	r, _ := t.dumpRange()
	ranges, _ := st.Partition.BeginningIn(r)
	for i, r := range render.Listed(b, slices.Collect(ranges), false) {
		stats, err := t.Set.statsIn(ctx, st, i, r)
		if err != nil {
			return err
		}
		if st.Modified.IsZero() && stats.At.After(at) {
			at = stats.At
		}
		if !b.Add(t.Set.dumpEntry(r, stats)) {
			return b.Full(&Gone{Index: t.URL(KindResourceDump, ""), Reason: "more packages begin in the range than a document can hold"})
		}
	}
	t.Set.ResourcePackages.Keep(st.Partition)
	if b.Window == nil { // otherwise, at covers only the packages on the page
		b.Head = resourceHead(t, false, at)
	}
	st.rest = time.Now().Add(partition.RestRatio * time.Since(started))
	return nil
}
