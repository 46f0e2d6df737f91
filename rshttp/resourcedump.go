package rshttp

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

func (st *set) dumpEntry(r resourcesync.Range, stats packages.Stats) *rsxml.Entry {
	e := st.packageEntry(kindDumpPackage, st.packagePart(r, stats))
	e.LastMod, e.Metadata.At, e.Metadata.Length = stats.At, stats.At, stats.Length
	return e
}

// packagePart returns the name in URLs of the package with the resources in r.
func (st *set) packagePart(r resourcesync.Range, stats packages.Stats) string {
	part := partition.FormatRange(r)
	if st.routes.static {
		part += "~" + stats.Version()
	}
	return part
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

func newPackages(st *set) *partition.Partitioner {
	return &partition.Partitioner{
		Set:    st.Name,
		Into:   "packages",
		Stater: st.Stater,
		Cut:    st.resourcePackages.Cut,
		Dated:  st.Cutter != nil,
		Group:  st.groupPackages,
		Lazy:   len(st.channels()) == 0, // or else the dump is announced
	}
}

// A Resource Dump with too many packages becomes an index of Resource Dumps (section 11.1).
// Each is a range of keys, like a page of a Resource List, and lists the packages that begin
// in it. It need not end where a package does, so it survives when packages are split or
// joined, and each package is in exactly one dump whatever its boundaries are.

// groupPackages divides the packages of p into Resource Dumps, and keeps the boundaries of
// previous that still fit. previous may be nil.
func (st *set) groupPackages(ctx context.Context, p, previous *partition.Partition) ([]resourcesync.Cut, error) {
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
func (t target) dumpRange() (r resourcesync.Range, ok bool) {
	if t.kind.parent == "" {
		return partition.Whole, true
	}
	return partition.ParseRange(t.part)
}

// isDumpPart reports whether the Resource Dump t is listed.
func isDumpPart(t target) bool {
	r, ok := t.dumpRange()
	p := t.set.packages.Current()
	return !ok || p != nil && partition.Has(p.Groups, r)
}

// dumpState reads the state of a Resource Dump or its index. A dump is not rendered again
// until a pause after the last rendering, which may take long. An unlisted dump is not
// cached.
func dumpState(ctx context.Context, t target, was *state) (*state, error) {
	r, ok := t.dumpRange()
	if !ok {
		return nil, t.notExist("a range of keys")
	}
	p, err := t.set.packages.Get(ctx)
	if err != nil {
		return nil, err
	}
	isIndex := t.kind.parent == "" && len(p.Groups) > 1
	if was != nil && was.partition.Number != p.Number {
		was = nil
	}
	if isIndex {
		return partitionState(p, was), nil
	}
	if was != nil && time.Now().Before(was.rest) {
		return was, nil
	}
	_, covered := p.BeginningIn(r)
	st, err := t.set.resourceState(ctx, covered, was)
	if err != nil || st == was {
		return st, err
	}
	st.partition = p
	if st.version == "" {
		st.version = partitionState(p, nil).version
	}
	if !isDumpPart(t) && t.kind.parent != "" {
		st.version = ""
	}
	return st, nil
}

// renderResourceDump renders resourcedump.xml: the Resource Dump if one is enough (section
// 11.1), otherwise the index. It also renders a part of the index: the Resource Dump of the
// packages that begin in a range of keys.
func renderResourceDump(ctx context.Context, t target, st *state, b *render.Body) error {
	p := st.partition
	if t.kind.parent == "" && len(p.Groups) > 1 {
		return renderRangeIndex(t, p.At, p.Groups, b)
	}
	err := renderPackages(ctx, t, st, b, t.set.packageStats)
	if errors.Is(err, errOutgrown) {
		// The set has grown since it was divided.
		if _, err = t.set.packages.Renew(ctx, p); err == nil {
			err = errMoved
		}
	}
	return err
}

// renderPackages renders the Resource Dump t. statsOf returns the stats of its packages.
func renderPackages(ctx context.Context, t target, st *state, b *render.Body, statsOf func(context.Context, resourcesync.Range) (packages.Stats, error)) error {
	started := time.Now()
	at := st.modified
	b.Head = resourceHead(t, false, at)
	r, _ := t.dumpRange()
	ranges, _ := st.partition.BeginningIn(r)
	for r := range ranges {
		stats, err := statsOf(ctx, r)
		if err != nil {
			return err
		}
		if st.modified.IsZero() && stats.At.After(at) {
			at = stats.At
		}
		if !b.Add(t.set.dumpEntry(r, stats)) {
			return &goneError{index: t.url(kindResourceDump, ""), reason: "more packages begin in the range than a document can hold"}
		}
	}
	t.set.resourcePackages.Keep(st.partition)
	b.Head = resourceHead(t, false, at)
	st.rest = time.Now().Add(partition.RestRatio * time.Since(started))
	return nil
}
