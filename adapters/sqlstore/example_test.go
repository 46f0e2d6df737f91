package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()

	// In an application that keeps its articles in app.db, the journal is kept
	// there too.
	path := filepath.Join(folder, "app.db")
	store, err := sqlitestore.OpenFile(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	articles, err := store.Set(ctx, "articles", nil)
	if err != nil {
		log.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- store.Run(running) }()

	// The application writes an article and records that, in one transaction.
	// It waits if the store is writing just then.
	app, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()
	tx, err := app.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	// … tx.ExecContext(ctx, "INSERT INTO article …")
	err = articles.Record(ctx, sqlstore.SQLTx(tx), resourcesync.Change{
		Type:     resourcesync.Created,
		Resource: resourcesync.Resource{Key: "1", URI: "https://example.org/articles/1"},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		log.Fatal(err)
	}

	// Soon it is in the set and in its journal.
	watching, enough := context.WithCancel(ctx)
	articles.Watch(watching, func() {
		for c, err := range articles.Changes(ctx, resourcesync.Interval{}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(c.Type, c.Resource.URI)
			enough()
		}
	})
	stop()
	<-stopped

	// Output:
	// created https://example.org/articles/1
}

func ExampleSet_Scan() {
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
	pages, err := store.Set(ctx, "pages", &scan.SetOptions{AwaitScan: true})
	if err != nil {
		log.Fatal(err)
	}

	listing := func(yield func(resourcesync.Resource, error) bool) {
		for _, name := range []string{"index.html", "about.html"} {
			if !yield(resourcesync.Resource{Key: name, URI: "https://example.org/" + name}, nil) {
				return
			}
		}
	}
	for range 2 {
		result, err := pages.Scan(ctx, listing)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d created, %d unchanged\n", result.Created, result.Unchanged)
	}
	for r, err := range pages.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.URI)
	}

	// Output:
	// 2 created, 0 unchanged
	// 0 created, 2 unchanged
	// https://example.org/about.html
	// https://example.org/index.html
}
