package paging

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

func cut(previous []resourcesync.Cut, every int, keys []string, size int) []resourcesync.Cut {
	c := NewCuts(previous, every)
	for _, k := range keys {
		c.Add(k, size, time.Time{})
	}
	return c.Done()
}

func numbered(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%06d", i*10)
	}
	return keys
}

func counts(cuts []resourcesync.Cut) (n []int) {
	for _, c := range cuts {
		n = append(n, c.Count)
	}
	return n
}

func TestSeparator(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"", "b", "b"},
		{"a", "b", "b"},
		{"a", "ab", "ab"},
		{"abc", "abd", "abd"},
		{"archive/tar", "cmd/go", "c"},
		{"abc1zzz", "abc2", "abc2"},
		{"caf\u00e8", "caf\u00e9s", "caf\u00e9"}, // shares the first byte of the rune
		{"x\xff", "x\xff\xfe", "x\xff\xfe"},
	} {
		if got := Separator(tt.a, tt.b); got != tt.want || !(tt.a < got && got <= tt.b) {
			t.Errorf("Separator(%q, %q) = %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestCuts(t *testing.T) {
	keys := numbered(100)
	fresh := cut(nil, 10, keys, 0)
	insert := func(at, n int) []string {
		out := slices.Clone(keys)
		for i := range n {
			out = append(out, fmt.Sprintf("%06d-%03d", at, i))
		}
		slices.Sort(out)
		return out
	}
	for _, tt := range []struct {
		name     string
		previous []resourcesync.Cut
		keys     []string
		want     []int
	}{
		{"nothing", nil, nil, []int{0}},
		{"one page", nil, keys[:10], []int{10}},
		{"one more", nil, keys[:11], []int{10, 1}},
		{"even", nil, keys[:30], []int{10, 10, 10}},
		{"a page may grow to twice its size", fresh, insert(150, 10), []int{10, 20, 10, 10, 10, 10, 10, 10, 10, 10}},
		{"and is divided beyond", fresh, insert(150, 11), []int{10, 10, 11, 10, 10, 10, 10, 10, 10, 10, 10}},
		{"the last page too", fresh, insert(9990, 15), []int{10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 5}},
		{"half-empty neighbours are joined", fresh, slices.Concat(keys[:12], keys[27:]), []int{10, 5, 10, 10, 10, 10, 10, 10, 10}},
		{"no sooner", fresh, slices.Concat(keys[:13], keys[27:]), []int{10, 3, 3, 10, 10, 10, 10, 10, 10, 10}},
		{"an empty page goes", fresh, slices.Concat(keys[:20], keys[30:]), []int{10, 10, 10, 10, 10, 10, 10, 10, 10}},
		{"everything gone", fresh, nil, []int{0}},
		{"a single page is cut anew", []resourcesync.Cut{{Count: 10}}, keys[:11], []int{10, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cuts := cut(tt.previous, 10, tt.keys, 0)
			if got := counts(cuts); !slices.Equal(got, tt.want) {
				t.Errorf("pages of %v, want %v", got, tt.want)
			}
			if last := cuts[len(cuts)-1]; last.Key != "" {
				t.Errorf("the last page ends at %q", last.Key)
			}
		})
	}
}

func TestCutsBySize(t *testing.T) {
	cuts := cut(nil, 10_000, numbered(100), 1<<20)
	if got, want := counts(cuts), []int{37, 37, 26}; !slices.Equal(got, want) {
		t.Errorf("100 entries of 1 MiB: pages of %v, want %v", got, want)
	}
}

func TestCutsOfMoreThanAnIndexHolds(t *testing.T) {
	cuts := cut(nil, 1, numbered(rsxml.MaxEntries*3), 0)
	if len(cuts) > rsxml.MaxEntries {
		t.Errorf("%d pages", len(cuts))
	}
	total := 0
	for _, c := range cuts {
		total += c.Count
	}
	if total != rsxml.MaxEntries*3 {
		t.Errorf("%d resources in all pages", total)
	}
}

func TestCutsNewest(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	c := NewCuts(nil, 2)
	c.Add("a", 0, at(5))
	c.Add("b", 0, at(3))
	c.Add("d", 0, at(1))
	c.AddDeleted("e", at(9))
	cuts := c.Done()
	if len(cuts) != 2 || !cuts[0].Newest.Equal(at(5)) || !cuts[1].Newest.Equal(at(9)) {
		t.Errorf("got %v", cuts)
	}
}

// TestCutsProperties grows and shrinks sets at random. The pages always partition the
// set and keep within their limits, and a page whose keys have not changed keeps its
// boundaries unless it was small enough to be joined.
func TestCutsProperties(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		every := 1 + rnd.IntN(20)
		set := map[string]bool{}
		var previous []resourcesync.Cut
		for range 20 {
			for range rnd.IntN(60) {
				k := fmt.Sprintf("%03d%s", rnd.IntN(400), []string{"", "é", "è", "\xff"}[rnd.IntN(4)])
				if rnd.IntN(2) == 0 {
					set[k] = true
				} else {
					delete(set, k)
				}
			}
			keys := slices.Sorted(maps.Keys(set))
			cuts := cut(previous, every, keys, 0)
			if err := checkPartition(cuts, keys, every); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if again := cut(cuts, every, keys, 0); len(cuts) > 1 && !slices.Equal(again, cuts) {
				t.Fatalf("seed %d: cutting again moved pages:\n%v\n%v", seed, cuts, again)
			}
			if err := checkKept(previous, cuts, keys, every); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			previous = cuts
		}
	}
}

// TestAddPage: pages added as a whole lead to the same division as their resources
// added one by one.
func TestAddPage(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		const every, size = 10, MaxBytes / 20 // 15 fill a page
		var keys []string
		for i := range 100 + rnd.IntN(100) {
			keys = append(keys, fmt.Sprintf("%06d", i*10))
		}
		previous := cut(nil, every, keys, size)
		changed := rnd.IntN(len(previous))
		var now []string
		for _, k := range keys {
			page, _ := slices.BinarySearchFunc(previous[:len(previous)-1], k, func(c resourcesync.Cut, k string) int {
				if c.Key <= k {
					return -1
				}
				return 1
			})
			switch {
			case page != changed || rnd.IntN(3) > 0:
				now = append(now, k)
			case seed%2 == 0: // else it goes
				now = append(now, k, k+"a", k+"b", k+"c", k+"d")
			}
		}
		atOnce := NewCuts(previous, every)
		from := ""
		for i, c := range previous {
			r := resourcesync.Range{From: from, To: c.Key}
			if i != changed {
				atOnce.AddPage(r.From, c.Count, c.Count*size, time.Time{})
			}
			for _, k := range now {
				if i == changed && r.Contains(k) {
					atOnce.Add(k, size, time.Time{})
				}
			}
			from = c.Key
		}
		if got, want := atOnce.Done(), cut(previous, every, now, size); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
	}
}

