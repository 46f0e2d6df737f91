package oaipmh_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
	"github.com/resourcesync-go/resourcesync/scan"
)

func Example() {
	ctx := context.Background()
	server := httptest.NewServer(oaitest.New("https://repo.example", 2, time.Now()))
	defer server.Close()
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	store, err := sqlitestore.OpenFile(ctx, filepath.Join(folder, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	repository, err := oaipmh.New(server.URL+"/oai", &oaipmh.Options{
		URI:  "https://repo.example/record/{local}",
		Rate: 10, // requests per second, of a repository of our own
	})
	if err != nil {
		log.Fatal(err)
	}
	records, err := scan.Into(ctx, store, "records", repository, &scan.Options{Every: 10 * time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := records.Update(ctx); err != nil { // a Source runs records.Run instead
		log.Fatal(err)
	}
	for r, err := range records.Resources(ctx, resourcesync.Range{}) {
		fmt.Println(r.Key, r.URI, err)
	}
	// Output:
	// oai:repo.example:1 https://repo.example/record/1 <nil>
	// oai:repo.example:2 https://repo.example/record/2 <nil>
}
