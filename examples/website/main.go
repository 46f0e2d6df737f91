// Command website publishes the pages of a site with a sitemap, which another handler serves.
// Run it with go run ./examples/website.
package main

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

func main() {
	ctx, site := context.Background(), "http://"+address+"/"
	pages, err := sitemap.New(site, nil) // lists the public pages that the sitemap names
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlitestore.OpenFile(ctx, "website.db", nil) // the journal: no restart loses a change
	if err != nil {
		log.Fatal(err)
	}
	set, err := scan.Into(ctx, store, "pages", pages, nil)
	if err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: address, ReadHeaderTimeout: 10 * time.Second}
	server.Handler = sidecar.Wrap(newWebsite(site), src, &sidecar.Options{Changed: pages.Changed}) // notices writes
	go func() { log.Fatal(server.ListenAndServe()) }()
	log.Fatal(src.Run(ctx))
}
