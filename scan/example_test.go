package scan_test

import (
	"context"
	"fmt"
	"iter"
	"log"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
)

// shelf is an origin: the papers that it has now, in any order.
type shelf []string

func (s *shelf) Resources(context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, name := range *s {
			if !yield(resourcesync.Resource{Key: name, URI: "https://example.org/papers/" + name}, nil) {
				return
			}
		}
	}
}

func Example() {
	ctx := context.Background()
	papers := shelf{"b.pdf", "a.pdf"}
	set, err := scan.Into(ctx, &memory.Store{}, "papers", &papers, nil)
	if err != nil {
		log.Fatal(err)
	}
	// A program that serves the set has rshttp.Source.Run call set.Run instead.
	for _, now := range []shelf{papers, {"c.pdf", "a.pdf"}} {
		papers = now
		if _, err := set.Update(ctx); err != nil {
			log.Fatal(err)
		}
	}
	for r, err := range set.Resources(ctx, resourcesync.Range{}) {
		fmt.Println(r.Key, err)
	}
	for c, err := range set.Changes(ctx, resourcesync.Interval{}) {
		fmt.Println(c.Type, c.Resource.URI, err)
	}
	// Output:
	// a.pdf <nil>
	// c.pdf <nil>
	// created https://example.org/papers/c.pdf <nil>
	// deleted https://example.org/papers/b.pdf <nil>
}
