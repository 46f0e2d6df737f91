// Command table publishes a table of a SQLite database: a list of its rows, every change
// as soon as it is committed, and a dump of the content. Run it,
//
//	go run ./examples/table
//
// write, rewrite and delete papers,
//
//	curl -X PUT -d 'Hello.'        http://127.0.0.1:8080/papers/hello
//	curl -X PUT -d 'Hello, again.' http://127.0.0.1:8080/papers/hello
//	curl -X PUT -d 'Soon gone.'    http://127.0.0.1:8080/papers/draft
//	curl -X DELETE                 http://127.0.0.1:8080/papers/draft
//
// and request what a harvester requests: the entry point, the list of papers, the list of
// changes, the dump, and the hub to subscribe to. The papers stay in papers.db.
//
//	curl http://127.0.0.1:8080/.well-known/resourcesync
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
//	curl http://127.0.0.1:8080/resourcesync/changelist.xml
//	curl http://127.0.0.1:8080/resourcesync/resourcedump.xml
//	curl http://127.0.0.1:8080/resourcesync/websub/
//	curl -d 'hub.mode=subscribe&hub.topic=http://127.0.0.1:8080/resourcesync/change/&hub.callback=https://harvester.example.net/callback' http://127.0.0.1:8080/resourcesync/websub/
//
// The hub then asks the callback to confirm. Callbacks must have public addresses; set
// AllowCallbacks of hub.Options for others.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	ln, err := net.Listen("tcp", *listen)
	if err == nil {
		err = run(context.Background(), ln, "papers.db", &hub.Options{})
	}
	log.Fatal(err)
}

// run serves the papers in a database file, and their ResourceSync documents, until ctx
// ends.
func run(ctx context.Context, ln net.Listener, file string, own *hub.Options) error {
	app, err := openApp(ctx, file) // the application, which does not use ResourceSync
	if err != nil {
		return err
	}
	defer app.db.Close()
	site := "http://" + ln.Addr().String()
	store, err := sqlitestore.Open(ctx, app.db, nil) // the journal, notifications and subscriptions
	if err != nil {
		return err
	}
	defer store.Close()
	table, err := sqlitetable.Open(ctx, app.db, sqltable.Table{
		Name: "paper", Key: "name", URI: site + "/papers/{name}", LastModified: "updated", Hashes: map[string]string{"sha-256": "sha256"},
	})
	if err != nil {
		return err
	}
	papers, err := table.Journal(ctx, store, "papers", nil) // triggers journal what the application writes
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: papers, Opener: content{app}}},
		&rshttp.Options{Store: store, Hub: own})
	if err != nil {
		return err
	}
	log.Printf("listening; harvesters start at %s", src.Description())
	go http.Serve(ln, src.Wrap(app)) // documents, hub, and Link headers on the papers
	return src.Run(ctx)              // the store, the publisher, the hub and the Source
}
