package pgstore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
)

// A store in PostgreSQL keeps a set, which any number of processes can share.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store, err := pgstore.Open(ctx, pool, nil)
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
	for r, err := range papers.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.URI)
	}
}
