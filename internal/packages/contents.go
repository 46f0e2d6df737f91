// Package packages plans the packages of Resource Dumps and Change Dumps: which
// bitstreams a package contains, where each of its bytes is, and which packages a set or
// a journal is divided into. Nothing is stored: package virtualzip computes the bytes
// while they are sent.
package packages

import (
	"errors"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// manifestName is the name of the manifest in a package (sections 11.2 and 13.2).
const manifestName = "manifest.xml"

// Contents are the bitstreams in a package, in one state of the set, and the manifest
// that lists them. The caller renders the manifest, and adds each bitstream meanwhile.
type Contents struct {
	// At is the time of the manifest, and Text its text. [Contents.Length] needs only the Size of
	// Text.
	At   time.Time
	Text render.Text

	// Unlisted states that no dump lists the package. Its plan is not kept.
	Unlisted bool

	items []item
	names []string // of the items, in the package
	bytes int64    // of all items whose lengths are known
	sized bool     // all lengths are known

	uris    map[string]bool     // of resources
	patches bool                // can be opened
	links   []resourcesync.Link // of the entry that was completed last

	// The newest change, and how many bitstreams of that time there are by
	// folder and URI.
	newest   time.Time
	atNewest map[string]int
}

// An item is a bitstream in a package. In a Resource Dump, its Change has no type. For
// a patch, the Resource describes the patch, as the link to it does.
type item struct {
	resourcesync.Change
	patch *patch // nil if it is none
	size  int64
	crc   uint32
	known knowledge
	nth   int // among the changes with its URI and datetime, from 0
}

// A patch holds the arguments for a PatchOpener.
type patch struct {
	of   resourcesync.Change
	link resourcesync.Link
}

// ErrDuplicate means that the package already contains a resource with the same URI.
var ErrDuplicate = errors.New("another resource in the package has the same URI")

// NewContents returns empty Contents. If patches is false, patches cannot be opened, and
// AddChange removes links to them: in a manifest, such a link needs a path in the package.
func NewContents(patches bool) *Contents {
	return &Contents{sized: true, patches: patches, uris: make(map[string]bool)}
}

// Len returns the number of bitstreams.
func (c *Contents) Len() int { return len(c.items) }

// AddResource adds r and returns its path in the package, or [ErrDuplicate].
func (c *Contents) AddResource(r resourcesync.Resource) (path string, err error) {
	if c.uris[r.URI] {
		return "", ErrDuplicate
	}
	c.uris[r.URI] = true
	return "/" + c.add(item{Change: forOpener(resourcesync.Change{Resource: r})}), nil
}

// AddChange adds the bitstreams of a change, and their paths to its entry.
func (c *Contents) AddChange(change *resourcesync.Change, e *rsxml.Entry) {
	of := forOpener(*change)
	if change.Type != resourcesync.Deleted {
		e.Metadata.Path = "/" + c.add(item{Change: of})
	}
	if !slices.ContainsFunc(e.Links, entries.IsPatch) {
		return
	}
	c.links = c.links[:0]
	for _, l := range e.Links {
		if entries.IsPatch(l) {
			if !c.patches {
				continue
			}
			l.Path = "/" + c.add(patchItem(of, l))
		}
		c.links = append(c.links, l)
	}
	e.Links = c.links
}

func patchItem(c resourcesync.Change, l resourcesync.Link) item {
	l.Hashes, l.Attrs = slices.Clone(l.Hashes), slices.Clone(l.Attrs)
	it := item{Change: c, patch: &patch{c, l}}
	it.Resource = resourcesync.Resource{Key: c.Resource.Key, URI: l.Href, LastModified: l.Modified, Length: l.Length, Hashes: l.Hashes}
	return it
}

// forOpener returns the part of c that an opener needs.
func forOpener(c resourcesync.Change) resourcesync.Change {
	c.Resource.Links, c.Resource.Attrs = nil, nil
	c.Resource = c.Resource.Clone()
	return c
}

func (c *Contents) add(it item) (name string) {
	size, known := it.Resource.Length.Bytes()
	if !known {
		c.sized, size = false, 0
	}
	it.size = size
	if !it.Datetime.Equal(c.newest) {
		c.newest, c.atNewest = it.Datetime, make(map[string]int)
	}
	if it.Type != "" {
		place := it.folder() + it.Resource.URI
		it.nth = c.atNewest[place]
		c.atNewest[place]++
	}
	name = it.name()
	c.items = append(c.items, it)
	c.names = append(c.names, name)
	c.bytes += size
	return name
}

func (it *item) folder() string {
	if it.patch != nil {
		return "patches/"
	}
	return "changes/"
}

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

// Length returns the length of the package, if the lengths of all bitstreams are known.
// It reads none of them.
func (c *Contents) Length() (resourcesync.Length, error) {
	if !c.sized {
		return resourcesync.Length{}, nil
	}
	zip, err := c.archive(nil, nil)
	if err != nil {
		return resourcesync.Length{}, err
	}
	return resourcesync.Bytes(zip.Size()), nil
}

// memory returns the memory that the plan of c will take, in bytes.
func (c *Contents) memory() int64 {
	n := c.Text.Memory() + itemMemory(c.items) + planMemory
	for _, name := range c.names {
		n += virtualzip.CostOf(name)
	}
	return n
}

func itemMemory(items []item) int64 {
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
