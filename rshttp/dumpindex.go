package rshttp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Resource Dump that would have too many packages becomes an index of several
// (section 11.1). Each of them is a range of keys, like a page of a Resource List,
// and lists the packages that begin in it. So it need not end where a package does,
// and survives when packages are divided or joined: whatever their boundaries are,
// each package is in exactly one dump.

// groupPackages divides the packages of p into Resource Dumps, keeping of those of
// previous, which may be nil, what still fits.
func (s *Source) groupPackages(ctx context.Context, st *set, p, previous *partition.Partition) ([]resourcesync.Cut, error) {
	var before []resourcesync.Cut
	if previous != nil {
		before = previous.Groups
	}
	dumps := paging.NewCuts(before, s.options.PageSize)
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceDump}}
	longest := fact{at: time.Unix(0, 1), length: resourcesync.Bytes(math.MaxInt64)}
	var scratch []byte
	for r := range p.Ranges() {
		scratch, _ = rsxml.AppendEntry(scratch[:0], &head, s.packageEntry(st, r, longest))
		dumps.Add(r.From, len(scratch), time.Time{})
	}
	cuts := dumps.Done()
	if st.stater == nil || len(cuts) == 1 {
		return cuts, nil
	}
	i := 0
	for r := range partition.Ranges(cuts, "") {
		_, covered := p.BeginningIn(r)
		stat, err := st.stater.Stat(ctx, covered)
		if err != nil {
			return nil, err
		}
		cuts[i].Newest = stat.LastModified
		i++
	}
	return cuts, nil
}

// renderResourceDump makes what lies at a set's resourcedump.xml: the Resource Dump
// if one is enough (section 11.1), else the index of all; or, if t is a part of that
// index, the Resource Dump of the packages that begin in its range of keys.
func (s *Source) renderResourceDump(ctx context.Context, t target) (*document, error) {
	r, ok := partition.Whole, true
	if t.kind == kindDumpPart {
		r, ok = partition.ParseRange(t.part)
	}
	if !ok {
		return nil, notExist("a range of keys", t)
	}
	d := t.set.packages
	p, err := d.Get(ctx)
	if err != nil {
		return nil, err
	}
	doc, err := s.renderDump(ctx, t, p, r)
	if !errors.Is(err, errOutgrown) {
		return doc, err
	}
	// More resources have come than the division knows of.
	if p, err = d.Renew(ctx, p); err != nil {
		return nil, err
	}
	return s.renderDump(ctx, t, p, r)
}

func (s *Source) renderDump(ctx context.Context, t target, p *partition.Partition, r resourcesync.Range) (*document, error) {
	if t.kind == kindResourceDump && len(p.Groups) > 1 {
		return s.renderDumpIndex(t, p)
	}
	doc, err := s.renderPackages(ctx, t, p, r)
	if err == nil && t.kind == kindDumpPart && !partition.Has(p.Groups, r) {
		// Anybody may ask for any range. It must not take the place of what
		// others will ask for.
		doc.version, doc.division = "", 0
	}
	return doc, err
}

func (s *Source) renderDumpIndex(t target, p *partition.Partition) (*document, error) {
	b := render.Body{Head: s.resourceHead(t, true, p.At)}
	defer b.Free()
	i := 0
	for r := range partition.Ranges(p.Groups, "") {
		newest := p.Groups[i].Newest
		i++
		fits := b.Add(&rsxml.Entry{
			Loc:     s.routes.url(kindDumpPart, t.set, partition.FormatRange(r)),
			LastMod: newest,
		})
		if !fits {
			return nil, fmt.Errorf("the Resource Dump Index of set %q has outgrown the limits of a document: raise PackageSize", t.set.name)
		}
	}
	return (&document{target: t, division: p.Number}).complete(b.Text())
}

// freshDump reports whether d, one of the documents of a Resource Dump, still holds
// as far as the division of its set can tell: that is known for an index, and as
// long as the others rest.
func (s *Source) freshDump(ctx context.Context, d *document) (fresh, known bool, err error) {
	p, err := d.target.set.packages.Get(ctx)
	if err != nil || p.Number != d.division {
		return false, true, err
	}
	isIndex := d.target.kind == kindResourceDump && len(p.Groups) > 1
	fresh = isIndex || time.Now().Before(d.rest)
	return fresh, fresh, nil
}
