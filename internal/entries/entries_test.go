package entries

import (
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

func TestPatches(t *testing.T) {
	about := resourcesync.Link{Rel: resourcesync.RelDescribedBy, Href: "https://example.org/about"}
	diff := resourcesync.Link{Rel: resourcesync.RelPatch, Href: "https://example.org/1", Type: "application/json-patch"}
	vague := resourcesync.Link{Rel: resourcesync.RelPatch, Href: "https://example.org/2"}
	given := []resourcesync.Link{diff, about, vague, diff}
	var b Builder
	for _, tt := range []struct {
		change resourcesync.ChangeType
		want   []string
	}{
		{"", []string{about.Href}},
		{resourcesync.Created, []string{about.Href}},
		{resourcesync.Updated, []string{diff.Href, about.Href, diff.Href}},
		{resourcesync.Deleted, []string{about.Href}},
	} {
		links := slices.Clone(given)
		e := b.Change(&resourcesync.Change{Type: tt.change, Resource: resourcesync.Resource{Links: links}})
		var got []string
		for _, l := range e.Links {
			got = append(got, l.Href)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("an entry with the change %q links to %q, not to %q", tt.change, got, tt.want)
		}
		if !slices.EqualFunc(links, given, resourcesync.Link.Equal) {
			t.Errorf("the links of the provider have become %v", links)
		}
	}
	r := resourcesync.Resource{URI: "https://example.org/a", Links: []resourcesync.Link{about}}
	if n := testing.AllocsPerRun(100, func() { b.Resource(&r) }); n != 0 || len(b.Resource(&r).Links) != 1 {
		t.Errorf("an entry without patches takes %v allocations", n)
	}
}
