package main

import (
	"context"
	"log"
	"path/filepath"

	"github.com/pocketbase/pocketbase/core"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// publish makes the records of a collection a Source until ctx ends. Triggers in PocketBase's own
// database record what it writes, so the journal is part of each of its transactions.
func publish(ctx context.Context, e *core.ServeEvent, collection string) error {
	site := "http://" + e.Server.Addr
	//docs:begin publish
	db, err := sqlitex.NewPool(filepath.Join(e.App.DataDir(), "data.db"), sqlitex.PoolOptions{})
	if err != nil {
		return err
	}
	store, err := sqlitestore.Open(ctx, db, nil) // the journal, notifications and subscriptions
	if err != nil {
		return err
	}
	table, err := sqlitetable.Open(ctx, db, sqltable.Table{
		Name: collection, Key: "id", URI: site + "/api/collections/" + collection + "/records/{id}", LastModified: "updated",
	})
	if err != nil {
		return err
	}
	records, err := table.Journal(ctx, store, collection, nil)
	if err != nil {
		return err
	}
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: records}},
		&rshttp.Options{Store: store, Hub: &hub.Options{}})
	if err != nil {
		return err
	}
	go func() {
		defer db.Close()
		if err := src.Run(ctx); err != nil {
			log.Print(err)
		}
	}()
	err = e.Next() // sets the handler
	e.Server.Handler = src.Wrap(e.Server.Handler)
	return err
	//docs:end
}
