package memory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
)

func Example() {
	ctx := context.Background()
	papers := memory.New(nil)
	err := papers.Put(ctx,
		resourcesync.Resource{Key: "1", URI: "https://example.org/papers/1", Type: "application/pdf"},
		resourcesync.Resource{Key: "2", URI: "https://example.org/papers/2", Type: "application/pdf"},
	)
	if err == nil {
		err = papers.Delete(ctx, "1")
	}
	if err != nil {
		log.Fatal(err)
	}
	for r, err := range papers.Resources(ctx, resourcesync.Range{}) {
		fmt.Println(r.Key, r.URI, err)
	}
	for c, err := range papers.Changes(ctx, resourcesync.Interval{}) {
		fmt.Println(c.Type, c.Resource.URI, err)
	}
	// Output:
	// 2 https://example.org/papers/2 <nil>
	// created https://example.org/papers/1 <nil>
	// created https://example.org/papers/2 <nil>
	// deleted https://example.org/papers/1 <nil>
}

// A listing can be in any order; resources that it no longer contains are deleted.
func ExampleSet_Scan() {
	listing := func(names ...string) func(func(resourcesync.Resource, error) bool) {
		return func(yield func(resourcesync.Resource, error) bool) {
			for _, name := range names {
				if !yield(resourcesync.Resource{Key: name, URI: "https://example.org/" + name}, nil) {
					return
				}
			}
		}
	}
	set := memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	ctx := context.Background()
	for _, err := range set.Resources(ctx, resourcesync.Range{}) {
		fmt.Println(err)
	}
	for _, names := range [][]string{{"b", "a"}, {"c", "b"}} {
		result, err := set.Scan(ctx, listing(names...))
		fmt.Println(result.Created, "created,", result.Deleted, "deleted", err)
	}
	// Output:
	// resourcesync: not ready yet
	// 2 created, 0 deleted <nil>
	// 1 created, 1 deleted <nil>
}
