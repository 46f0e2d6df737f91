package sqltable_test

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

// A table of a CMS, in SQLite, becomes a set of resources.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "sqltable")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	pool, err := sqlitex.NewPool(filepath.Join(folder, "cms.db"), sqlitex.PoolOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	conn, err := pool.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `
		CREATE TABLE articles (id INTEGER PRIMARY KEY, slug TEXT NOT NULL, updated TEXT, status TEXT);
		INSERT INTO articles VALUES
			(1, 'hello, world', '2026-03-01 12:00:00', 'published'),
			(2, 'not yet', '2026-03-02 12:00:00', 'draft'),
			(3, 'größe', '2026-03-03 12:00:00', 'published');`, nil)
	pool.Put(conn)
	if err != nil {
		log.Fatal(err)
	}

	articles, err := sqlitetable.Open(ctx, pool, sqltable.Table{
		Name:         "articles",
		Key:          "id",
		URI:          "https://example.org/{id}/{slug}",
		LastModified: "updated",
		Where:        "status = 'published'",
	})
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range articles.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Key, r.URI, r.LastModified.Format("2006-01-02"))
	}
	// Output:
	// 0000000000000000001 https://example.org/1/hello%2C%20world 2026-03-01
	// 0000000000000000003 https://example.org/3/gr%C3%B6%C3%9Fe 2026-03-03
}
