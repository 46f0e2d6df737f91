package rshttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func Example() {
	now := func() time.Time { return time.Date(2026, 1, 2, 13, 0, 0, 0, time.UTC) }
	papers := memory.New(&memory.Options{Now: now})
	if err := papers.Put(context.Background(), resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"}); err != nil {
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

// A Source with a hub of its own publishes changes as soon as they happen.
func Example_hub() {
	papers := memory.New(nil)
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Name: "papers", Provider: papers}},
		&rshttp.Options{Hub: &hub.Options{}})
	if err != nil {
		log.Fatal(err)
	}
	site := src.Wrap(http.NewServeMux())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- src.Run(ctx) }()

	// Destinations find the channels in the Capability List.
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/resourcesync/papers/capabilitylist.xml", nil))
	_, entries, err := rsxml.Decode(w.Body)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		for _, l := range e.Links {
			fmt.Println(e.Metadata.Capability, e.Loc, l.Rel, l.Href)
		}
	}

	// The first Framework Notification announces the Source Description.
	for announced := false; !announced; time.Sleep(time.Millisecond) {
		status, err := src.PushStatus(ctx)
		if err != nil {
			log.Fatal(err)
		}
		announced = status.Counters.Notifications > 0
	}
	w = httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/resourcesync/papers/framework/", nil))
	for _, l := range linkheader.Parse(w.Header()["Link"]...) {
		fmt.Println(l)
	}
	stop()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
	// Output:
	// change-notification https://example.org/resourcesync/papers/change/ hub https://example.org/resourcesync/websub/
	// framework-notification https://example.org/resourcesync/papers/framework/ hub https://example.org/resourcesync/websub/
	// <https://example.org/resourcesync/papers/framework/>; rel="self"
	// <https://example.org/resourcesync/websub/>; rel="hub"
	// <https://example.org/resourcesync/papers/capabilitylist.xml>; rel="resourcesync"
}
