package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
)

func ExampleOpenFile() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()

	store, err := sqlitestore.OpenFile(ctx, filepath.Join(folder, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	papers, err := store.Set(ctx, "papers", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = papers.Put(ctx, resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"})
	if err != nil {
		log.Fatal(err)
	}
	for c, err := range papers.Changes(ctx, resourcesync.Interval{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Type, c.Resource.URI)
	}
	// Output:
	// created https://example.org/papers/1
}
