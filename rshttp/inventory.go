package rshttp

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// manifestName is the name of the manifest in a package (sections 11.2 and 13.2).
const manifestName = "manifest.xml"

// An inventory is what a package holds: the manifest and the bitstreams that it
// names, of one state of the set.
type inventory struct {
	doc   *document // the manifest
	at    time.Time // of the manifest
	text  int       // bytes of the manifest
	items []item
	names []string // of the items, in the package
	bytes int64    // of all content, as far as lengths are known
	sized bool     // all lengths are known

	patches bool                // are to be had
	links   []resourcesync.Link // of the entry that was written last

	// The newest change, and how many bitstreams of that time there are by
	// folder and URI.
	instant   time.Time
	atInstant map[string]int

	// unlisted says that no dump lists the package. Any client can request one, so
	// it must not displace listed packages.
	unlisted bool
}

// An item is a bitstream in a package. That of a Resource Dump is a change
// without a type; the Resource of a patch is what the link to it says.
type item struct {
	resourcesync.Change
	patch    *difference // nil if it is none
	size     int64
	crc      uint32
	sumState sumState
	nth      int // which of its URI and datetime it is, from 0
}

// A difference is what opening a patch takes.
type difference struct {
	of   resourcesync.Change
	link resourcesync.Link
}

// costOf returns the memory that items take, in bytes.
func costOf(items []item) int64 {
	n := int64(cap(items)) * int64(unsafe.Sizeof(item{}))
	for i := range items {
		r := &items[i].Resource
		n += int64(len(r.Key) + len(r.URI) + len(r.Type) + len(r.Stamp))
		for _, h := range r.Hashes {
			n += int64(unsafe.Sizeof(h)) + int64(len(h.Digest))
		}
		if p := items[i].patch; p != nil {
			n += int64(unsafe.Sizeof(*p)) + int64(len(p.link.Href))
		}
	}
	return n
}

// cost returns the memory that the layout of inv will take, in bytes.
func (inv *inventory) cost() int64 {
	n := inv.doc.cost() + costOf(inv.items)
	for _, name := range inv.names {
		n += virtualzip.CostOf(name)
	}
	return n
}

// folder returns the folder of those bitstreams of a Change Dump that it is one of.
func (it *item) folder() string {
	if it.patch != nil {
		return "patches/"
	}
	return "changes/"
}

// name returns the name of the bitstream in its package.
func (it *item) name() string {
	if it.Type == "" {
		return virtualzip.Name("resources", it.Resource.URI)
	}
	folder := it.folder() + partition.FormatTime(it.Datetime)
	if it.nth > 0 {
		folder += "." + strconv.Itoa(it.nth+1)
	}
	return virtualzip.Name(folder, it.Resource.URI)
}

// addChange adds the bitstreams of c, and to its entry where they are.
func (inv *inventory) addChange(c *resourcesync.Change, e *rsxml.Entry) {
	change := bare(*c)
	if c.Type != resourcesync.Deleted {
		e.Metadata.Path = "/" + inv.add(item{Change: change})
	}
	if !slices.ContainsFunc(e.Links, entries.IsPatch) {
		return
	}
	inv.links = inv.links[:0]
	for _, l := range e.Links {
		if entries.IsPatch(l) {
			if !inv.patches {
				continue
			}
			l.Path = "/" + inv.add(patchItem(change, l))
		}
		inv.links = append(inv.links, l)
	}
	e.Links = inv.links
}

// patchItem returns the item of the patch that a link of c leads to.
func patchItem(c resourcesync.Change, l resourcesync.Link) item {
	l.Hashes, l.Attrs = slices.Clone(l.Hashes), slices.Clone(l.Attrs)
	it := item{Change: c, patch: &difference{c, l}}
	it.Resource = resourcesync.Resource{Key: c.Resource.Key, URI: l.Href, LastModified: l.Modified, Length: l.Length, Hashes: l.Hashes}
	return it
}

// bare returns of c what opening it takes.
func bare(c resourcesync.Change) resourcesync.Change {
	c.Resource.Links, c.Resource.Attrs = nil, nil
	c.Resource = c.Resource.Clone()
	return c
}

// add adds an item and returns its name.
func (inv *inventory) add(it item) (name string) {
	size, known := it.Resource.Length.Bytes()
	if !known {
		inv.sized, size = false, 0
	}
	it.size = size
	if !it.Datetime.Equal(inv.instant) {
		inv.instant, inv.atInstant = it.Datetime, make(map[string]int)
	}
	if it.Type != "" {
		place := it.folder() + it.Resource.URI
		it.nth = inv.atInstant[place]
		inv.atInstant[place]++
	}
	name = it.name()
	inv.items = append(inv.items, it)
	inv.names = append(inv.names, name)
	inv.bytes += size
	return name
}

// archive lays out the package. open opens an item, and sum reads the i-th for
// its checksum; if they are nil only the size of the package is of use.
func (inv *inventory) archive(manifest virtualzip.Entry, open func(context.Context, *item) (io.ReadCloser, error), sum func(ctx context.Context, i int) (uint32, error)) (*virtualzip.Archive, error) {
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
			if it.sumState != stated {
				e.Checksum = func(ctx context.Context) (uint32, error) { return sum(ctx, i) }
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
	manifest := virtualzip.Entry{
		Size: int64(inv.text),
		Open: func(context.Context) (io.ReadCloser, error) { return nil, errors.ErrUnsupported },
	}
	zip, err := inv.archive(manifest, nil, nil)
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
	return inv.doc, nil
}

// manifest takes the inventory of the package whose manifest is t.
func (s *Source) manifest(ctx context.Context, t target) (*inventory, error) {
	if t.kind == kindChangeManifest {
		return s.changeManifest(ctx, t)
	}
	return s.dumpManifest(ctx, t)
}

// resources takes the inventory of the package with the resources in r; t is its
// manifest, whose text goes into b and is not sealed.
func (s *Source) resources(ctx context.Context, t target, r resourcesync.Range, b *render.Body) (*inventory, error) {
	inv := &inventory{sized: true}
	seen := make(map[string]struct{})
	var err error
	inv.doc, err = s.listResources(ctx, t, r, rsxml.MaxEntries, b, func(res resourcesync.Resource) (string, error) {
		if _, ok := seen[res.URI]; ok {
			return "", errTwice
		}
		seen[res.URI] = struct{}{}
		path := "/" + inv.add(item{Change: bare(resourcesync.Change{Resource: res})})
		if s.isOutgrown(inv) {
			return "", errOutgrown
		}
		return path, nil
	})
	if err != nil {
		return nil, err
	}
	inv.at, inv.text = b.Head.Metadata.At, b.Len()
	return inv, nil
}

// isOutgrown reports whether inv holds more than twice the size of a new package.
// Any range can be requested, but no package of a dump grows to that before the set
// is divided again.
func (s *Source) isOutgrown(inv *inventory) bool {
	return len(inv.items) > paging.Limit(s.packageEvery()) || len(inv.items) > 1 && inv.bytes/2 > s.options.PackageSize
}
