package packages

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
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

// A load is what the resources in a range weigh in one version of them.
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

// Resources divides a set into the packages of its Resource Dump, and remembers the stats
// of the packages and what they weigh: after a change, it lists only packages whose
// resources have changed.
// Its fields are set before its first use, and its methods are safe for concurrent use.
type Resources struct {
	Provider resourcesync.Provider
	Stater   resourcesync.Stater // may be nil
	Size     Size

	mu    sync.Mutex
	stats map[resourcesync.Range]Stats
	loads map[resourcesync.Range]load // of the ranges that the last division kept
}

// Stats returns the stats of the package with the resources in r. If they are not known,
// it calls list with the Stat of r, which is zero without a Stater.
func (rs *Resources) Stats(ctx context.Context, r resourcesync.Range, list func(resourcesync.Stat) (Stats, error)) (Stats, error) {
	stats, stat, known, err := rs.known(ctx, r)
	if known || err != nil {
		return stats, err
	}
	stats, err = list(stat)
	if err != nil {
		return Stats{}, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.stats == nil {
		rs.stats = make(map[resourcesync.Range]Stats)
	}
	rs.stats[r] = stats
	return stats, nil
}

// known returns the stats of r if they are remembered and current.
func (rs *Resources) known(ctx context.Context, r resourcesync.Range) (stats Stats, stat resourcesync.Stat, ok bool, err error) {
	if rs.Stater == nil {
		return stats, stat, false, nil
	}
	if stat, err = rs.Stater.Stat(ctx, r); err != nil {
		return stats, stat, false, err
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	stats, ok = rs.stats[r]
	return stats, stat, ok && stat.Version != "" && stats.load.version == stat.Version, nil
}

// Keep forgets the stats of all ranges that are not in p.
func (rs *Resources) Keep(p *partition.Partition) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.stats) <= len(p.Cuts) {
		return
	}
	kept := make(map[resourcesync.Range]Stats, len(p.Cuts))
	for r := range p.Ranges() {
		if stats, ok := rs.stats[r]; ok {
			kept[r] = stats
		}
	}
	rs.stats = kept
}

// Cut divides the set, keeping of previous what still fits. It reads no content, and
// lists only packages that have changed.
func (rs *Resources) Cut(ctx context.Context, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
	cuts := paging.NewCuts(previous, rs.Size.Resources())
	cuts.MaxPages = math.MaxInt // the dumps of an index hold them all
	if rs.Stater == nil || len(previous) <= 1 {
		_, err := rs.weigh(ctx, partition.Whole, cuts)
		return cuts.Done(), err
	}
	loads := make(map[resourcesync.Range]load, len(previous))
	for r := range partition.Ranges(previous, "") {
		stats, stat, known, err := rs.known(ctx, r)
		now := stats.load
		if !known {
			rs.mu.Lock()
			now = rs.loads[r]
			rs.mu.Unlock()
			known = stat.Version != "" && now.version == stat.Version
		}
		switch {
		case err != nil:
		case known:
			cuts.AddPage(r.From, now.count, now.weight)
		default:
			now, err = rs.weigh(ctx, r, cuts)
			now.version = stat.Version
		}
		if err != nil {
			return nil, err
		}
		loads[r] = now
	}
	rs.mu.Lock()
	rs.loads = loads
	rs.mu.Unlock()
	return cuts.Done(), nil
}

// weigh adds the resources in r to cuts. It omits those that the manifest omits and
// reports.
func (rs *Resources) weigh(ctx context.Context, r resourcesync.Range, cuts *paging.Cuts) (all load, err error) {
	var builder entries.Builder
	for res, err := range checked.Resources(ctx, rs.Provider, r, nil) {
		if err != nil {
			return all, err
		}
		weight := builder.Size(&manifestHead, builder.Resource(&res)) + rs.Size.Weight(res.Length)
		cuts.Add(res.Key, weight, time.Time{})
		all.count, all.weight = all.count+1, all.weight+weight
	}
	return all, nil
}
