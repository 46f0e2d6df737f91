package mysqltable_test

import (
	"context"
	"database/sql"
	"log"
	"os"

	_ "github.com/go-sql-driver/mysql"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/mysqltable"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

func ExampleOpen() {
	ctx := context.Background()
	db, err := sql.Open("mysql", os.Getenv("MYSQL_DSN")) // with charset=utf8mb4
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	papers, err := mysqltable.Open(ctx, db, sqltable.Table{
		Name:         "paper",
		Key:          "id",
		URI:          "https://example.org/papers/{id}",
		LastModified: "updated_at",
	})
	if err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(src.Run(ctx))
}

// A set in SQLite follows a table of WordPress: by a comparison at the start, and then by
// what triggers record. Run "resourcesync triggers --apply" once to create them.
func ExampleList() {
	ctx := context.Background()
	db, err := sql.Open("mysql", os.Getenv("MYSQL_DSN"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	posts, err := mysqltable.List(ctx, db, sqltable.Table{
		Name:         "wp_posts",
		Key:          "ID",
		URI:          "https://example.org/?p={ID}",
		LastModified: "post_modified_gmt",
		Where:        "post_status = 'publish' AND post_type IN ('post', 'page')",
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	store, err := sqlitestore.OpenFile(ctx, "state.db", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	set, err := store.Set(ctx, "posts", &sqlstore.SetOptions{AwaitScan: true})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := set.Scan(ctx, posts.Resources(ctx)); err != nil {
		log.Fatal(err)
	}
	changes, err := posts.Outbox(ctx, "posts")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(changes.Watch(ctx, func() {
		if _, err := changes.Drain(ctx, set); err != nil {
			log.Print(err)
		}
	}))
}
