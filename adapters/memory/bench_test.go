package memory

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func BenchmarkPut(b *testing.B) {
	for _, read := range []bool{false, true} {
		b.Run(fmt.Sprintf("read between=%v", read), func(b *testing.B) {
			s := filled(b, 100_000)
			r := resource("", "")
			n := 0
			for b.Loop() {
				n++
				r.Key, r.Stamp = fmt.Sprintf("%06d", n*7919%100_000), fmt.Sprint(n)
				if err := s.Put(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				if read {
					s.Stat(b.Context(), resourcesync.Range{})
				}
			}
		})
	}
}

func BenchmarkScanUnchanged(b *testing.B) {
	const n = 10_000
	s := filled(b, n)
	var resources []resourcesync.Resource
	for r, err := range s.Resources(b.Context(), resourcesync.Range{}) {
		if err != nil {
			b.Fatal(err)
		}
		resources = append(resources, r)
	}
	for b.Loop() {
		if result, err := s.Scan(b.Context(), listing(resources...)); err != nil || result.Unchanged != n {
			b.Fatal(result, err)
		}
	}
}

// A page of the usual size in the middle of a set.
var page = resourcesync.Range{From: "050000", To: "060000"}

func BenchmarkResources10000(b *testing.B) {
	s := filled(b, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Resources(b.Context(), page) {
			if n++; err != nil {
				b.Fatal(err)
			}
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkStat(b *testing.B) {
	s := filled(b, 100_000)
	for name, r := range map[string]resourcesync.Range{"all": {}, "page of 10000": page} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Stat(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCuts(b *testing.B) {
	s := filled(b, 100_000)
	for b.Loop() {
		if cuts, err := s.Cuts(b.Context(), nil, 10_000); err != nil || len(cuts) != 10 {
			b.Fatal(len(cuts), err)
		}
	}
}

func BenchmarkCovers(b *testing.B) {
	s := filled(b, 100_000)
	u := &url.URL{Path: "/050000"}
	b.ReportAllocs()
	for b.Loop() {
		if !s.Covers(u) {
			b.Fatal("not covered")
		}
	}
}
