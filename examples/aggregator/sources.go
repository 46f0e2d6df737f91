package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/resourcesync-go/resourcesync/adapters/replica"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/destination"
)

// openStore opens the store of the set of copies.
func openStore(ctx context.Context, data string) (*sqlstore.Store, error) {
	if err := os.MkdirAll(data, 0o777); err != nil {
		return nil, err
	}
	return sqlitestore.OpenFile(ctx, filepath.Join(data, "copies.db"), nil)
}

// open returns the Destination of a source. Its copies are in a folder whose name depends on
// the URL, not on the order of the arguments.
func open(source, data string, copies *replica.Aggregator) (*destination.Destination, error) {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(source)))[:12]
	folder, err := destination.OpenFolder(filepath.Join(data, name))
	if err != nil {
		return nil, err
	}
	sink, err := copies.Sink(name, folder)
	if err != nil {
		return nil, err
	}
	return destination.New(source, sink, &destination.Options{State: filepath.Join(data, name, ".resourcesync")})
}

// report returns a function that logs how the copy of a source has changed.
func report(source string) func(*destination.Report, error) {
	return func(r *destination.Report, err error) {
		log.Printf("%s: %d created, %d updated, %d deleted, %d failed: %v", source, r.Created, r.Updated, r.Deleted, r.Failed, err)
	}
}
