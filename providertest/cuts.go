package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/resourcesync-go/resourcesync"
)

var cutRules = []rule{
	{"Cuts/partition", cutter, cutsPartition},
	{"Cuts/size", cutter, cutsSize},
	{"Cuts/empty", cutter | nothing, cutsEmpty},
	{"Cuts/kept", cutter, cutsKept},
	{"Cuts/grow", cutter | editing, cutsGrow},
	{"Cuts/shrink", cutter | editing, cutsShrink},
	{"Cuts/newest", cutter | stater, cutsNewest},
}

func (s *subject) cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	cuts, err := s.cutter.Cuts(ctx, previous, every)
	switch {
	case err != nil:
		return nil, fmt.Errorf("Cuts(%d): %w", every, err)
	case len(cuts) == 0:
		return nil, fmt.Errorf("Cuts(%d) returns no cuts", every)
	}
	return cuts, nil
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

// checkPartition reports an error if cuts do not divide all resources.
func checkPartition(cuts []resourcesync.Cut, all []resourcesync.Resource) error {
	for i, p := range pages(cuts) {
		if last := i == len(cuts)-1; last != (p.To == "") || !last && p.To <= p.From {
			return fmt.Errorf("cut %d of %d has Key %s after %s: keys must ascend, and the last must be empty", i+1, len(cuts), quote(p.To), quote(p.From))
		}
		if n := len(within(all, p)); n != cuts[i].Count {
			return fmt.Errorf("page %s: Count is %d, but it has %d resources", rangeText(p), cuts[i].Count, n)
		}
	}
	return nil
}

// checkSize reports an error if a page does not have about every resources.
func checkSize(cuts []resourcesync.Cut, every int) error {
	for i, p := range pages(cuts) {
		switch n := cuts[i].Count; {
		case n > 2*every:
			return fmt.Errorf("page %s has %d resources, expected about %d", rangeText(p), n, every)
		case n == 0 && len(cuts) > 1:
			return fmt.Errorf("page %s is empty", rangeText(p))
		}
	}
	return nil
}

// sizes returns page sizes for a set of n resources.
func sizes(n int) []int {
	out := []int{1, 2, 3, 7, n / 2, n - 1, n, n + 1, 10_000}
	return slices.DeleteFunc(out, func(every int) bool {
		// A large set has too many pages of one resource.
		return every < 1 || n/every > 1000
	})
}

// eachSize calls f for pages of several sizes. cuts are those of a set that has all.
func (s *subject) eachSize(ctx context.Context, f func(every int, all []resourcesync.Resource, cuts []resourcesync.Cut) error) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, every := range sizes(len(all)) {
		cuts, err := s.cuts(ctx, nil, every)
		if err != nil {
			return err
		}
		if err := f(every, all, cuts); err != nil {
			return fmt.Errorf("pages of %d: %w", every, err)
		}
	}
	return nil
}

// partition: cuts ascend, the last has no Key, and Count is the number of resources in each
// page.
func cutsPartition(ctx context.Context, s *subject) error {
	return s.eachSize(ctx, func(_ int, all []resourcesync.Resource, cuts []resourcesync.Cut) error {
		return checkPartition(cuts, all)
	})
}

// size: pages have about every resources, and at least one.
func cutsSize(ctx context.Context, s *subject) error {
	return s.eachSize(ctx, func(every int, all []resourcesync.Resource, cuts []resourcesync.Cut) error {
		if n := 2*len(all)/every + 1; len(cuts) > n {
			return fmt.Errorf("%d resources have %d pages, expected no more than %d", len(all), len(cuts), n)
		}
		return checkSize(cuts, every)
	})
}

// empty: a set with no resources has one page.
func cutsEmpty(ctx context.Context, s *subject) error {
	cuts, err := s.cuts(ctx, nil, 10)
	if err != nil {
		return err
	}
	if len(cuts) != 1 || cuts[0].Key != "" || cuts[0].Count != 0 {
		return fmt.Errorf("a set with no resources has the cuts %v, expected one with no Key and no Count", cuts)
	}
	return nil
}

// kept: without changes to the set the cuts stay the same, and Cuts does not modify
// previous.
func cutsKept(ctx context.Context, s *subject) error {
	return s.eachSize(ctx, func(every int, _ []resourcesync.Resource, cuts []resourcesync.Cut) error {
		previous := slices.Clone(cuts)
		again, err := s.cuts(ctx, previous, every)
		switch {
		case err != nil:
			return err
		case !slices.Equal(previous, cuts):
			return errors.New("Cuts has modified previous")
		}
		if err := difference(again, cuts, sameCut, func(c resourcesync.Cut) string { return "the cut at " + quote(c.Key) }); err != nil {
			return fmt.Errorf("although the set has not changed: %w", err)
		}
		return nil
	})
}

