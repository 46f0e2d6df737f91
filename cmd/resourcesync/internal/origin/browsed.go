package origin

import (
	"context"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/scan"
)

// browsed is the stored set of a folder as its pages show it: not before the set is ready.
type browsed struct {
	*sqlstore.Set
	view *scan.View
}

func (b browsed) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	return b.view.Stat(ctx, r)
}

func (b browsed) First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	if !b.view.Ready() {
		return func(yield func(resourcesync.Resource, error) bool) {
			yield(resourcesync.Resource{}, resourcesync.ErrNotReady)
		}
	}
	return b.Set.First(ctx, r, n)
}

func (b browsed) Folder(ctx context.Context, folder string, r resourcesync.Range, n int) ([]resourcesync.Resource, error) {
	if !b.view.Ready() {
		return nil, resourcesync.ErrNotReady
	}
	return b.Set.Folder(ctx, folder, r, n)
}
