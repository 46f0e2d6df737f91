package sqlstore

import (
	"math"
	"strconv"
	"testing"
)

// TestSeen fills tables of several sizes to their limits.
func TestSeen(t *testing.T) {
	for _, s := range []seen{{most: 10}, {most: 20_000}, {most: 20_000, likely: 300}, {most: 20_000, likely: 15_500}, {most: 20_000, likely: math.MaxInt}} {
		key := func(i int) []byte { return strconv.AppendInt(nil, int64(i), 10) }
		for i := range s.most {
			hash := s.hash(key(i))
			if s.has(hash) {
				t.Fatalf("%d of %d, %d likely: known before", i, s.most, s.likely)
			}
			s.add(hash)
		}
		for i := range s.most {
			if !s.has(s.hash(key(i))) {
				t.Fatalf("%d of %d, %d likely: not known", i, s.most, s.likely)
			}
		}
		if s.n != s.most || len(s.hashes) > max(slots(s.most), 1<<10) {
			t.Errorf("%d hashes in %d slots, %d at most", s.n, len(s.hashes), s.most)
		}
	}
}
