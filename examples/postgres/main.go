// Command postgres publishes a table of a PostgreSQL database: a list of its rows, every
// change as soon as it is committed, and a dump of the content. Any number of these
// programs may share the database. Run it with a database that you may write to,
//
//	go run ./examples/postgres -db postgres://localhost/papers
//
// write, rewrite and delete papers,
//
//	curl -X PUT -d 'Hello.'        http://127.0.0.1:8080/papers/hello
//	curl -X PUT -d 'Hello, again.' http://127.0.0.1:8080/papers/hello
//	curl -X PUT -d 'Soon gone.'    http://127.0.0.1:8080/papers/draft
//	curl -X DELETE                 http://127.0.0.1:8080/papers/draft
//
// or do so in psql: triggers record what any program writes. Then request what a harvester
// requests: the entry point, the list of papers, the list of changes, the dump, and the hub
// to subscribe to.
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
	"os/signal"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

func main() {
	db := flag.String("db", "postgres://localhost/papers", "`URL` of the database")
	listen := flag.String("listen", "127.0.0.1:8080", "`address` to listen at")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ln, err := net.Listen("tcp", *listen)
	if err == nil {
		err = run(ctx, ln, *db, "http://"+ln.Addr().String(), &hub.Options{})
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves the papers in a database, and their ResourceSync documents, until ctx ends.
// site is the public URL, which all processes share.
func run(ctx context.Context, ln net.Listener, db, site string, own *hub.Options) error {
	pool, err := pgxpool.New(ctx, db)
	if err != nil {
		return err
	}
	defer pool.Close()
	app, err := openApp(ctx, pool) // the application, which does not use ResourceSync
	if err != nil {
		return err
	}
	//docs:begin table
	store, err := pgstore.Open(ctx, pool, nil) // the journal, notifications and subscriptions
	if err != nil {
		return err
	}
	defer store.Close()
	table, err := pgtable.Open(ctx, pool, sqltable.Table{
		Name: "paper", Key: "name", URI: site + "/papers/{name}",
		LastModified: "updated", Length: "length", Hashes: map[string]string{"sha-256": "sha256"},
	})
	if err != nil {
		return err
	}
	papers, err := table.Journal(ctx, store, "papers", nil) // triggers journal what any program writes
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: papers, Opener: content{app}}},
		&rshttp.Options{Store: store, Hub: own})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: src.Wrap(app)} // documents, hub, and Link headers on the papers
	//docs:end
	defer server.Close()
	go server.Serve(ln)
	log.Printf("listening; harvesters start at %s", src.Description())
	return src.Run(ctx) // the store, the publisher, the hub and the Source
}
