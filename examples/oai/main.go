// Command oai publishes the records of a repository with OAI-PMH. Run it with the address of the
// repository's interface,
//
//	go run ./examples/oai -repository https://repo.example.org/oai
//
// and request the list of the pages that the records describe:
//
//	curl http://127.0.0.1:8080/resourcesync/resourcelist.xml
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

func main() {
	repository := flag.String("repository", "https://repo.example.org/oai", "`URL` of the OAI-PMH interface")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		err = run(ctx, ln, *repository, "oai.db")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves the ResourceSync documents of a repository until ctx ends.
func run(ctx context.Context, ln net.Listener, repository, database string) error {
	site := "http://" + ln.Addr().String() + "/"
	//docs:begin oai
	records, err := oaipmh.New(repository, nil)
	if err != nil {
		return err
	}
	store, err := sqlitestore.OpenFile(ctx, database, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	set, err := scan.Into(ctx, store, "records", records, nil) // harvests the repository
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: src, ReadHeaderTimeout: 10 * time.Second} // the pages stay where they are
	defer server.Close()
	serving, stop := context.WithCancelCause(ctx)
	go func() { stop(server.Serve(ln)) }()
	if err := src.Run(serving); err != nil || ctx.Err() != nil {
		return err // nil after an interrupt
	}
	return context.Cause(serving) // why the server has ended
	//docs:end
}
