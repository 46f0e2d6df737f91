package sqlstore

import (
	"context"
	"database/sql"
	"iter"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/providertest"
)

func TestProvider(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		n := 0
		providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
			n++
			set := store.mustSet(t, t.Name(), nil)
			if err := set.Put(t.Context(), resources...); err != nil {
				t.Fatal(err)
			}
			return set, &providertest.Options{Put: set.Put, Delete: set.Delete, ExactStat: true}
		})
	})
}

// TestProviderAfterScan is about a set whose resources were its baseline.
func TestProviderAfterScan(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
			set := store.mustSet(t, t.Name(), &SetOptions{AwaitScan: true})
			result, err := set.Scan(t.Context(), listing(resources...))
			if err != nil || result != (ScanResult{Created: len(resources)}) {
				t.Fatalf("%+v, %v", result, err)
			}
			return set, &providertest.Options{Put: set.Put, Delete: set.Delete, ExactStat: true}
		})
	})
}

func listing(resources ...resourcesync.Resource) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, r := range resources {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// TestProviderByRecord is about a set that only the host's transactions change.
func TestProviderByRecord(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
			set := store.mustSet(t, t.Name(), nil)
			w := newWriter(t, db)
			record := func(ctx context.Context, changes []resourcesync.Change) error {
				if err := w.transaction(ctx, func(tx *sql.Tx) error { return set.Record(ctx, SQLTx(tx), changes...) }); err != nil {
					return err
				}
				return store.sequence(ctx)
			}
			putAll := func(ctx context.Context, resources ...resourcesync.Resource) error {
				var changes []resourcesync.Change
				for _, r := range resources {
					changes = append(changes, resourcesync.Change{Type: resourcesync.Updated, Resource: r})
				}
				return record(ctx, changes)
			}
			deleteAll := func(ctx context.Context, keys ...string) error {
				var changes []resourcesync.Change
				for _, key := range keys {
					changes = append(changes, resourcesync.Change{Type: resourcesync.Deleted, Resource: resourcesync.Resource{Key: key}})
				}
				return record(ctx, changes)
			}
			if err := putAll(t.Context(), resources...); err != nil {
				t.Fatal(err)
			}
			return set, &providertest.Options{Put: putAll, Delete: deleteAll}
		})
	})
}
