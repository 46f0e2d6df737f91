package changes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestRanges compares ranges with the sets of keys that they represent.
func TestRanges(t *testing.T) {
	var keys []string
	for c := 'a'; c <= 'j'; c++ {
		keys = append(keys, string(c), string(c)+"m")
	}
	random := rand.New(rand.NewPCG(1, 2))
	one := func() (r resourcesync.Range) {
		r.From = keys[random.IntN(len(keys))]
		if n := random.IntN(len(keys) + 2); n < len(keys) {
			r.To = keys[n]
		}
		if random.IntN(10) == 0 {
			r.From = ""
		}
		return r
	}
	in := func(ranges []resourcesync.Range, key string) bool {
		for _, r := range ranges {
			if r.Contains(key) {
				return true
			}
		}
		return false
	}
	for range 5_000 {
		ranges := make([]resourcesync.Range, random.IntN(5))
		for i := range ranges {
			ranges[i] = one()
		}
		merged, clip := NewRanges(ranges), one()
		parts := merged.Clip(clip)
		what := fmt.Sprintf("%q: %q, clipped to %q: %q", ranges, merged, clip, parts)
		for _, rs := range []Ranges{merged, parts} {
			for i, r := range rs {
				if r.To != "" && r.To <= r.From || i > 0 && (rs[i-1].To == "" || rs[i-1].To >= r.From) {
					t.Fatalf("%s: not in order", what)
				}
			}
		}
		for _, key := range keys {
			want := in(ranges, key)
			if got := merged.Contains(key); got != want {
				t.Fatalf("%s: contains %q: %v", what, key, got)
			}
			if got := in(parts, key); got != (want && clip.Contains(key)) {
				t.Fatalf("%s: the clipped contain %q: %v", what, key, got)
			}
		}
	}
}
