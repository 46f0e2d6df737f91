package rshttp

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// packageSize is the size of a new package.
func (s *Source) packageSize() packages.Size { return packages.Size(s.options.PackageSize) }

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
	c, doc, err := s.listPackage(ctx, target{kind: kindDumpManifest, set: st}, r, &b)
	if err != nil {
		return fact{}, err
	}
	f := fact{
		version: doc.version,
		count:   c.Len(),
		weight:  b.Size + s.packageSize().Share(c),
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

// cutPackages divides a set into packages. It reads no content. Packages that
// are as they were are not listed again.
func (s *Source) cutPackages(ctx context.Context, st *set, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
	cuts := paging.NewCuts(previous, s.packageSize().Resources())
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
		cuts.Add(res.Key, size+s.packageSize().Weight(res.Length), time.Time{})
	}
	return nil
}
