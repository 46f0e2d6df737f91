package entries_test

import (
	"fmt"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
)

// A Resource List must not link to a patch, so the entry of a resource has no such link.
func Example() {
	var b entries.Builder
	e := b.Resource(&resourcesync.Resource{
		URI: "https://example.org/a",
		Links: []resourcesync.Link{
			{Rel: resourcesync.RelPatch, Href: "https://example.org/a.patch", Type: "application/json-patch"},
			{Rel: "describedby", Href: "https://example.org/a.xml"},
		},
	})
	fmt.Println(e.Loc, len(e.Links), e.Links[0].Rel)
	// Output: https://example.org/a 1 describedby
}
