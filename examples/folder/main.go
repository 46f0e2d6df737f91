// Command folder publishes a folder of files, and each change soon after it was made. Run it,
//
//	go run ./examples/folder -folder docs
//
// change a file, and request the list of changes:
//
//	curl http://127.0.0.1:8080/resourcesync/changelist.xml
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

	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

func main() {
	folder := flag.String("folder", "docs", "`path` of the folder to publish")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err == nil {
		err = run(ctx, ln, *folder, "folder.db")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run serves a folder, and its ResourceSync documents, until ctx ends. The database has the journal,
// so that a restart loses no change. It must not be in the folder.
func run(ctx context.Context, ln net.Listener, folder, database string) error {
	site := "http://" + ln.Addr().String() + "/"
	//docs:begin folder
	papers, err := dir.Open(folder, site, nil)
	if err != nil {
		return err
	}
	defer papers.Close()
	store, err := sqlitestore.OpenFile(ctx, database, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	set, err := scan.Into(ctx, store, "papers", papers, nil) // scans the folder, and watches it
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store})
	if err != nil {
		return err
	}
	server := &http.Server{Handler: src.Wrap(papers.Handler(nil)), ReadHeaderTimeout: 10 * time.Second}
	defer server.Close()
	serving, stop := context.WithCancelCause(ctx)
	go func() { stop(server.Serve(ln)) }()
	if err := src.Run(serving); err != nil || ctx.Err() != nil {
		return err // nil after an interrupt
	}
	return context.Cause(serving) // why the server has ended
	//docs:end
}