func sameCut(a, b resourcesync.Cut) bool {
	return a.Key == b.Key && a.Count == b.Count && a.Newest.Equal(b.Newest)
}

// grow: a page that has outgrown its limit is split, and no boundary moves.
func cutsGrow(ctx context.Context, s *subject) error {
	const every = 5
	before, page, keys, err := s.crowd(ctx, every)
	if err != nil || keys == nil {
		return err
	}
	for _, key := range keys {
		if err := s.put(ctx, s.make(key)); err != nil {
			return err
		}
	}
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	after, err := s.cuts(ctx, before, every)
	if err != nil {
		return err
	}
	if err := errors.Join(checkPartition(after, all), checkSize(after, every)); err != nil {
		return fmt.Errorf("after a page has grown: %w", err)
	}
	for i, c := range before {
		j := slices.IndexFunc(after, func(a resourcesync.Cut) bool { return a.Key == c.Key })
		if j < 0 {
			return fmt.Errorf("the cut at %s is gone after the page %s has grown", quote(c.Key), rangeText(pages(before)[page]))
		}
		if i != page && after[j].Newest.Before(c.Newest) {
			return fmt.Errorf("Newest of the page before %s moved back", quote(c.Key))
		}
	}
	return nil
}

// crowd returns the cuts of the set, the index of a page, and new keys that outgrow it; no
// keys if no page has space for new ones.
func (s *subject) crowd(ctx context.Context, every int) (cuts []resourcesync.Cut, page int, keys []string, err error) {
	all, err := s.list(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	if cuts, err = s.cuts(ctx, nil, every); err != nil {
		return nil, 0, nil, err
	}
	// Not the first page, so that it has boundaries on both sides.
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
				return cuts, page, keys, nil
			}
		}
	}
	return cuts, 0, nil, nil
}

// shrink: a page that has lost its resources is joined to a neighbour, and no
// other boundary moves.
func cutsShrink(ctx context.Context, s *subject) error {
	const every = 5
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	before, err := s.cuts(ctx, nil, every)
	if err != nil {
		return err
	}
	if len(before) < 5 {
		return nil
	}
	page := len(before) / 2
	doomed := within(all, pages(before)[page])
	// Delete one resource of the first page as well, so that a division without
	// previous would differ.
	doomed = append(doomed, all[0])
	for _, r := range doomed {
		if err := s.delete(ctx, r.Key); err != nil {
			return err
		}
	}
	if all, err = s.list(ctx); err != nil {
		return err
	}
	after, err := s.cuts(ctx, before, every)
	if err != nil {
		return err
	}
	if err := errors.Join(checkPartition(after, all), checkSize(after, every)); err != nil {
		return fmt.Errorf("after a page has lost its resources: %w", err)
	}
	for i, c := range before {
		// The boundaries of the page itself may disappear.
		if i != page-1 && i != page && !slices.ContainsFunc(after, func(a resourcesync.Cut) bool { return a.Key == c.Key }) {
			return fmt.Errorf("the cut at %s is gone after the page %s has lost its resources", quote(c.Key), rangeText(pages(before)[page]))
		}
	}
	return nil
}

// newest: no change is newer than the newest of the set.
func cutsNewest(ctx context.Context, s *subject) error {
	st, err := s.stat(ctx, resourcesync.Range{})
	if err != nil {
		return err
	}
	cuts, err := s.cuts(ctx, nil, 5)
	if err != nil {
		return err
	}
	for i, p := range pages(cuts) {
		if !st.LastModified.IsZero() && cuts[i].Newest.After(st.LastModified) {
			return fmt.Errorf("page %s: Newest is %s, later than LastModified of the set, %s", rangeText(p), timeText(cuts[i].Newest), timeText(st.LastModified))
		}
		if !s.opts.ExactStat {
			continue
		}
		st, err := s.stat(ctx, p)
		if err != nil {
			return err
		}
		if !cuts[i].Newest.IsZero() && !cuts[i].Newest.Equal(st.LastModified) {
			return fmt.Errorf("page %s: Newest is %s, but LastModified of its range is %s", rangeText(p), timeText(cuts[i].Newest), timeText(st.LastModified))
		}
	}
	return nil
}
