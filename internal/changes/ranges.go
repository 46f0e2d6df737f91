package changes

import (
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// Ranges are ranges of keys in order. No two of them overlap or touch.
type Ranges []resourcesync.Range

// All is the range of all keys.
var All = Ranges{{}}

// NewRanges returns the ranges that contain the keys of these, which may be in any order
// and overlap.
func NewRanges(ranges []resourcesync.Range) Ranges {
	sorted := slices.SortedFunc(slices.Values(ranges), func(a, b resourcesync.Range) int { return strings.Compare(a.From, b.From) })
	var merged Ranges
	for _, r := range sorted {
		if r.To != "" && r.To <= r.From {
			continue
		}
		n := len(merged)
		switch {
		case n == 0 || merged[n-1].To != "" && merged[n-1].To < r.From:
			merged = append(merged, r)
		case compareEnds(merged[n-1].To, r.To) < 0:
			merged[n-1].To = r.To
		}
	}
	return merged
}

// Contains reports whether key is in one of the ranges.
func (rs Ranges) Contains(key string) bool {
	i := rs.from(key)
	return i < len(rs) && rs[i].Contains(key)
}

// Clip returns the parts of r that are in the ranges.
func (rs Ranges) Clip(r resourcesync.Range) (parts Ranges) {
	for _, in := range rs[rs.from(r.From):] {
		part := resourcesync.Range{From: max(in.From, r.From), To: in.To}
		if compareEnds(r.To, in.To) < 0 {
			part.To = r.To
		}
		if part.To != "" && part.To <= part.From {
			break
		}
		parts = append(parts, part)
	}
	return parts
}

// from returns the index of the first range that ends after key.
func (rs Ranges) from(key string) int {
	i, _ := slices.BinarySearchFunc(rs, key, func(r resourcesync.Range, key string) int {
		if r.To != "" && r.To <= key {
			return -1
		}
		return 1
	})
	return i
}

// compareEnds compares the ends of two ranges.
func compareEnds(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "" || b != "" && a > b:
		return 1
	}
	return -1
}
