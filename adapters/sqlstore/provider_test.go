package sqlstore

import (
	"context"
	"database/sql"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/providertest"
	"github.com/resourcesync-go/resourcesync/scan"
)

func TestProvider(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
			set := store.mustSet(t, t.Name(), nil)
			if err := set.Put(t.Context(), resources...); err != nil {
				t.Fatal(err)
			}
			return set, &providertest.Options{Put: set.Put, Delete: set.Delete, ExactStat: true}
		})
	})
}

// TestProviderAfterScan tests a set whose resources are its baseline.
func TestProviderAfterScan(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		set := store.mustSet(t, "scanned", &scan.SetOptions{AwaitScan: true})
		want := numbered(12, 0)
		result, err := set.Scan(t.Context(), listing(want...))
		if err != nil || result != (resourcesync.ScanResult{Created: len(want)}) {
			t.Fatalf("%+v, %v", result, err)
		}
		err = providertest.Test(t.Context(), set, &providertest.Options{Put: set.Put, Delete: set.Delete, ExactStat: true, Want: want})
		if err != nil {
			t.Error(err)
		}
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

// TestProviderByRecord tests a set that only the host's transactions change.
func TestProviderByRecord(t *testing.T) {
	needs.Time(t)
	eachEngine(t, func(t *testing.T, db database) {
		store := db.open(t, nil)
		run(t, store)
		set := store.mustSet(t, "recorded", nil)
		host := newWriter(t, db)
		record := func(ctx context.Context, changes []resourcesync.Change) error {
			err := host.transaction(ctx, func(tx *sql.Tx) error { return set.Record(ctx, SQLTx(tx), changes...) })
			if err != nil {
				return err
			}
			return awaitSequenced(ctx, store)
		}
		put := func(ctx context.Context, resources ...resourcesync.Resource) error {
			var changes []resourcesync.Change
			for _, r := range resources {
				changes = append(changes, resourcesync.Change{Type: resourcesync.Updated, Resource: r})
			}
			return record(ctx, changes)
		}
		remove := func(ctx context.Context, keys ...string) error {
			var changes []resourcesync.Change
			for _, key := range keys {
				changes = append(changes, change(resourcesync.Deleted, key, 0))
			}
			return record(ctx, changes)
		}
		want := numbered(12, 0)
		if err := put(t.Context(), want...); err != nil {
			t.Fatal(err)
		}
		err := providertest.Test(t.Context(), set, &providertest.Options{Put: put, Delete: remove, Want: want})
		if err != nil {
			t.Error(err)
		}
	})
}

// sparesRule skips most rules in everyday runs. TestProvider checks all of them.
func sparesRule(t *testing.T, n int) {
	t.Helper()
	if n%needs.Size(3, 1) != 0 {
		t.Skip("only thorough runs check it")
	}
}

// hidden hides the upgrades of a Provider, as a wrapper does.
type hidden struct{ resourcesync.Provider }

// TestProviderPutTogether tests a Provider whose upgrades a wrapper has hidden and
// rshttp.Set has restored.
func TestProviderPutTogether(t *testing.T) {
	needs.Time(t)
	eachEngine(t, func(t *testing.T, db database) {
		rules := 0
		store := db.open(t, nil)
		run(t, store)
		providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
			rules++
			sparesRule(t, rules)
			set := store.mustSet(t, t.Name(), nil)
			if err := set.Put(t.Context(), resources...); err != nil {
				t.Fatal(err)
			}
			return hidden{set}, &providertest.Options{
				Stater: set, Cutter: set, Changer: set, Watcher: set, Coverer: set,
				Put: set.Put, Delete: set.Delete, ExactStat: true,
			}
		})
	})
}

// TestProviderBesideJournal tests a Provider with only its one method, and a Journal in
// which its host records.
func TestProviderBesideJournal(t *testing.T) {
	needs.Time(t)
	eachEngine(t, func(t *testing.T, db database) {
		rules := 0
		store := db.open(t, nil)
		run(t, store)
		host := newWriter(t, db)
		providertest.Run(t, func(t *testing.T, resources []resourcesync.Resource) (resourcesync.Provider, *providertest.Options) {
			rules++
			sparesRule(t, rules)
			papers := store.mustSet(t, t.Name(), nil)
			journal, err := store.Journal(t.Context(), "journal of "+t.Name())
			if err != nil {
				t.Fatal(err)
			}
			record := func(ctx context.Context, changes []resourcesync.Change) error {
				err := host.transaction(ctx, func(tx *sql.Tx) error { return journal.Record(ctx, SQLTx(tx), changes...) })
				if err != nil {
					return err
				}
				return awaitSequenced(ctx, store)
			}
			put := func(ctx context.Context, resources ...resourcesync.Resource) error {
				before := listed(t, papers)
				if err := papers.Put(ctx, resources...); err != nil {
					return err
				}
				return record(ctx, between(before, listed(t, papers)))
			}
			remove := func(ctx context.Context, keys ...string) error {
				before := listed(t, papers)
				if err := papers.Delete(ctx, keys...); err != nil {
					return err
				}
				return record(ctx, between(before, listed(t, papers)))
			}
			if err := put(t.Context(), resources...); err != nil {
				t.Fatal(err)
			}
			return hidden{papers}, &providertest.Options{Changer: journal, Put: put, Delete: remove}
		})
	})
}

// listed returns the resources of a set by their keys.
func listed(t *testing.T, set *Set) map[string]resourcesync.Resource {
	t.Helper()
	all := map[string]resourcesync.Resource{}
	for r, err := range set.Resources(t.Context(), resourcesync.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		all[r.Key] = r.Clone()
	}
	return all
}

// between returns the changes that lead from before to after, for readers that know
// only URIs: if one resource leaves a URI that another one shares, the URI is created
// once more.
func between(before, after map[string]resourcesync.Resource) (changes []resourcesync.Change) {
	left := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if was := before[key]; after[key].URI != was.URI {
			changes = append(changes, resourcesync.Change{Type: resourcesync.Deleted, Resource: was})
			left[was.URI] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		switch was, is := before[key], after[key]; {
		case was.URI != is.URI || left[is.URI]:
			changes = append(changes, resourcesync.Change{Type: resourcesync.Created, Resource: is})
		case !was.EqualEntry(is):
			changes = append(changes, resourcesync.Change{Type: resourcesync.Updated, Resource: is})
		}
	}
	return changes
}
