package providertest_test

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/providertest"
)

// papers is a provider over an existing table of the program.
type papers []string

func (p papers) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, key := range slices.Sorted(slices.Values(p)) {
			if !r.Contains(key) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Resource{}, err)
				return
			}
			if !yield(resourcesync.Resource{Key: key, URI: "https://example.org/papers/" + key}, nil) {
				return
			}
		}
	}
}

func ExampleTest() {
	err := providertest.Test(context.Background(), papers{"b", "a", "Z"}, nil)
	fmt.Println(err)

	err = providertest.Test(context.Background(), papers{"b", "a", "Z", "a"}, nil)
	fmt.Println(err)
	// Output:
	// <nil>
	// Resources/unique: "a" is yielded twice (resourcesync.Provider: no two resources have the same key)
}
