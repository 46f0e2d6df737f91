package providertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/resourcesync-go/resourcesync"
)

var cutRules = []rule{
	{"Cuts/partition", "Cut", needs{cutter}, cutsPartition, "keys ascend, the last is empty, and Count is the number of resources in each page"},
	{"Cuts/size", "Cutter", needs{cutter}, cutsSize, "pages have about every resources, and at least one"},
	{"Cuts/empty", "Cutter", needs{cutter, nothing}, cutsEmpty, "a set with no resources has one page"},
	{"Cuts/kept", "Cutter", needs{cutter}, cutsKept, "without changes to the set the cuts stay the same, and Cuts does not modify previous"},
	{"Cuts/grow", "Cutter", needs{cutter, editing}, cutsGrow, "a page that has outgrown its limit is split, and no boundary moves"},
	{"Cuts/shrink", "Cutter", needs{cutter, editing}, cutsShrink,
		"a page that has lost its resources is joined to a neighbour, and no other boundary moves"},
	{"Cuts/newest", "Cut.Newest", needs{cutter, stater}, cutsNewest, "no change is newer than the newest of the set"},
}

func (s *subject) cuts(ctx context.Context, previous []resourcesync.Cut, every int) []resourcesync.Cut {
	cuts := must(s.Cutter.Cuts(ctx, previous, every))("Cuts(%d)", every)
	if len(cuts) == 0 {
		fail("Cuts(%d) returns no cuts", every)
	}
	return cuts
}

// pages returns the ranges of the pages of cuts.
func pages(cuts []resourcesync.Cut) []resourcesync.Range {
	out := make([]resourcesync.Range, len(cuts))
	from := ""
	for i, c := range cuts {
		out[i] = resourcesync.Range{From: from, To: c.Key}
		from = c.Key
	}
	return out
}

// checkPartition fails if cuts do not divide all resources.
func checkPartition(cuts []resourcesync.Cut, all []resourcesync.Resource) {
	for i, p := range pages(cuts) {
		if last := i == len(cuts)-1; last != (p.To == "") || !last && p.To <= p.From {
			fail("cut %d of %d has Key %s after %s", i+1, len(cuts), quote(p.To), quote(p.From))
		}
		if n := len(within(all, p)); n != cuts[i].Count {
			fail("page %v: Count is %d, but it has %d resources", p, cuts[i].Count, n)
		}
	}
}

// checkSize fails if a page does not have about every resources.
func checkSize(cuts []resourcesync.Cut, every int) {
	for i, p := range pages(cuts) {
		switch n := cuts[i].Count; {
		case n > 2*every:
			fail("page %v has %d resources, expected about %d", p, n, every)
		case n == 0 && len(cuts) > 1:
			fail("page %v is empty", p)
		}
	}
}

// eachSize calls f for pages of several sizes. cuts divide a set that contains all.
func (s *subject) eachSize(ctx context.Context, f func(every int, all []resourcesync.Resource, cuts []resourcesync.Cut)) {
	all := s.list(ctx)
	n := len(all)
	for _, every := range []int{1, 2, 3, 7, n / 2, n - 1, n, n + 1, 10_000} {
		// A large set has too many pages of one resource.
		if every < 1 || n/every > 1000 {
			continue
		}
		cuts := s.cuts(ctx, nil, every)
		ensure(try(func() { f(every, all, cuts) }), "pages of %d", every)
	}
}

func cutsPartition(ctx context.Context, s *subject) {
	s.eachSize(ctx, func(_ int, all []resourcesync.Resource, cuts []resourcesync.Cut) { checkPartition(cuts, all) })
}

func cutsSize(ctx context.Context, s *subject) {
	s.eachSize(ctx, func(every int, all []resourcesync.Resource, cuts []resourcesync.Cut) {
		if n := 2*len(all)/every + 1; len(cuts) > n {
			fail("%d resources have %d pages, expected no more than %d", len(all), len(cuts), n)
		}
		checkSize(cuts, every)
	})
}

func cutsEmpty(ctx context.Context, s *subject) {
	if cuts := s.cuts(ctx, nil, 10); len(cuts) != 1 || cuts[0].Key != "" || cuts[0].Count != 0 {
		fail("a set with no resources has the cuts %v, expected one with no Key and no Count", cuts)
	}
}

