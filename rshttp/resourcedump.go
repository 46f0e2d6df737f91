package rshttp

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A fact is what a Resource Dump says of a package, together with what dividing
// the set again takes. It is a function of the resources in the package's range.
type fact struct {
	version string // of the range; empty if not known
	length  resourcesync.Length
	at      time.Time
	count   int // resources
	weight  int // see weight
}

// facts remembers those of a set's packages, so that after a change only what it
// has touched is listed again. They also survive a request that was too short
// for all.
type facts struct {
	mu sync.Mutex
	of map[resourcesync.Range]fact
}

func (f *facts) get(r resourcesync.Range) (fact, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.of[r]
	return v, ok
}

func (f *facts) put(r resourcesync.Range, v fact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = make(map[resourcesync.Range]fact)
	}
	f.of[r] = v
}

// keep forgets all but the packages of p.
func (f *facts) keep(p *partition.Partition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.of) <= len(p.Cuts) {
		return
	}
	of := make(map[resourcesync.Range]fact, len(p.Cuts))
	for r := range p.Ranges() {
		if v, ok := f.of[r]; ok {
			of[r] = v
		}
	}
	f.of = of
}

// dumpPackageState reads the state of a package or its manifest. An unlisted one is not
// kept.
func dumpPackageState(ctx context.Context, t target, was *state) (*state, error) {
	r, ok := partition.ParseRange(t.part)
	if !ok {
		return nil, notExist("a range of keys", t)
	}
	listed := t.set.packages.Lists(r)
	st, err := t.set.resourceState(ctx, r, was)
	if err == nil && st != was && !listed {
		st.version = ""
	}
	return st, err
}

// isDumpPackage reports whether the package or manifest t is listed.
func isDumpPackage(t target) bool {
	r, ok := partition.ParseRange(t.part)
	return !ok || t.set.packages.Lists(r)
}

// packageEntry begins the entry of a package, which is of a kind, in a dump.
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
func (st *set) dumpEntry(r resourcesync.Range, f fact) *rsxml.Entry {
	e := st.packageEntry(kindDumpPackage, partition.FormatRange(r))
	e.LastMod, e.Metadata.At, e.Metadata.Length = f.at, f.at, f.length
	return e
}

// fact returns what a Resource Dump says of the package with the resources in r.
func (st *set) fact(ctx context.Context, r resourcesync.Range) (fact, error) {
	stat, err := st.stat(ctx, r)
	if err != nil {
		return fact{}, err
	}
	if f, ok := st.facts.get(r); ok && st.stater != nil && f.version == stat.Version {
		return f, nil
	}
	b := render.Body{SizeOnly: true}
	defer b.Free()
	now := newResourceState(r, stat)
	c, err := listResourcePackage(ctx, target{kind: st.routes.kinds[kindDumpManifest], set: st}, now, &b)
	if err != nil {
		return fact{}, err
	}
	f := fact{
		version: now.version,
		count:   c.Len(),
		weight:  b.Size + st.packageSize().Share(c),
	}
	if c.At.After(epoch) {
		f.at = c.At
	}
	if f.length, err = c.Length(); err != nil {
		return fact{}, err
	}
	st.facts.put(r, f)
	return f, nil
}

// newPackages returns the partitioner of st into packages.
func newPackages(st *set) *partition.Partitioner {
	return &partition.Partitioner{
		Set:    st.name,
		Into:   "packages",
		Stater: st.stater,
		Cut:    st.cutPackages,
		Dated:  st.cutter != nil,
		Group:  st.groupPackages,
		Lazy:   len(st.channels()) == 0, // or else the dump is announced
	}
}

// cutPackages divides a set into packages. It reads no content. Packages that
// are as they were are not listed again.
func (st *set) cutPackages(ctx context.Context, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
	cuts := paging.NewCuts(previous, st.packageSize().Resources())
	cuts.MaxPages = math.MaxInt // the dumps of an index hold them all
	if st.stater == nil || len(previous) <= 1 {
		err := st.weigh(ctx, partition.Whole, cuts)
		return cuts.Done(), err
	}
	for r := range partition.Ranges(previous, "") {
		stat, err := st.stater.Stat(ctx, r)
		if err != nil {
			return nil, err
		}
		if f, ok := st.facts.get(r); ok && f.version == stat.Version {
			cuts.AddPage(r.From, f.count, f.weight)
		} else if err := st.weigh(ctx, r, cuts); err != nil {
			return nil, err
		}
	}
	return cuts.Done(), nil
}

// weigh shows the resources in r to cuts.
func (st *set) weigh(ctx context.Context, r resourcesync.Range, cuts *paging.Cuts) error {
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceDumpManifest}}
	var builder entries.Builder
	for res, err := range checked.Resources(ctx, st.provider, r, nil) { // the manifest reports what it omits
		if err != nil {
			return err
		}
		size := builder.Size(&head, builder.Resource(&res))
		cuts.Add(res.Key, size+st.packageSize().Weight(res.Length), time.Time{})
	}
	return nil
}
