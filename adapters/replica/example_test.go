package replica_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/replica"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A set has the copies of a library, each with a link to its original.
func Example() {
	ctx := context.Background()
	temp, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(temp)
	library := newLibrary()
	defer library.Close()

	store, err := sqlitestore.OpenFile(ctx, filepath.Join(temp, "copies.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	set, err := store.Set(ctx, "copies", nil)
	if err != nil {
		log.Fatal(err)
	}
	copies, err := replica.NewAggregator(ctx, "https://aggregator.example.org/copies/", set, nil)
	if err != nil {
		log.Fatal(err)
	}

	// The Sink keeps the copies in a folder, and adds them to the set.
	folder, err := destination.OpenFolder(filepath.Join(temp, "library"))
	if err != nil {
		log.Fatal(err)
	}
	defer folder.Close()
	sink, err := copies.Sink("library", folder)
	if err != nil {
		log.Fatal(err)
	}
	d, err := destination.New(library.URL, sink, &destination.Options{State: filepath.Join(temp, "state")})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Sync(ctx); err != nil {
		log.Fatal(err)
	}

	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		content, err := copies.Open(ctx, r)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(content)
		content.Close()
		fmt.Println(strings.HasPrefix(r.URI, "https://aggregator.example.org/copies/library/"), string(text), err)
		fmt.Println(r.Links[0].Rel, strings.TrimPrefix(r.Links[0].Href, library.URL))
	}
	// Output:
	// true On maps <nil>
	// via /maps/1
}

// newLibrary starts a Source with one resource.
func newLibrary() *httptest.Server {
	papers := memory.New(nil)
	server := httptest.NewUnstartedServer(nil)
	base := "http://" + server.Listener.Addr().String()
	if err := papers.Put(context.Background(), resourcesync.Resource{Key: "1", URI: base + "/maps/1"}); err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New(base+"/resourcesync/", []rshttp.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	server.Config.Handler = src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "On maps")
	}))
	server.Start()
	return server
}
