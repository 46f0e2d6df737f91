package replica

import (
	"context"
	"iter"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
)

// compareBatch is the number of resources that are compared at a time.
const compareBatch = 500

// Resources implements [scan.Origin]: it lists the copy as the last Sync has left it, without the
// resources that the Source no longer lists.
func (g *Origin) Resources(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		d, done, err := g.use(ctx)
		if err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		defer done()
		g.list(ctx, d)(yield)
	}
}

// list is Resources of an open Destination.
func (g *Origin) list(ctx context.Context, d *destination.Destination) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		var batch []resourcesync.Resource
		flush := func() bool {
			listed, err := g.listed(ctx, batch)
			batch = batch[:0]
			if err != nil {
				yield(resourcesync.Resource{}, err)
				return false
			}
			for _, r := range listed {
				if !yield(r, nil) {
					return false
				}
			}
			return true
		}
		for c, err := range d.Resources(ctx) {
			switch {
			case err != nil:
				yield(resourcesync.Resource{}, err)
				return
			case c.Held:
				continue
			}
			if batch = append(batch, c.Resource); len(batch) == compareBatch && !flush() {
				return
			}
		}
		flush()
	}
}

// listed returns the entries of copies. The set knows more of them than the state of the Destination:
// their types, and the links to originals elsewhere.
func (g *Origin) listed(ctx context.Context, copies []resourcesync.Resource) ([]resourcesync.Resource, error) {
	keys := make([]string, len(copies))
	for i, c := range copies {
		keys[i] = key("", c.Key)
	}
	known, err := g.set.stored.Known(ctx, keys)
	if err != nil {
		return nil, err
	}
	out := make([]resourcesync.Resource, 0, len(copies))
	for i := range copies {
		r, err := g.aggregator.entry("", &copies[i])
		if err != nil {
			continue // the Sink has logged it
		}
		if k := known[i]; k.URI != "" && sameContent(&k, r) {
			r.Type, r.Encoding, r.LastModified, r.Links = k.Type, k.Encoding, k.LastModified, k.Links
		}
		out = append(out, *r)
	}
	return out, nil
}

// sameContent reports whether two entries have the same hashes.
func sameContent(a, b *resourcesync.Resource) bool {
	for _, h := range a.Hashes {
		for _, other := range b.Hashes {
			if h.Algorithm == other.Algorithm {
				return h == other
			}
		}
	}
	return false
}