func checkPartition(cuts []resourcesync.Cut, keys []string, every int) error {
	from := ""
	for i, c := range cuts {
		if (c.Key == "") != (i == len(cuts)-1) || c.Key != "" && c.Key <= from {
			return fmt.Errorf("cut %d of %v is out of order", i, cuts)
		}
		r := resourcesync.Range{From: from, To: c.Key}
		n := 0
		for _, k := range keys {
			if r.Contains(k) {
				n++
			}
		}
		if n != c.Count || n > Limit(every) {
			return fmt.Errorf("page %d says %d, has %d, may have %d", i, c.Count, n, Limit(every))
		}
		from = c.Key
	}
	return nil
}

func checkKept(previous, cuts []resourcesync.Cut, keys []string, every int) error {
	if len(previous) < 2 || len(cuts) < 2 {
		return nil
	}
	kept := map[string]bool{}
	for _, c := range cuts {
		kept[c.Key] = true
	}
	count := func(from, to string) (n int) {
		r := resourcesync.Range{From: from, To: to}
		for _, k := range keys {
			if r.Contains(k) {
				n++
			}
		}
		return n
	}
	from := ""
	for i, c := range previous[:len(previous)-1] {
		here, next := count(from, c.Key), count(c.Key, previous[i+1].Key)
		if !kept[c.Key] && here > every/2 && next > every/2 {
			return fmt.Errorf("the cut at %q between pages of %d and %d went", c.Key, here, next)
		}
		from = c.Key
	}
	return nil
}
