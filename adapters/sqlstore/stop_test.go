package sqlstore

import (
	"context"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestStopWhenDone: a consumer that stops after its context is done is not called again.
func TestStopWhenDone(t *testing.T) {
	eachEngine(t, func(t *testing.T, db database) {
		set, err := db.open(t, nil).Set(t.Context(), "files", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Put(t.Context(), resourcesync.Resource{Key: "a", URI: "http://example.org/a"}, resourcesync.Resource{Key: "b", URI: "http://example.org/b"}); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func(context.Context, func()){
			func(ctx context.Context, cancel func()) {
				for range set.Resources(ctx, resourcesync.Range{}) {
					cancel()
					break
				}
			},
			func(ctx context.Context, cancel func()) {
				for range set.First(ctx, resourcesync.Range{}, 2) {
					cancel()
					break
				}
			},
			func(ctx context.Context, cancel func()) {
				for range set.Changes(ctx, resourcesync.Interval{}) {
					cancel()
					break
				}
			},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			read(ctx, cancel) // panics if it is called again
			cancel()
		}
	})
}
