package render_test

import (
	"fmt"
	"os"

	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A plain sitemap of one resource.
func Example() {
	b := render.Body{Head: &rsxml.Head{}}
	defer b.Free()
	fits := b.Add(&rsxml.Entry{Loc: "https://example.org/a"})
	text, err := b.Text()
	fmt.Println(fits, text.Size == b.Len(), err)
	_ = text.WritePlain(os.Stdout)
	// Output:
	// true true <nil>
	// <?xml version="1.0" encoding="UTF-8"?>
	// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
	// <url>
	// <loc>https://example.org/a</loc>
	// </url>
	// </urlset>
}
