package packages

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
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

// Exceeded reports whether c is more than twice a new package. Any range can be
// requested, but no package of a dump grows to that before the set is divided again.
func (s Size) Exceeded(c *Contents) bool {
	return len(c.items) > paging.Limit(s.Resources()) || len(c.items) > 1 && c.bytes/2 > int64(s)
}

// Stats describe a package in a Resource Dump, and hold its weight for the next division
// of the set. They are a function of the resources in the range of the package.
type Stats struct {
	Length resourcesync.Length
	At     time.Time // of the manifest; zero if the set knows no times

	load load
}

// Version returns the version of the resources in the package. It is empty if unknown.
func (s Stats) Version() string { return s.load.version }

// A load is the size of the resources in a range, in one version of them.
type load struct {
	version string // empty if unknown
	count   int    // resources
	weight  int    // see [Size.Weight]
}

// StatsOf returns the stats of the package with the contents c. entryBytes is the size of
// the entries in its manifest.
func (s Size) StatsOf(c *Contents, version string, entryBytes int) (Stats, error) {
	length, err := c.Length()
	stats := Stats{Length: length, load: load{version, c.Len(), entryBytes + s.share(c.bytes)}}
	if c.At.After(time.Unix(0, 0)) {
		stats.At = c.At
	}
	return stats, err
}
