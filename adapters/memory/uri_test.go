package memory

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// at returns a resource with this key at another URI than [resource] gives it.
func at(uri, key, stamp string) resourcesync.Resource {
	r := resource(key, stamp)
	r.URI = uri
	return r
}

// TestURIOfAnother checks that a resource is announced again when another one with the
// same URI has been published as deleted.
func TestURIOfAnother(t *testing.T) {
	const x, y, urn = "https://example.org/x", "https://example.org/y", "urn:isbn:0451450523"
	for _, tt := range []struct {
		name   string
		before []resourcesync.Resource
		change func(s *Set) error
		want   string // what is journalled then
	}{
		{
			"one of two is deleted", []resourcesync.Resource{at(x, "a", "1"), at(x, "b", "1")},
			func(s *Set) error { return s.Delete(t.Context(), "a") },
			"d:a c:b1",
		},
		{
			"both are deleted", []resourcesync.Resource{at(x, "a", "1"), at(x, "b", "1")},
			func(s *Set) error { return s.Delete(t.Context(), "a", "b") },
			"d:a d:b",
		},
		{
			"one of two moves", []resourcesync.Resource{at(x, "a", "1"), at(x, "b", "1")},
			func(s *Set) error { return s.Put(t.Context(), at(y, "a", "1")) },
			"d:a c:a1 c:b1",
		},
		{
			"they change places", []resourcesync.Resource{at(x, "a", "1"), at(y, "b", "1")},
			func(s *Set) error { return s.Put(t.Context(), at(y, "a", "1"), at(x, "b", "1")) },
			"d:a c:a1 d:b c:b1 c:a1",
		},
		{
			"another comes before the end", []resourcesync.Resource{at(x, "a", "1"), at(x, "b", "1")},
			func(s *Set) error { return s.Put(t.Context(), at(y, "a", "1"), at(x, "c", "1")) },
			"d:a c:a1 c:c1",
		},
		{
			"one of two vanishes", []resourcesync.Resource{at(x, "a", "1"), at(x, "b", "1")},
			func(s *Set) error {
				_, err := s.Scan(context.Background(), listing(at(x, "b", "1")))
				return err
			},
			"d:a c:b1",
		},
		{
			"one vanishes when another comes", []resourcesync.Resource{at(x, "a", "1")},
			func(s *Set) error {
				_, err := s.Scan(context.Background(), listing(at(x, "b", "1")))
				return err
			},
			"c:b1 d:a c:b1",
		},
		{
			"a URI without a path", []resourcesync.Resource{at(urn, "a", "1"), at("urn:isbn:1", "b", "1"), at(urn, "c", "1")},
			func(s *Set) error { return s.Delete(t.Context(), "a") },
			"d:a c:c1",
		},
		{
			"the same path elsewhere", []resourcesync.Resource{at(x, "a", "1"), at("https://mirror.example.org/x", "b", "1")},
			func(s *Set) error { return s.Delete(t.Context(), "a") },
			"d:a",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New(nil)
			put(t, s, tt.before...)
			before := journal(t, s)
			if err := tt.change(s); err != nil {
				t.Fatal(err)
			}
			if got, want := journal(t, s), before+" "+tt.want; got != want {
				t.Errorf("the journal is %q, want %q", got, want)
			}
		})
	}
}

// TestURIOfAnotherInBaseline checks that a journal does not begin with a resource that
// a first scan finds at the URI of another one that was put before and is missing.
func TestURIOfAnotherInBaseline(t *testing.T) {
	const x = "https://example.org/x"
	s := New(&Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	put(t, s, at(x, "a", "1"))
	if _, err := s.Scan(t.Context(), listing(at(x, "b", "1"))); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, s) + ", " + journal(t, s); got != "b1, " {
		t.Errorf("the set and its journal are %q", got)
	}
}

// TestURIsOfOthers gives resources the URIs of others at random. A Destination, which
// does not know keys, ends up equal to the set, and every resource is covered.
func TestURIsOfOthers(t *testing.T) {
	uris := []string{
		"https://example.org/1", "https://mirror.example.org/1", "https://example.org/1?x=1",
		"https://example.org/2", "urn:isbn:1", "urn:isbn:2",
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		s := New(nil)
		key := func() string { return string(rune('a' + rnd.IntN(5))) }
		some := func() resourcesync.Resource { return at(uris[rnd.IntN(len(uris))], key(), fmt.Sprint(rnd.IntN(2))) }
		var since time.Time
		known := map[string]bool{}
		for round := range 200 {
			switch rnd.IntN(3) {
			case 0:
				put(t, s, some(), some())
			case 1:
				if err := s.Delete(t.Context(), key(), key()); err != nil {
					t.Error(err)
				}
			case 2:
				var all []resourcesync.Resource
				for range rnd.IntN(5) {
					all = append(all, some())
				}
				if _, err := s.Scan(t.Context(), listing(all...)); err != nil {
					t.Fatal(err)
				}
			}
			for c, err := range s.Changes(t.Context(), resourcesync.Interval{From: since}) {
				if err != nil {
					t.Fatal(err)
				}
				since = c.Datetime
				if c.Type == resourcesync.Deleted {
					delete(known, c.Resource.URI)
				} else {
					known[c.Resource.URI] = true
				}
			}
			there := map[string]bool{}
			for r, err := range s.Resources(t.Context(), resourcesync.Range{}) {
				if err != nil {
					t.Fatal(err)
				}
				there[r.URI] = true
			}
			if got, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(there)); !slices.Equal(got, want) {
				t.Fatalf("seed %d, round %d: a Destination has %q, the set %q", seed, round, got, want)
			}
			for i, want := range []bool{there[uris[0]] || there[uris[1]], there[uris[2]], there[uris[3]], false, false} {
				if uri := uris[i+1]; covers(t, s, uri) != want {
					t.Fatalf("seed %d, round %d: Covers(%s) is not %v", seed, round, uri, want)
				}
			}
			if places := s.state.places.Len(); places != s.Len() {
				t.Fatalf("seed %d, round %d: %d places of %d resources", seed, round, places, s.Len())
			}
		}
	}
}

// BenchmarkDelete deletes resources whose URIs many others share.
func BenchmarkDelete(b *testing.B) {
	for _, share := range []int{1, 1000} {
		b.Run(fmt.Sprintf("%d at a URI", share), func(b *testing.B) {
			s := New(nil)
			all := make([]resourcesync.Resource, 100_000)
			for i := range all {
				all[i] = at(fmt.Sprintf("https://example.org/%06d", i/share), fmt.Sprintf("%06d", i), "1")
			}
			put(b, s, all...)
			n := 0
			for b.Loop() {
				n++
				r := all[n*7919%len(all)]
				if err := s.Delete(b.Context(), r.Key); err != nil {
					b.Error(err)
				}
				put(b, s, r)
			}
		})
	}
}