func cutsKept(ctx context.Context, s *subject) {
	s.eachSize(ctx, func(every int, _ []resourcesync.Resource, cuts []resourcesync.Cut) {
		previous := slices.Clone(cuts)
		again := s.cuts(ctx, previous, every)
		equal(previous, cuts, "Cuts has modified previous")
		equal(again, cuts, "although the set has not changed")
	})
}

// recut returns the cuts of the set after a change that what describes, and checks their
// pages.
func (s *subject) recut(ctx context.Context, before []resourcesync.Cut, every int, what string) []resourcesync.Cut {
	all := s.list(ctx)
	after := s.cuts(ctx, before, every)
	ensure(try(func() {
		checkPartition(after, all)
		checkSize(after, every)
	}), "after a page has %s", what)
	return after
}

// find returns the index of the cut with the key of c, or a negative number.
func find(cuts []resourcesync.Cut, c resourcesync.Cut) int {
	return slices.IndexFunc(cuts, func(a resourcesync.Cut) bool { return a.Key == c.Key })
}

func cutsGrow(ctx context.Context, s *subject) {
	const every = 5
	before := s.cuts(ctx, nil, every)
	page, keys := s.crowd(s.list(ctx), before, every)
	if keys == nil {
		return
	}
	for _, key := range keys {
		s.put(ctx, s.make(key))
	}
	after := s.recut(ctx, before, every, "grown")
	for i, c := range before {
		j := find(after, c)
		if j < 0 {
			fail("%v is gone after the page %v has grown", c, pages(before)[page])
		}
		if i != page && after[j].Newest.Before(c.Newest) {
			fail("Newest of the page before %s moved back from %v to %v", quote(c.Key), c.Newest, after[j].Newest)
		}
	}
}

// crowd returns the index of a page, and new keys that outgrow it; no keys if no page has
// space for new ones.
func (s *subject) crowd(all []resourcesync.Resource, cuts []resourcesync.Cut, every int) (page int, keys []string) {
	for page, p := range pages(cuts) {
		for _, r := range within(all, p) {
			for _, form := range []string{"!%03d", "-%03d", "%03d"} {
				first, last := r.Key+fmt.Sprintf(form, 0), r.Key+fmt.Sprintf(form, 999)
				// Not the first page, so that it has boundaries on both sides.
				if page == 0 || !p.Contains(last) || len(last) > resourcesync.MaxKeyLength || !s.allows(last) ||
					slices.ContainsFunc(all, func(r resourcesync.Resource) bool { return first <= r.Key && r.Key <= last }) {
					continue
				}
				for i := range 2*every + 1 {
					keys = append(keys, r.Key+fmt.Sprintf(form, i))
				}
				return page, keys
			}
		}
	}
	return 0, nil
}

func cutsShrink(ctx context.Context, s *subject) {
	const every = 5
	all, before := s.list(ctx), s.cuts(ctx, nil, every)
	if len(before) < 5 {
		return
	}
	page := len(before) / 2
	// Delete one resource of the first page as well, so that a division without
	// previous would differ.
	for _, r := range append(within(all, pages(before)[page]), all[0]) {
		s.delete(ctx, r.Key)
	}
	after := s.recut(ctx, before, every, "lost its resources")
	for i, c := range before {
		// The boundaries of the page itself may disappear.
		if i != page-1 && i != page && find(after, c) < 0 {
			fail("%v is gone after the page %v has lost its resources", c, pages(before)[page])
		}
	}
}

func cutsNewest(ctx context.Context, s *subject) {
	set := s.stat(ctx, resourcesync.Range{}).LastModified
	cuts := s.cuts(ctx, nil, 5)
	for i, p := range pages(cuts) {
		newest := cuts[i].Newest
		if !set.IsZero() && newest.After(set) {
			fail("page %v: Newest is %v, later than LastModified of the set, %v", p, newest, set)
		}
		if !s.ExactStat {
			continue
		}
		if page := s.stat(ctx, p).LastModified; !newest.IsZero() && !newest.Equal(page) {
			fail("page %v: Newest is %v, but LastModified of its range is %v", p, newest, page)
		}
	}
}
