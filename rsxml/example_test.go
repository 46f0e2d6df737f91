package rsxml_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Resource List of one resource.
func Example() {
	h := &rsxml.Head{
		Metadata: rsxml.Metadata{
			Capability: resourcesync.ResourceList,
			At:         time.Date(2025, 5, 1, 12, 0, 0, 0, time.UTC),
		},
		Links: []resourcesync.Link{{Rel: resourcesync.RelUp, Href: "https://example.org/capabilitylist.xml"}},
	}
	resources := []resourcesync.Resource{{
		URI:          "https://example.org/a.html",
		LastModified: time.Date(2025, 4, 30, 8, 15, 0, 0, time.UTC),
		Length:       resourcesync.Bytes(1024),
		Type:         "text/html",
	}}

	b := rsxml.AppendHead(nil, h)
	var e rsxml.Entry
	for i := range resources {
		e.SetResource(&resources[i])
		b, _ = rsxml.AppendEntry(b, h, &e)
	}
	b = rsxml.AppendTail(b, h)
	os.Stdout.Write(b)
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
	// <rs:ln rel="up" href="https://example.org/capabilitylist.xml"/>
	// <rs:md capability="resourcelist" at="2025-05-01T12:00:00Z"/>
	// <url>
	// <loc>https://example.org/a.html</loc>
	// <lastmod>2025-04-30T08:15:00Z</lastmod>
	// <rs:md length="1024" type="text/html"/>
	// </url>
	// </urlset>
}

const changeList = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:md capability="changelist" from="2025-05-01T00:00:00Z"/>
  <url>
    <loc>https://example.org/a.html</loc>
    <rs:md change="created" datetime="2025-05-01T10:00:00Z"/>
  </url>
  <url>
    <loc>https://example.org/b.html</loc>
    <rs:md datetime="2025-05-01T09:00:00Z"/>
  </url>
</urlset>`

func ExampleDecoder() {
	d := rsxml.NewDecoder(strings.NewReader(changeList))
	h, err := d.Head()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Metadata.Capability, "from", h.Metadata.From.Format(time.DateOnly))
	for e, err := range d.Entries() {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(e.Metadata.Change, e.Loc)
	}
	// Output:
	// changelist from 2025-05-01
	// created https://example.org/a.html
	// rsxml: line 8, column 3: the rs:md of an entry of a changelist document must have the attribute change (Core 12.1)
}

func ExampleCheckURI() {
	fmt.Println(rsxml.CheckURI("https://example.org/caf%C3%A9"))
	fmt.Println(rsxml.CheckURI("https://example.org/a file"))
	// Output:
	// <nil>
	// rsxml: URI "https://example.org/a file" has " " at byte 21: write it as %20
}
