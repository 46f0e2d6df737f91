package rshttp

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A new package has as many resources as fit into PackageSize at perResource bytes
// each: opening a smaller one takes as long as sending that many bytes. It is never
// less than minResources, and a quarter below the limit of a manifest at most.
const (
	perResource  = 16 << 10
	minResources = 1000
	maxResources = rsxml.MaxEntries / 4 * 3
)

// packageEvery returns the number of resources that a package is cut for.
func (s *Source) packageEvery() int {
	return int(min(max(s.options.PackageSize/perResource, minResources), maxResources))
}

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

// renderPackages makes a Resource Dump of those packages of p that begin in r.
func (s *Source) renderPackages(ctx context.Context, t target, p *partition.Partition, r resourcesync.Range) (*document, error) {
	started := time.Now()
	ranges, covered := p.BeginningIn(r)
	doc := &document{target: t, division: p.Number, keys: covered}
	if err := doc.take(ctx); err != nil {
		return nil, err
	}
	if doc.lastModified.After(started) {
		doc.lastModified = time.Time{} // as in a Resource List
	}
	at := doc.lastModified
	b := render.Body{Head: s.resourceHead(t, false, at)}
	defer b.Free()
	for r := range ranges {
		f, err := s.fact(ctx, t.set, r)
		if err != nil {
			return nil, err
		}
		if doc.lastModified.IsZero() && f.at.After(at) {
			at = f.at
		}
		if !b.Add(s.packageEntry(t.set, r, f)) {
			return nil, &goneError{index: s.routes.url(kindResourceDump, t.set, ""), reason: "more packages begin in the range than a document holds"}
		}
	}
	t.set.facts.keep(p)
	b.Head = s.resourceHead(t, false, at)
	doc.rest = time.Now().Add(partition.RestRatio * time.Since(started))
	return doc.complete(b.Text())
}

func (s *Source) packageEntry(st *set, r resourcesync.Range, f fact) *rsxml.Entry {
	e := s.packaged(kindDumpPackage, kindDumpManifest, st, partition.FormatRange(r))
	e.LastMod, e.Metadata.At, e.Metadata.Length = f.at, f.at, f.length
	return e
}

// packaged begins the entry of a package in a dump. The kinds are those of the
// package and of its manifest.
func (s *Source) packaged(kind, manifest string, st *set, part string) *rsxml.Entry {
	return &rsxml.Entry{
		Loc:      s.routes.url(kind, st, part),
		Metadata: rsxml.Metadata{Type: "application/zip"},
		Links: []resourcesync.Link{{
			Rel:  resourcesync.RelContents,
			Href: s.routes.url(manifest, st, part),
			Type: "application/xml",
		}},
	}
}

// fact returns what a Resource Dump says of the package with the resources in r.
func (s *Source) fact(ctx context.Context, st *set, r resourcesync.Range) (fact, error) {
	if st.stater != nil {
		stat, err := st.stater.Stat(ctx, r)
		if err != nil {
			return fact{}, err
		}
		if f, ok := st.facts.get(r); ok && f.version == stat.Version {
			return f, nil
		}
	}
	b := render.Body{SizeOnly: true}
	defer b.Free()
	inv, err := s.resources(ctx, target{kind: kindDumpManifest, set: st}, r, &b)
	if err != nil {
		return fact{}, err
	}
	f := fact{
		version: inv.doc.version,
		count:   len(inv.items),
		weight:  b.Size + s.share(inv.bytes),
	}
	if inv.at.After(epoch) {
		f.at = inv.at
	}
	if f.length, err = inv.packageLength(); err != nil {
		return fact{}, err
	}
	st.facts.put(r, f)
	return f, nil
}

// dumpManifest takes the inventory of the package of resources whose manifest is
// t.
func (s *Source) dumpManifest(ctx context.Context, t target) (*inventory, error) {
	r, ok := partition.ParseRange(t.part)
	if !ok {
		return nil, notExist("a range of keys", t)
	}
	unlisted := !t.set.packages.Lists(r)
	var b render.Body
	defer b.Free()
	inv, err := s.resources(ctx, t, r, &b)
	switch {
	case errors.Is(err, errOutgrown):
		if !unlisted {
			t.set.packages.Invalidate()
		}
		return nil, s.outgrown(t)
	case err != nil:
		return nil, err
	case unlisted:
		inv.doc.version, inv.unlisted = "", true
	}
	inv.doc, err = inv.doc.complete(b.Text())
	return inv, err
}

// outgrown answers a request for a package of resources that would be too large.
func (s *Source) outgrown(t target) error {
	return &goneError{index: s.routes.url(kindResourceDump, t.set, ""), reason: errOutgrown.Error()}
}

// cutPackages divides a set into packages. It reads no content. Packages that
// are as they were are not listed again.
func (s *Source) cutPackages(ctx context.Context, st *set, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
	cuts := paging.NewCuts(previous, s.packageEvery())
	cuts.MaxPages = math.MaxInt // the dumps of an index hold them all
	if st.stater == nil || len(previous) <= 1 {
		err := s.weigh(ctx, st, partition.Whole, cuts)
		return cuts.Done(), err
	}
	for r := range partition.Ranges(previous, "") {
		stat, err := st.stater.Stat(ctx, r)
		if err != nil {
			return nil, err
		}
		if f, ok := st.facts.get(r); ok && f.version == stat.Version {
			cuts.AddPage(r.From, f.count, f.weight)
		} else if err := s.weigh(ctx, st, r, cuts); err != nil {
			return nil, err
		}
	}
	return cuts.Done(), nil
}

// weigh shows the resources in r to cuts.
func (s *Source) weigh(ctx context.Context, st *set, r resourcesync.Range, cuts *paging.Cuts) error {
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceDumpManifest}}
	var builder entries.Builder
	for res, err := range checked.Resources(ctx, st.provider, r, nil) { // the manifest reports what it omits
		if err != nil {
			return err
		}
		size := builder.Size(&head, builder.Resource(&res))
		cuts.Add(res.Key, size+s.bitstreamWeight(res.Length), time.Time{})
	}
	return nil
}

// bitstreamWeight returns what a bitstream adds to the weight of the entry that
// names it: its path and its share.
func (s *Source) bitstreamWeight(l resourcesync.Length) int {
	length, _ := l.Bytes()
	return virtualzip.MaxName + s.share(length)
}

// share returns the share that content of length bytes has of a package, as that
// part of the bytes of a full manifest. Added to the size of an entry it gives the
// weight of a resource: packages of no more than paging.MaxBytes keep to both
// limits.
func (s *Source) share(length int64) int {
	if length <= 0 {
		return 0
	}
	return 1 + int(paging.MaxBytes*min(1, float64(length)/float64(s.options.PackageSize)))
}
