package resourcesync_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

func TestLength(t *testing.T) {
	for _, tt := range []struct {
		length resourcesync.Length
		n      int64
		known  bool
	}{
		{resourcesync.Length{}, -1, false},
		{resourcesync.Bytes(-1), -1, false},
		{resourcesync.Bytes(math.MinInt64), -1, false},
		{resourcesync.Bytes(0), 0, true},
		{resourcesync.Bytes(1), 1, true},
		{resourcesync.Bytes(math.MaxInt64 - 1), math.MaxInt64 - 1, true},
		{resourcesync.Bytes(math.MaxInt64), math.MaxInt64 - 1, true}, // no document is as long
	} {
		if n, known := tt.length.Bytes(); n != tt.n || known != tt.known {
			t.Errorf("%d, %t; want %d, %t", n, known, tt.n, tt.known)
		}
	}
}

func TestAppendHashes(t *testing.T) {
	before := []resourcesync.Hash{{Algorithm: "md5", Digest: "00"}}
	for s, want := range map[string]int{
		"":                     0,
		" \n\t ":               0,
		"md5:1":                1,
		"md5:1\n  sha-256:2 ":  2,
		"sha-256:a:b":          1,
		"md5":                  -1,
		"md5:":                 -1,
		":1":                   -1,
		"md5:1 broken sha-1:2": -1,
	} {
		got, ok := resourcesync.AppendHashes(before, s)
		if ok != (want >= 0) || len(got) != 1+max(want, 0) || got[0] != before[0] {
			t.Errorf("%q: %v, %t", s, got, ok)
		}
	}
}

// full is a resource and a link with something in every field.
func full() resourcesync.Resource {
	return resourcesync.Resource{
		Key: "k", URI: "https://example.org/k", LastModified: time.Unix(1, 0), ChangeFreq: "daily",
		Length: resourcesync.Bytes(1), Type: "text/plain", Encoding: "gzip", Stamp: "s",
		Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "1"}},
		Links: []resourcesync.Link{{
			Rel: resourcesync.RelVia, Href: "https://example.org/via", Encoding: "gzip", Length: resourcesync.Bytes(1),
			Modified: time.Unix(1, 0), Path: "/p", Pri: 1, Type: "text/plain",
			Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "1"}},
			Attrs:  []resourcesync.Attr{{Space: "urn:x", Name: "n", Value: "v"}},
		}},
		Attrs: []resourcesync.Attr{{Space: "urn:x", Name: "n", Value: "v"}},
	}
}

// TestEqual empties each field in turn: Equal must see it, and EqualEntry too
// unless the field is none that is published.
func TestEqual(t *testing.T) {
	each := func(v reflect.Value, where string, check func(field string)) {
		for i := range v.NumField() {
			field := v.Field(i)
			was := reflect.New(field.Type()).Elem()
			was.Set(field)
			if field.IsZero() {
				t.Errorf("%s%s has nothing in it", where, v.Type().Field(i).Name)
			}
			field.SetZero()
			check(where + v.Type().Field(i).Name)
			field.Set(was)
		}
	}
	r := full()
	check := func(field string) {
		if r.Equal(full()) {
			t.Errorf("Equal does not see %s", field)
		}
		if published := field != "Key" && field != "Stamp"; r.EqualEntry(full()) == published {
			t.Errorf("EqualEntry and %s: %t", field, !published)
		}
	}
	each(reflect.ValueOf(&r).Elem(), "", check)
	each(reflect.ValueOf(&r.Links[0]).Elem(), "Link.", check)
	if !r.Equal(full()) {
		t.Error("equal resources are not")
	}
	r.LastModified = r.LastModified.In(time.FixedZone("", 3600))
	if !r.Equal(full()) {
		t.Error("one instant in two zones is two")
	}
}

func TestClone(t *testing.T) {
	r := full()
	c := r.Clone()
	r.Hashes[0].Digest, r.Attrs[0].Value = "2", "w"
	r.Links[0].Hashes[0].Digest, r.Links[0].Attrs[0].Value = "2", "w"
	r.Links[0].Href = "https://example.org/other"
	if !c.Equal(full()) {
		t.Errorf("the copy shares with the original: %+v", c)
	}
}

func TestRange(t *testing.T) {
	for _, tt := range []struct {
		r    resourcesync.Range
		want string
	}{
		{resourcesync.Range{}, "a ab b \xff"},
		{resourcesync.Range{From: "ab"}, "ab b \xff"},
		{resourcesync.Range{To: "b"}, "a ab"},
		{resourcesync.Range{From: "aa", To: "b"}, "ab"},
	} {
		var got []string
		for _, k := range []string{"a", "ab", "b", "\xff"} {
			if tt.r.Contains(k) {
				got = append(got, k)
			}
		}
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("%q holds %q, want %q", tt.r, got, tt.want)
		}
	}
}
