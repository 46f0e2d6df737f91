package rshttp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
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
func (s *Source) groupPackages(ctx context.Context, st *set, p, previous *pages) ([]resourcesync.Cut, error) {
	var before []resourcesync.Cut
	if previous != nil {
		before = previous.dumps
	}
	dumps := paging.NewCuts(before, s.options.PageSize)
	head := rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceDump}}
	longest := fact{at: time.Unix(0, 1), length: resourcesync.Bytes(math.MaxInt64)}
	var scratch []byte
	for r := range p.ranges() {
		scratch, _ = rsxml.AppendEntry(scratch[:0], &head, s.packageEntry(st, r, longest))
		dumps.Add(r.From, len(scratch), time.Time{})
	}
	cuts := dumps.Done()
	if st.stater == nil || len(cuts) == 1 {
		return cuts, nil
	}
	i := 0
	for r := range rangesOf(cuts, "") {
		_, covered := p.beginningIn(r)
		stat, err := st.stater.Stat(ctx, covered)
		if err != nil {
			return nil, err
		}
		cuts[i].Newest = stat.LastModified
		i++
	}
	return cuts, nil
}

// beginningIn returns those of p that begin in r, and the range of keys that they
// cover together: r itself if there are none.
func (p *pages) beginningIn(r resourcesync.Range) (ranges iter.Seq[resourcesync.Range], covered resourcesync.Range) {
	first := 0 // page i begins where page i-1 ends
	if r.From != "" {
		first = 1 + p.endingBefore(r.From)
	}
	end := len(p.pages)
	if r.To != "" {
		end = 1 + p.endingBefore(r.To)
	}
	if end <= first {
		return func(func(resourcesync.Range) bool) {}, r
	}
	covered.To = p.pages[end-1].Key
	if first > 0 {
		covered.From = p.pages[first-1].Key
	}
	return rangesOf(p.pages[first:end], covered.From), covered
}

// endingBefore returns how many pages of p end before key.
func (p *pages) endingBefore(key string) int {
	last := len(p.pages) - 1 // which has no end
	n, _ := slices.BinarySearchFunc(p.pages[:last], key, func(c resourcesync.Cut, key string) int { return strings.Compare(c.Key, key) })
	return n
}

// renderResourceDump makes what lies at a set's resourcedump.xml: the Resource Dump
// if one is enough (section 11.1), else the index of all; or, if t is a part of that
// index, the Resource Dump of the packages that begin in its range of keys.
func (s *Source) renderResourceDump(ctx context.Context, t target) (*document, error) {
	r, ok := wholeSet, true
	if t.kind == kindDumpPart {
		r, ok = parseRange(t.part)
	}
	if !ok {
		return nil, notExist("a range of keys", t)
	}
	d := &t.set.packages
	p, err := s.division(ctx, d)
	if err != nil {
		return nil, err
	}
	doc, err := s.renderDump(ctx, t, p, r)
	if !errors.Is(err, errOutgrown) {
		return doc, err
	}
	// More resources have come than the division knows of.
	if p, err = s.divideAnew(ctx, d, p); err != nil {
		return nil, err
	}
	return s.renderDump(ctx, t, p, r)
}

func (s *Source) renderDump(ctx context.Context, t target, p *pages, r resourcesync.Range) (*document, error) {
	if t.kind == kindResourceDump && len(p.dumps) > 1 {
		return s.renderDumpIndex(t, p)
	}
	doc, err := s.renderPackages(ctx, t, p, r)
	if err == nil && t.kind == kindDumpPart && !isCut(p.dumps, r) {
		// Anybody may ask for any range. It must not take the place of what
		// others will ask for.
		doc.version, doc.division = "", 0
	}
	return doc, err
}

func (s *Source) renderDumpIndex(t target, p *pages) (*document, error) {
	b := render.Body{Head: s.resourceHead(t, true, p.at)}
	defer b.Free()
	i := 0
	for r := range rangesOf(p.dumps, "") {
		newest := p.dumps[i].Newest
		i++
		fits := b.Add(&rsxml.Entry{
			Loc:     s.routes.url(kindDumpPart, t.set, formatRange(r)),
			LastMod: newest,
		})
		if !fits {
			return nil, fmt.Errorf("the Resource Dump Index of set %q has outgrown the limits of a document: raise PackageSize", t.set.name)
		}
	}
	return (&document{target: t, division: p.number}).complete(b.Text())
}

// freshDump reports whether d, one of the documents of a Resource Dump, still holds
// as far as the division of its set can tell: that is known for an index, and as
// long as the others rest.
func (s *Source) freshDump(ctx context.Context, d *document) (fresh, known bool, err error) {
	p, err := s.division(ctx, &d.target.set.packages)
	if err != nil || p.number != d.division {
		return false, true, err
	}
	isIndex := d.target.kind == kindResourceDump && len(p.dumps) > 1
	fresh = isIndex || time.Now().Before(d.rest)
	return fresh, fresh, nil
}
