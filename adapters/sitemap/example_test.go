package sitemap_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

func Example() {
	ctx := context.Background()
	cms := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
				<url><loc>https://example.org/about</loc></url>
				<url><loc>https://example.org/draft</loc></url></urlset>`)
		case "/about":
			fmt.Fprint(w, "About us")
		case "/draft":
			w.WriteHeader(http.StatusForbidden)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer cms.Close()

	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := sqlitestore.OpenFile(ctx, filepath.Join(folder, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	site, err := sitemap.New("https://example.org/", &sitemap.Options{Upstream: cms.URL})
	if err != nil {
		log.Fatal(err)
	}
	pages, err := scan.Into(ctx, store, "pages", site, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := pages.Update(ctx); err != nil { // a Source runs pages.Run instead
		log.Fatal(err)
	}
	for r, err := range pages.Resources(ctx, resourcesync.Range{}) {
		fmt.Println(r.URI, r.Hashes[0].Algorithm, err)
	}
	// Output:
	// https://example.org/about sha-256 <nil>
}
