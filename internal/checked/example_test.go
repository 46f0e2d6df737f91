package checked_test

import (
	"context"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
)

// unsorted is a provider that breaks its contract.
type unsorted struct{}

func (unsorted) Resources(context.Context, resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		_ = yield(resourcesync.Resource{Key: "b", URI: "https://example.org/b"}, nil) &&
			yield(resourcesync.Resource{Key: "a", URI: "https://example.org/a"}, nil)
	}
}

func Example() {
	for r, err := range checked.Resources(context.Background(), unsorted{}, resourcesync.Range{}, nil) {
		fmt.Println(r.Key, err)
	}
	// Output:
	// b <nil>
	//  provider broke its contract: key "a" after "b", in response to a request for keys from "" to ""
}
