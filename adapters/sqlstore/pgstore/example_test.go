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

// A change is recorded in the transaction that writes the row.
func ExampleOpen() {
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
	journal, err := store.Journal(ctx, "papers")
	if err != nil {
		log.Fatal(err)
	}

	tx, err := pool.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback(ctx)
	// … tx.Exec(ctx, "INSERT INTO paper …")
	err = journal.Record(ctx, pgstore.Tx(tx), resourcesync.Change{
		Type:     resourcesync.Created,
		Resource: resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	// Run numbers committed changes. One process does so at a time.
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- store.Run(running) }()
	watching, enough := context.WithCancel(ctx)
	journal.Watch(watching, func() {
		for c, err := range journal.Changes(ctx, resourcesync.Interval{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(c.Type, c.Resource.URI)
			enough()
		}
	})
	stop()
	if err := <-stopped; err != nil {
		log.Fatal(err)
	}
	// Output:
	// created https://example.org/papers/1
}
