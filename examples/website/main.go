// Command website publishes the pages of a site that has a sitemap, which another handler of
// the same program serves. Run it,
//
//	go run ./examples/website
//
// and request the list of pages:
//
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sidecar"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		err = run(ctx, ln, "website.db")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves a website, and its ResourceSync documents, until ctx ends.
func run(ctx context.Context, ln net.Listener, database string) error {
	site := "http://" + ln.Addr().String() + "/"
	website := newWebsite(site)
	//docs:begin website
	pages, err := sitemap.New(site, nil) // lists what the sitemap names and anybody may read
	if err != nil {
		return err
	}
	store, err := sqlitestore.OpenFile(ctx, database, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	set, err := scan.Into(ctx, store, "pages", pages, nil)
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store})
	if err != nil {
		return err
	}
	handler := sidecar.Wrap(website, src, &sidecar.Options{Changed: pages.Changed}) // notices writes
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer server.Close()
	serving, stop := context.WithCancelCause(ctx)
	go func() { stop(server.Serve(ln)) }()
	if err := src.Run(serving); err != nil || ctx.Err() != nil {
		return err // nil after an interrupt
	}
	return context.Cause(serving) // why the server has ended
	//docs:end
}
