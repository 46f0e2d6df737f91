package memory

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func covers(t testing.TB, s *Set, uri string) bool {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return s.Covers(u)
}

func TestCovers(t *testing.T) {
	s := New(nil)
	for i, uri := range []string{
		"https://example.org/a%20b?x=%31",
		"https://example.org",
		"https://example.org/caf%C3%A9#top",
		"urn:isbn:0451450523",
		"https://example.org/shared",
		"https://mirror.example.org/shared",
	} {
		put(t, s, resourcesync.Resource{Key: fmt.Sprint(i), URI: uri})
	}
	for uri, want := range map[string]bool{
		"https://example.org/a%20b?x=%31":     true,
		"/a%20b?x=%31":                        true,
		"http://localhost:8080/%61%20b?x=%31": true,
		"/a%20b?x=1":                          false,
		"/a%20b":                              false,
		"/":                                   true,
		"/?":                                  true,
		"/caf%C3%A9":                          true,
		"/café":                               true,
		"/cafe":                               false,
		"urn:isbn:0451450523":                 false,
		"/shared":                             true,
		"/shared/":                            false,
	} {
		if got := covers(t, s, uri); got != want {
			t.Errorf("Covers(%s) = %v", uri, got)
		}
	}
	if err := s.Delete(t.Context(), "4"); err != nil {
		t.Error(err)
	}
	if !covers(t, s, "/shared") {
		t.Error("the URI of two resources is not covered after one of them was deleted")
	}
	put(t, s, resourcesync.Resource{Key: "5", URI: "https://example.org/moved"})
	if covers(t, s, "/shared") || !covers(t, s, "/moved") {
		t.Error("a resource that has moved is covered at its old place")
	}
	if err := s.Delete(t.Context(), "3", "5"); err != nil {
		t.Error(err)
	}
	if covers(t, s, "/moved") {
		t.Error("a deleted resource is covered")
	}
}

func TestAllocations(t *testing.T) {
	s := filled(t, 1000)
	hit, miss := &url.URL{Path: "/000500", RawQuery: ""}, &url.URL{Path: "/000500", RawQuery: "x=1"}
	ctx := t.Context()
	for _, tt := range []struct {
		name string
		most float64
		f    func()
	}{
		{"Covers", 0, func() {
			if !s.Covers(hit) || s.Covers(miss) {
				t.Error("Covers is wrong")
			}
		}},
		{"Stat", 0, func() { s.Stat(ctx, resourcesync.Range{}) }},
		{"Stat of a range", 6, func() { s.Stat(ctx, resourcesync.Range{From: "0001", To: "0009"}) }},
		{"Resources", 10, func() {
			n := 0
			for _, err := range s.Resources(ctx, resourcesync.Range{}) {
				if n++; err != nil {
					t.Error(err)
				}
			}
			if n != 1000 {
				t.Errorf("%d resources", n)
			}
		}},
	} {
		if got := testing.AllocsPerRun(100, tt.f); got > tt.most {
			t.Errorf("%s allocates %v times, of at most %v", tt.name, got, tt.most)
		}
	}
}

// filled returns a set of n resources.
func filled(t testing.TB, n int) *Set {
	t.Helper()
	s := New(nil)
	resources := make([]resourcesync.Resource, n)
	for i := range resources {
		resources[i] = resource(fmt.Sprintf("%06d", i), "1")
	}
	put(t, s, resources...)
	return s
}

// TestPutUnparsable: a URI that this program cannot parse is listed, and matches no
// request.
func TestPutUnparsable(t *testing.T) {
	s := New(nil)
	r := resourcesync.Resource{Key: "a", URI: "https://a%20b.example/"}
	if err := s.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if s.Covers(&url.URL{}) || s.Covers(&url.URL{Path: "/"}) {
		t.Error("a request is for it")
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if s.Len() != 0 {
		t.Error("it cannot be deleted")
	}
}
