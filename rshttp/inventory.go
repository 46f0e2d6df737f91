package rshttp

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// manifestName is the name of the manifest in a package (sections 11.2 and 13.2).
const manifestName = "manifest.xml"

// An inventory is what a package holds: the manifest and the bitstreams that it
// names, of one state of the set.
type inventory struct {
	doc   *document // the manifest, not sealed
	body  *body
	at    time.Time // of the manifest
	items []item
	names []string // of the items, in the package
	bytes int64    // of all content, as far as lengths are known
	sized bool     // all lengths are known

	// The newest change, and how many of that time there are by URI.
	instant   time.Time
	atInstant map[string]int

	// foreign says that the package is none of the dump. Anybody may ask for
	// one: it must not take the place of what others will ask for.
	foreign bool
}

// An item is a bitstream in a package. That of a Resource Dump is a change
// without a type.
type item struct {
	resourcesync.Change
	size    int64
	crc     uint32
	checked bool // size and crc are known
	nth     int  // which change of its URI at its datetime it is, from 0
}

// name returns the name of the bitstream in its package.
func (it *item) name() string {
	if it.Type == "" {
		return virtualzip.Name("resources", it.Resource.URI)
	}
	folder := "changes/" + it.Datetime.UTC().Format(windowLayout)
	if it.nth > 0 {
		folder += "." + strconv.Itoa(it.nth+1)
	}
	return virtualzip.Name(folder, it.Resource.URI)
}

// add adds the bitstream of c and returns its name. Of the resource it keeps
// what opening it takes.
func (inv *inventory) add(c resourcesync.Change) (name string) {
	c.Resource.Links, c.Resource.Attrs = nil, nil
	c.Resource = c.Resource.Clone()
	size, known := c.Resource.Length.Bytes()
	if !known {
		inv.sized, size = false, 0
	}
	it := item{Change: c, size: size}
	if !c.Datetime.Equal(inv.instant) {
		inv.instant, inv.atInstant = c.Datetime, make(map[string]int)
	}
	if c.Type != "" {
		it.nth = inv.atInstant[c.Resource.URI]
		inv.atInstant[c.Resource.URI]++
	}
	name = it.name()
	inv.items = append(inv.items, it)
	inv.names = append(inv.names, name)
	inv.bytes += size
	return name
}

// archive lays out the package. open opens an item; with an open that is nil
// only the size of the package is of use.
func (inv *inventory) archive(manifest virtualzip.Entry, open func(context.Context, *item) (io.ReadCloser, error)) (*virtualzip.Archive, error) {
	return virtualzip.New(func(yield func(virtualzip.Entry, error) bool) {
		manifest.Name, manifest.Modified = manifestName, inv.at
		if !yield(manifest, nil) {
			return
		}
		for i := range inv.items {
			it := &inv.items[i]
			e := virtualzip.Entry{
				Name:     inv.names[i],
				Modified: it.Resource.LastModified,
				Size:     it.size,
				CRC32:    it.crc,
				Open:     func(ctx context.Context) (io.ReadCloser, error) { return open(ctx, it) },
			}
			if !yield(e, nil) {
				return
			}
		}
	})
}

// packageLength returns the length of the package, if those of all its items are
// known. It reads none of them.
func (inv *inventory) packageLength() (resourcesync.Length, error) {
	if !inv.sized {
		return resourcesync.Length{}, nil
	}
	manifest := virtualzip.Entry{Open: func(context.Context) (io.ReadCloser, error) { return nil, errors.ErrUnsupported }}
	for _, piece := range inv.body.text() {
		manifest.Size += int64(len(piece))
	}
	zip, err := inv.archive(manifest, nil)
	if err != nil {
		return resourcesync.Length{}, err
	}
	return resourcesync.Bytes(zip.Size()), nil
}

var errTwice = errors.New("another resource in the package has the same URI")

// renderManifest makes the manifest of a package, as it is in the package
// (sections 11.2 and 13.2).
func (s *Source) renderManifest(ctx context.Context, t target) (*document, error) {
	inv, err := s.manifest(ctx, t)
	if err != nil {
		return nil, err
	}
	defer inv.body.free()
	return inv.body.seal(inv.doc)
}

// manifest takes the inventory of the package whose manifest is t.
func (s *Source) manifest(ctx context.Context, t target) (*inventory, error) {
	if t.kind == kindChangeManifest {
		return s.changeManifest(ctx, t)
	}
	return s.dumpManifest(ctx, t)
}

// resources takes the inventory of the package with the resources in r; t is its
// manifest. The caller frees the body.
func (s *Source) resources(ctx context.Context, t target, r resourcesync.Range) (*inventory, error) {
	inv := &inventory{sized: true}
	seen := make(map[string]struct{})
	var err error
	inv.doc, inv.body, err = s.listResources(ctx, t, r, rsxml.MaxEntries, func(res *resourcesync.Resource) (string, error) {
		if _, ok := seen[res.URI]; ok {
			return "", errTwice
		}
		seen[res.URI] = struct{}{}
		return "/" + inv.add(resourcesync.Change{Resource: *res}), nil
	})
	if err != nil {
		return nil, err
	}
	inv.at = inv.body.head.Metadata.At
	// Anybody may ask for any range: what a package of the dump never grows
	// to before the set is divided anew is none.
	if inv.bytes/2 > s.options.PackageSize && len(inv.items) > 1 {
		inv.body.free()
		return nil, errOutgrown
	}
	return inv, nil
}
