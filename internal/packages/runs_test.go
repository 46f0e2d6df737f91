package packages

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A parted set has parts that move: each begins at a key that is divisible by a number.
type parted struct {
	*counting
	keys, divisor int
	stats         int // calls of Stat
}

func (p *parted) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	p.stats++
	return p.Set.Stat(ctx, r)
}

func (p *parted) StatParts(ctx context.Context, r resourcesync.Range) (parts []resourcesync.Part, err error) {
	add := func(from, to string) {
		stat, e := p.Set.Stat(ctx, resourcesync.Range{From: from, To: to})
		parts, err = append(parts, resourcesync.Part{From: from, Version: stat.Version}), e
	}
	from := r.From
	for i := 0; i < p.keys && err == nil; i += p.divisor {
		if key := runKey(i); key > from && r.Contains(key) {
			add(from, key)
			from = key
		}
	}
	if err == nil {
		add(from, r.To)
	}
	return parts, err
}

func runKey(i int) string { return fmt.Sprintf("%06d", i) }

// TestRuns: a division after a change lists only some runs, and equals a division that
// lists everything. With a journal, it reads only the versions of changed packages.
func TestRuns(t *testing.T) {
	needs.Time(t)
	t.Run("versions", func(t *testing.T) { testRuns(t, false) })
	t.Run("journal", func(t *testing.T) { testRuns(t, true) })
}

func testRuns(t *testing.T, journal bool) {
	const keys = 12_000
	set := &parted{counting: &counting{Set: memory.New(nil)}, keys: keys, divisor: 97}
	random := rand.New(rand.NewPCG(1, 2))
	put := func(i int) {
		r := resourcesync.Resource{Key: runKey(i), URI: fmt.Sprint("https://example.org/", i), Length: resourcesync.Bytes(random.Int64N(40_000))}
		if err := set.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	const size = 3 * minResources * perResource
	rs := &Resources{Provider: set, Stater: set, PartStater: set, Size: size}
	if journal {
		rs.Changer = set.Set
	}
	var cuts []resourcesync.Cut
	divide := func(what string, most int) {
		t.Helper()
		set.listed, set.stats = 0, 0
		now, err := rs.Cut(t.Context(), cuts)
		if err != nil || set.listed > most {
			t.Fatalf("%s: %d resources listed, want %d at most; %v", what, set.listed, most, err)
		}
		if journal && most <= 4*perRun && set.stats > 2 {
			t.Fatalf("%s: %d versions read", what, set.stats)
		}
		want, err := (&Resources{Provider: set, Stater: set, Size: size}).Cut(t.Context(), cuts)
		if err != nil || !slices.Equal(now, want) {
			t.Fatalf("%s: divided into %v, want %v; %v", what, now, want, err)
		}
		cuts = now
	}
	for i := 0; i < keys; i += 8 {
		put(i)
	}
	divide("first", keys)
	divide("one package", keys)
	put(1)
	divide("one package, one change", 2*perRun)
	for i := range keys {
		if i%3 != 0 {
			put(i)
		}
	}
	divide("many packages", keys)
	if journal {
		put(2)
		divide("many packages, one change", 6*minResources)
	}
	for range 2 {
		for i := 0; i < keys; i += minResources {
			put(i + 1)
		}
		divide("all packages", keys)
	}
	put(5000)
	divide("one change", 2*perRun)
	divide("no change", 0)
	for round := range 60 {
		most := keys
		switch round % 6 {
		case 5:
			set.divisor = 50 + random.IntN(100) // the store divides its blocks again
		case 4:
			from := random.IntN(keys)
			for i := from; i < min(from+1500, keys); i++ {
				if random.IntN(4) == 0 {
					put(i)
				} else {
					if err := set.Delete(t.Context(), runKey(i)); err != nil {
						t.Error(err)
					}
				}
			}
		default:
			most = 4 * perRun
			put(random.IntN(keys))
		}
		divide(fmt.Sprint("round ", round), most)
	}
}
