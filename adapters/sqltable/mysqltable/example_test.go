package mysqltable_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "github.com/go-sql-driver/mysql"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/mysqltable"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := sql.Open("mysql", os.Getenv("MYSQL_DSN")) // with charset=utf8mb4
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE paper (id INT PRIMARY KEY, updated_at DATETIME NOT NULL)",
		"INSERT INTO paper VALUES (1, '2026-01-31 12:00:00'), (2, '2026-02-01 12:00:00')",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			log.Fatal(err)
		}
	}

	papers, err := mysqltable.Open(ctx, db, sqltable.Table{
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
		fmt.Println(r.URI, r.LastModified)
	}
	// Output:
	// https://example.org/papers/1 2026-01-31 12:00:00 +0000 UTC
	// https://example.org/papers/2 2026-02-01 12:00:00 +0000 UTC
}

// A set in SQLite follows a table of WordPress: by a comparison at the start, and then by the
// changes that triggers record.
func ExampleList() {
	ctx := context.Background()
	db, err := sql.Open("mysql", os.Getenv("MYSQL_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE wp_posts (ID INT PRIMARY KEY, post_status VARCHAR(20), post_modified_gmt DATETIME)")
	if err != nil {
		log.Fatal(err)
	}

	// Create the triggers once, here or by "resourcesync triggers --apply".
	table := sqltable.Table{
		Name:         "wp_posts",
		Key:          "ID",
		URI:          "https://example.org/?p={ID}",
		LastModified: "post_modified_gmt",
		Where:        "post_status = 'publish'",
	}
	triggers := mysqltable.Triggers(db)
	statements, err := triggers.Create(ctx, table, "posts")
	if err != nil {
		log.Fatal(err)
	}
	if err := triggers.Apply(ctx, statements); err != nil {
		log.Fatal(err)
	}

	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	store, err := sqlitestore.OpenFile(ctx, filepath.Join(folder, "state.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	set, err := store.Set(ctx, "posts", nil)
	if err != nil {
		log.Fatal(err)
	}
	posts, err := mysqltable.List(ctx, db, table, nil)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := set.Scan(ctx, posts.Resources(ctx)); err != nil {
		log.Fatal(err)
	}

	// WordPress publishes a post. A program calls Drain whenever Outbox.Watch wakes it.
	_, err = db.ExecContext(ctx, "INSERT INTO wp_posts VALUES (1, 'publish', '2026-01-31 12:00:00'), (2, 'draft', '2026-02-01 12:00:00')")
	if err != nil {
		log.Fatal(err)
	}
	outbox, err := posts.Outbox(ctx, "posts")
	if err != nil {
		log.Fatal(err)
	}
	result, err := outbox.Drain(ctx, set)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Created, "created")
	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.URI)
	}
	// Output:
	// 1 created
	// https://example.org/?p=1
}
