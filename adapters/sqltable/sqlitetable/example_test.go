package sqlitetable_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
)

func ExampleOpen() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	pool, err := sqlitex.NewPool(filepath.Join(folder, "app.db"), sqlitex.PoolOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, "CREATE TABLE paper (id INTEGER PRIMARY KEY); INSERT INTO paper VALUES (1), (2);", nil)
	pool.Put(conn)
	if err != nil {
		log.Fatal(err)
	}

	papers, err := sqlitetable.Open(ctx, pool, sqltable.Table{Name: "paper", Key: "id", URI: "https://example.org/papers/{id}"})
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range papers.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.URI)
	}
	// Output:
	// https://example.org/papers/1
	// https://example.org/papers/2
}
