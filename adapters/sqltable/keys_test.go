package sqltable

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/internal/engine"
)

func TestIntegerKeys(t *testing.T) {
	for n, want := range map[int64]string{
		0:             "0000000000000000000",
		42:            "0000000000000000042",
		math.MaxInt64: "9223372036854775807",
		-1:            "-9223372036854775807",
		math.MinInt64: "-0000000000000000000",
	} {
		if got := string(appendInteger(nil, n)); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	some := func() int64 { return int64(rnd.Uint64()) >> rnd.IntN(64) }
	for range 10_000 {
		a, b := some(), some()
		x, y := string(appendInteger(nil, a)), string(appendInteger(nil, b))
		if (a < b) != (x < y) {
			t.Fatalf("%d and %d are %s and %s", a, b, x, y)
		}
		if n, ok := parseInteger(x); n != a || !ok {
			t.Fatalf("%s was %d and is %d", x, a, n)
		}
	}
}

// inBounds reports whether a value of a key column, with this key, is in b, as an
// engine compares it.
func inBounds(b bounds, compare func(bound any) int) bool {
	if b.none {
		return false
	}
	holds := func(e bound) bool {
		switch e.operator {
		case ">":
			return compare(e.value) > 0
		case ">=":
			return compare(e.value) >= 0
		case "<":
			return compare(e.value) < 0
		case "<=":
			return compare(e.value) <= 0
		}
		return true
	}
	return holds(b.from) && holds(b.to)
}

// TestBounds compares ranges of keys with the ranges of values derived from them, for
// ends that are keys, parts of keys, and other strings.
func TestBounds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(2, 2))
	integers := &key{Column: engine.Column{Kind: engine.Integer}}
	uuids := &key{Column: engine.Column{Kind: engine.UUID}}
	texts := &key{Column: engine.Column{Kind: engine.Text}}
	end := func(key string) string {
		switch rnd.IntN(6) {
		case 0:
			return key[:rnd.IntN(len(key)+1)]
		case 1:
			return key + "\x00"
		case 2:
			return key + "é"
		case 3:
			b := []byte(key + "-")
			b[rnd.IntN(len(b))] = byte(rnd.Uint32())
			return string(b)
		case 4:
			return ""
		}
		return key
	}
	alphabet := []string{"a", "b", "é", "è", "\u0080", "日", "\ud7ff", "\ue000", "😀", "\U0010ffff", "\x01", "\x7f"}
	word := func() string {
		var s string
		for range 1 + rnd.IntN(3) {
			s += alphabet[rnd.IntN(len(alphabet))]
		}
		return s
	}
	for range 4_000 {
		n, m := int64(rnd.Uint64())>>rnd.IntN(64), int64(rnd.Uint64())>>rnd.IntN(64)
		r := resourcesync.Range{From: end(string(appendInteger(nil, m))), To: end(string(appendInteger(nil, n)))}
		for _, v := range []int64{n, m, n - 1, m + 1} {
			got := inBounds(integers.bounds(r), func(b any) int {
				if v == b.(int64) {
					return 0
				} else if v < b.(int64) {
					return -1
				}
				return 1
			})
			if want := r.Contains(string(appendInteger(nil, v))); got != want {
				t.Fatalf("%d in %+q: %v", v, r, got)
			}
		}
		a, b := word(), word()
		r = resourcesync.Range{From: end(a), To: end(b)}
		bounds := texts.bounds(r)
		for _, e := range []bound{bounds.from, bounds.to} {
			if s, _ := e.value.(string); !utf8.ValidString(s) || strings.Contains(s, "\x00") {
				t.Fatalf("%+q has a bound that is no text: %+q", r, s)
			}
		}
		for _, v := range []string{a, b, word()} {
			got := inBounds(bounds, func(b any) int { return strings.Compare(v, b.(string)) })
			if want := r.Contains(v); got != want {
				t.Fatalf("%+q in %+q: %v, by %+v", v, r, got, bounds)
			}
		}
		if rnd.IntN(20) > 0 {
			continue
		}
		var id, other [16]byte
		for i := range id {
			id[i], other[i] = byte(rnd.Uint32()), byte(rnd.Uint32())
		}
		copy(other[:rnd.IntN(16)], id[:])
		x, y := string(appendUUID(nil, id[:])), string(appendUUID(nil, other[:]))
		r = resourcesync.Range{From: end(x), To: end(y)}
		for _, v := range []string{x, y} {
			got := inBounds(uuids.bounds(r), func(b any) int { return strings.Compare(v, b.(string)) })
			if want := r.Contains(v); got != want {
				t.Fatalf("%s in %+q: %v", v, r, got)
			}
		}
	}
}

func TestUUIDOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var ids [][]byte
	for range 1000 {
		id := make([]byte, 16)
		for i := range id {
			id[i] = byte(rnd.Uint32())
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, bytes.Compare)
	if !slices.IsSortedFunc(ids, func(a, b []byte) int {
		return strings.Compare(string(appendUUID(nil, a)), string(appendUUID(nil, b)))
	}) {
		t.Error("UUIDs have another order than their texts")
	}
}

func FuzzTextAtLeast(f *testing.F) {
	f.Add("a\xff", "a\u00ff")
	f.Add("a\x00b", "a\x01")
	f.Add("\xed\xa0\x80", "\ue000")
	f.Add("\U0010ffff\xff", "z")
	f.Fuzz(func(t *testing.T, s, v string) {
		if !utf8.ValidString(v) || strings.Contains(v, "\x00") {
			t.Skip()
		}
		least, some := textAtLeast(s)
		if some && (!utf8.ValidString(least) || strings.Contains(least, "\x00") || least < s) {
			t.Errorf("%+q: %+q", s, least)
		}
		if got := some && v >= least; got != (v >= s) {
			t.Errorf("%+q >= %+q is not %+q >= %+q", v, s, v, least)
		}
	})
}
