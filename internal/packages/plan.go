package packages

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"

	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// A Plan is a package ready to be sent: everything but its content. It is immutable,
// except that checksums are added when they become known.
type Plan[S any] struct {
	// State is the state of the set that the package shows.
	State S

	// Tag differs between packages with different bytes, for an entity tag.
	Tag string

	key   string
	text  render.Text // of the manifest
	zip   *virtualzip.Archive
	items []item

	room  *room // the memory that it takes, reserved
	users int   // transfers that hold it, under the lock of store
	kept  bool  // under the same lock
}

// newPlan returns the plan of contents whose items are checked.
func (pl *Planner[S]) newPlan(pkg *Package[S], c *Contents, state S) (*Plan[S], error) {
	p := &Plan[S]{State: state, key: pkg.Path, text: c.Text, items: c.items}
	var err error
	p.zip, err = c.archive(
		func(ctx context.Context, it *item) (io.ReadCloser, error) { return pkg.Content.open(ctx, it) },
		func(ctx context.Context, i int) (uint32, error) { return pl.sum(ctx, pkg, p, i) })
	if err != nil {
		return nil, err
	}
	for i := range p.items {
		if it := &p.items[i]; it.known == learned {
			if err := p.zip.Learn(i+1, it.crc); err != nil {
				return nil, err
			}
		}
	}
	// Add the digest of the manifest, because it contains the digests of the items.
	manifest := base64.RawURLEncoding.EncodeToString(c.Text.Sum[:16])
	sum := sha256.Sum256([]byte(p.zip.Version() + `"` + manifest + `"`))
	p.Tag = base64.RawURLEncoding.EncodeToString(sum[:16])
	return p, nil
}

// archive lays out the package. open opens an item, and sum reads the i-th item for its
// checksum. If they are nil, the archive can only compute the size of the package.
func (c *Contents) archive(open func(context.Context, *item) (io.ReadCloser, error), sum func(ctx context.Context, i int) (uint32, error)) (*virtualzip.Archive, error) {
	return virtualzip.New(func(yield func(virtualzip.Entry, error) bool) {
		text := c.Text
		if !yield(virtualzip.Entry{Name: manifestName, Modified: c.At, Size: int64(text.Size), CRC32: text.CRC, Open: text.Open}, nil) {
			return
		}
		for i := range c.items {
			it := &c.items[i]
			e := virtualzip.Entry{
				Name:     c.names[i],
				Modified: it.Resource.LastModified,
				Size:     it.size,
				CRC32:    it.crc,
				Open:     func(ctx context.Context) (io.ReadCloser, error) { return open(ctx, it) },
			}
			if it.known != stated {
				e.Checksum = func(ctx context.Context) (uint32, error) { return sum(ctx, i) }
			}
			if !yield(e, nil) {
				return
			}
		}
	})
}

func (p *Plan[S]) memory() int64 {
	return p.text.Memory() + p.zip.Cost() + itemMemory(p.items) + int64(len(p.key)) + planMemory
}

// planMemory is the memory of a Plan, its State and its entry in the store, in bytes.
const planMemory = 1024

// sum returns the checksum of the i-th item, if it is known. The manifest comes first.
func (p *Plan[S]) sum(i int) (uint32, bool) { return p.zip.Sum(i + 1) }

// failed returns the item that caused err, an error of a reader, and the reason. Both may
// be nil.
func (p *Plan[S]) failed(err error) (it *item, reason error) {
	entry, ok := errors.AsType[*virtualzip.EntryError](err)
	if !ok {
		return nil, nil
	}
	for i := range p.items {
		if p.items[i].name() == entry.Name {
			return &p.items[i], entry.Err
		}
	}
	return nil, entry.Err
}
