package changes_test

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
)

// An upsert of a resource with a new URI deletes the old URI and creates the new one.
func Example() {
	old := &resourcesync.Resource{Key: "a", URI: "https://example.org/old"}
	renamed := &resourcesync.Resource{Key: "a", URI: "https://example.org/new"}
	b := changes.Batch{
		Items: map[string]*changes.Item{"a": {Live: old}},
		Now:   time.Now,
	}
	b.Apply([]changes.Edit{{Type: changes.Upsert, Key: "a", Resource: renamed}})
	for _, e := range b.Events {
		fmt.Println(e.Type, e.Resource.URI)
	}
	// Output:
	// deleted https://example.org/old
	// created https://example.org/new
}
