// Command folder publishes the files in the folder docs, and each change soon after it was made.
// Run it with go run ./examples/folder.
package main

import (
	"context"
	"log"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

var address = "127.0.0.1:8080"

func main() {
	ctx, site := context.Background(), "http://"+address+"/"
	papers, err := dir.Open("docs", site, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlitestore.OpenFile(ctx, "folder.db", nil) // the journal: no restart loses a change
	if err != nil {
		log.Fatal(err)
	}
	set, err := scan.Into(ctx, store, "papers", papers, nil) // scans the folder, and watches it
	if err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: address, Handler: src.Wrap(papers.Handler(nil)), ReadHeaderTimeout: 10 * time.Second}
	go func() { log.Fatal(server.ListenAndServe()) }()
	log.Fatal(src.Run(ctx))
}
