package main

import (
	"context"
	"path/filepath"

	"github.com/pocketbase/pocketbase/core"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable/sqlitetable"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// publish makes the records of a collection a Source until ctx ends. It sends the Source to ready.
// Triggers in PocketBase's own database record each write in the same transaction.
//
//docs:begin publish
func publish(ctx context.Context, app core.App, site, collection string, ready chan<- *rshttp.Source) error {
	if err := createCollection(app, collection); err != nil {
		return err
	}
	db, err := sqlitex.NewPool(filepath.Join(app.DataDir(), "data.db"), sqlitex.PoolOptions{})
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := sqlitestore.Open(ctx, db, nil) // the journal, notifications and subscriptions
	if err != nil {
		return err
	}
	defer store.Close()
	table, err := sqlitetable.Open(ctx, db, sqltable.Table{
		Name: collection, Key: "id", URI: site + "/api/collections/" + collection + "/records/{id}", LastModified: "updated",
	})
	if err != nil {
		return err
	}
	witness := filepath.Clean(app.DataDir()) + ".witness" // recognizes a restored backup, and is not in one
	records, err := table.Journal(ctx, store, collection, &sqltable.JournalOptions{Witness: witness})
	if err != nil {
		return err
	}
	defer records.Close()
	src, err := rshttp.New(site+"/resourcesync/", []rshttp.Set{{Provider: records}},
		&rshttp.Options{Store: store, Hub: &hub.Options{}})
	if err != nil {
		return err
	}
	ready <- src
	return src.Run(ctx)
}

// createCollection creates the collection if there is none. Anybody may read and write it; a real
// one has other rules.
func createCollection(app core.App, name string) error {
	if _, err := app.FindCollectionByNameOrId(name); err == nil {
		return nil
	}
	c := core.NewBaseCollection(name)
	c.Fields.Add(&core.TextField{Name: "title"}, &core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true})
	anybody := ""
	c.ListRule, c.ViewRule, c.CreateRule, c.UpdateRule, c.DeleteRule = &anybody, &anybody, &anybody, &anybody, &anybody
	return app.Save(c)
}

//docs:end
