package sqlitetable_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
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

// An application that uses database/sql has its papers published with a journal, which
// triggers write. Nothing else of it changes.
func ExampleOpenFile() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	ctx := context.Background()
	path := filepath.Join(folder, "app.db")
	app, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=busy_timeout(5000)") // modernc.org/sqlite
	if err != nil {
		log.Fatal(err)
	}
	defer app.Close()
	if _, err := app.Exec("CREATE TABLE paper (id INTEGER PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}

	store, err := sqlitestore.OpenFile(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	table, err := sqlitetable.OpenFile(ctx, path, sqltable.Table{Name: "paper", Key: "id", URI: "https://example.org/papers/{id}"})
	if err != nil {
		log.Fatal(err)
	}
	papers, err := table.Journal(ctx, store, "papers", &sqltable.JournalOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer papers.Close()
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- store.Run(running) }() // Source.Run does this

	if _, err := app.Exec("INSERT INTO paper VALUES (1)"); err != nil {
		log.Fatal(err)
	}
	watching, enough := context.WithCancel(ctx)
	papers.Watch(watching, func() {
		for c, err := range papers.Changes(ctx, resourcesync.Interval{}) {
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
	// created https://example.org/papers/1
}
