package packages

import (
	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// The number of resources of a new package is its size divided by perResource, the number
// of bytes that are sent in the time that opening a resource takes. It is at least
// minResources, and at most maxResources, which is three quarters of the limit of a
// manifest.
const (
	perResource  = 16 << 10
	minResources = 1000
	maxResources = rsxml.MaxEntries / 4 * 3
)

// A Size is the number of bytes of content that a new package holds.
type Size int64

// Resources returns the number of resources of a new package.
func (s Size) Resources() int { return int(min(max(s/perResource, minResources), maxResources)) }

// Weight returns the share that a bitstream has of a package, in bytes of a full
// manifest. Added to the size of its entry in the manifest it gives the weight of a
// resource. A package that weighs no more than [paging.MaxBytes] keeps to the limits of
// both its content and its manifest.
func (s Size) Weight(l resourcesync.Length) int {
	length, _ := l.Bytes()
	return virtualzip.MaxName + s.share(length)
}

func (s Size) share(length int64) int {
	if length <= 0 {
		return 0
	}
	return 1 + int(paging.MaxBytes*min(1, float64(length)/float64(s)))
}

// Share returns the part of the weight of c that its content has, without its entries.
func (s Size) Share(c *Contents) int { return s.share(c.bytes) }

// Exceeded reports whether c is more than twice a new package. Any range can be
// requested, but no package of a dump grows to that before the set is divided again.
func (s Size) Exceeded(c *Contents) bool {
	return len(c.items) > paging.Limit(s.Resources()) || len(c.items) > 1 && c.bytes/2 > int64(s)
}
