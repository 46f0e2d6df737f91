package rshttp_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

func Example() {
	now := func() time.Time { return time.Date(2026, 1, 2, 13, 0, 0, 0, time.UTC) }
	papers := memory.New(&memory.Options{Now: now})
	if err := papers.Put(resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"}); err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "a paper") })
	site := src.Wrap(app)

	for _, path := range []string{"/papers/1", "/resourcesync/resourcelist.xml"} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if link := w.Header().Get("Link"); link != "" {
			fmt.Println("Link:", link)
		}
		fmt.Print(w.Body)
	}
	// Output:
	// Link: <https://example.org/resourcesync/capabilitylist.xml>; rel="resourcesync"
	// a paper
	// <?xml version="1.0" encoding="UTF-8"?>
	// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
	// <rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
	// <rs:md capability="resourcelist" at="2026-01-02T13:00:00.000001Z"/>
	// <url>
	// <loc>https://example.org/papers/1</loc>
	// </url>
	// </urlset>
}
