package sqlstore_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A table of the host is the Provider, and the journal beside it the Changer. The Source
// runs the store.
func ExampleJournal() {
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
	err = sqlitex.ExecuteScript(conn, "CREATE TABLE papers (id INTEGER PRIMARY KEY); INSERT INTO papers VALUES (1);", nil)
	pool.Put(conn)
	if err != nil {
		log.Fatal(err)
	}

	store, err := sqlitestore.Open(ctx, pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	journal, err := store.Journal(ctx, "papers")
	if err != nil {
		log.Fatal(err)
	}
	papers, err := sqlitetable.Open(ctx, pool, sqltable.Table{Name: "papers", Key: "id", URI: "https://example.org/papers/{id}"})
	if err != nil {
		log.Fatal(err)
	}
	src, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: papers, Changer: journal}},
		&rshttp.Options{Store: store})
	if err != nil {
		log.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	stopped := make(chan error)
	go func() { stopped <- src.Run(running) }()
	defer func() { stop(); <-stopped }()

	w := httptest.NewRecorder()
	src.ServeHTTP(w, httptest.NewRequest("GET", "/resourcesync/resourcelist.xml", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "https://example.org/papers/1"), strings.Contains(w.Body.String(), `at="1970`))
	// Output:
	// 200 true false
}
