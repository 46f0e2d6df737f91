package codec

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// everything is a resource with every field but the Key.
func everything() resourcesync.Resource {
	return resourcesync.Resource{
		URI:          "https://example.org/é",
		LastModified: time.Date(2026, 11, 21, 4, 5, 6, 789, time.FixedZone("", 3600)),
		ChangeFreq:   "daily",
		Length:       resourcesync.Bytes(0),
		Type:         "text/html",
		Encoding:     "gzip",
		Hashes:       []resourcesync.Hash{{Algorithm: "md5", Digest: "aa"}, {Algorithm: "sha-256", Digest: "bb"}},
		Links: []resourcesync.Link{
			{Rel: "duplicate", Href: "https://mirror.example.org/", Pri: 1, Modified: time.Date(1815, 12, 10, 0, 0, 0, 1, time.UTC),
				Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "cc"}}, Length: resourcesync.Bytes(5), Path: "/p", Type: "t", Encoding: "e",
				Attrs: []resourcesync.Attr{{Space: "urn:x", Name: "n", Value: "v"}}},
			{Rel: "alternate", Href: "https://example.org/other"},
		},
		Attrs: []resourcesync.Attr{{Space: "urn:y", Name: "n", Value: strings.Repeat("long", 100)}},
		Stamp: "stamp\x00",
	}
}

func decodeAll(t *testing.T, body string) resourcesync.Resource {
	t.Helper()
	var d Decoder
	r, err := d.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBody(t *testing.T) {
	full := everything()
	for name, change := range map[string]func(*resourcesync.Resource){
		"everything":    func(*resourcesync.Resource) {},
		"time":          func(r *resourcesync.Resource) { r.LastModified = time.Time{} },
		"before 1970":   func(r *resourcesync.Resource) { r.LastModified = time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) },
		"frequency":     func(r *resourcesync.Resource) { r.ChangeFreq = "" },
		"length":        func(r *resourcesync.Resource) { r.Length = resourcesync.Length{} },
		"type":          func(r *resourcesync.Resource) { r.Type = "" },
		"encoding":      func(r *resourcesync.Resource) { r.Encoding = "" },
		"hashes":        func(r *resourcesync.Resource) { r.Hashes = nil },
		"links":         func(r *resourcesync.Resource) { r.Links = nil },
		"attributes":    func(r *resourcesync.Resource) { r.Attrs = nil },
		"links and all": func(r *resourcesync.Resource) { r.Links, r.Attrs = nil, []resourcesync.Attr{} },
		"stamp":         func(r *resourcesync.Resource) { r.Stamp = "" },
		"all but URI":   func(r *resourcesync.Resource) { *r = resourcesync.Resource{URI: r.URI} },
	} {
		t.Run(name, func(t *testing.T) {
			r := full.Clone()
			change(&r)
			body := Append(nil, &r)
			if got := decodeAll(t, string(body)); !got.Equal(r) {
				t.Errorf("got %+v\nexpected %+v", got, r)
			}
			if r.Equal(full) != (string(body) == string(Append(nil, &full))) {
				t.Error("bodies are not equal exactly when resources are")
			}
			for n := range len(body) {
				var d Decoder
				if _, err := d.Decode(string(body[:n])); err == nil {
					t.Fatalf("the first %d bytes of %d are a body too", n, len(body))
				}
			}
		})
	}
}

// FuzzBody decodes arbitrary bodies.
func FuzzBody(f *testing.F) {
	full := everything()
	f.Add(string(Append(nil, &full)))
	f.Add("\x00\x01u")
	f.Fuzz(func(t *testing.T, body string) {
		var d Decoder
		r, err := d.Decode(body)
		if err != nil {
			if !r.Equal(resourcesync.Resource{}) {
				t.Fatalf("an error and %+v", r)
			}
			return
		}
		again := decodeAll(t, string(Append(nil, &r)))
		if !again.Equal(r) {
			t.Fatalf("%+v became %+v", r, again)
		}
	})
}

func TestCuts(t *testing.T) {
	keys := []string{"", "a", "ab", "abc\xff", "abd", "b"}
	var cuts []resourcesync.Cut
	for _, k := range keys[1:] {
		cuts = append(cuts, resourcesync.Cut{Key: k})
	}
	cuts = append(cuts, resourcesync.Cut{})
	for n := range cuts {
		some := slices.Concat(cuts[:n], []resourcesync.Cut{{}})
		got, err := DecodeCuts(string(AppendCuts(nil, some)))
		if err != nil || !slices.Equal(got, some) {
			t.Errorf("%v became %v, %v", some, got, err)
		}
	}
	for _, bad := range []string{"\x01\x00", "\x00\x05a", "\xff"} {
		if got, err := DecodeCuts(bad); err == nil {
			t.Errorf("%q was decoded as %v", bad, got)
		}
	}
}
