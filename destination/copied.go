package destination

import (
	"context"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/guard"
)

// A Copied is a resource of the copy. Its Key is the name of the copy, and its URI the URI
// of the original. Its Length and Hashes describe the content in the [Sink].
type Copied struct {
	resourcesync.Resource

	// Held reports whether the Source no longer lists the resource, and its deletion
	// is held; see [Options].MaxDelete. It is only known after the first Sync.
	Held bool
}

// Resources lists the copy, in the order of the URIs. It waits for the end of a Sync, and of the
// application of notifications. A resource that changes meanwhile may be listed in either state.
func (d *Destination) Resources(ctx context.Context) iter.Seq2[Copied, error] {
	return func(yield func(Copied, error) bool) {
		for after := ""; ; {
			members, err := d.copied(ctx, after)
			if err != nil {
				yield(Copied{}, fmt.Errorf("destination: %w", err))
				return
			}
			if len(members) == 0 {
				return
			}
			for _, m := range members {
				c := Copied{Held: m.Held, Resource: resourcesync.Resource{
					Key: m.Path, URI: m.URI, LastModified: m.LastMod, Length: resourcesync.Bytes(m.Size), Hashes: m.Hashes,
				}}
				if !yield(c, nil) {
					return
				}
			}
			after = members[len(members)-1].URI
		}
	}
}

func (d *Destination) copied(ctx context.Context, after string) ([]state.Copied, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return d.state.Copied(after, d.gone)
}

// DeleteHeld runs a Sync that deletes any number of resources that the Source does not list
// any more, as with a MaxDelete of 1. Resources that it lists again are kept.
func (d *Destination) DeleteHeld(ctx context.Context) (*Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.newRun()
	r.limits = guard.NewLimits(1, -1)
	return r.report, r.whole(ctx)
}
