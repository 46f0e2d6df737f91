package pgtable_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/pgtable"
)

func ExampleOpen() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	_, err = pool.Exec(ctx, `CREATE TABLE paper (id int PRIMARY KEY, updated_at timestamptz NOT NULL);
		INSERT INTO paper VALUES (1, '2026-01-31T12:00:00Z'), (2, '2026-02-01T12:00:00Z')`)
	if err != nil {
		log.Fatal(err)
	}

	papers, err := pgtable.Open(ctx, pool, sqltable.Table{
		Name:         "paper",
		Key:          "id",
		URI:          "https://example.org/papers/{id}",
		LastModified: "updated_at",
	})
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range papers.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.URI, r.LastModified.UTC())
	}
	// Output:
	// https://example.org/papers/1 2026-01-31 12:00:00 +0000 UTC
	// https://example.org/papers/2 2026-02-01 12:00:00 +0000 UTC
}
