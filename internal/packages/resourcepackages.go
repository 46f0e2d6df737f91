package packages

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
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

// Resources divides a set into the packages of its Resource Dump, and remembers the stats
// and weights of the packages: after a change, it lists only packages whose resources
// have changed, and with a PartStater, only their parts that have. With a Changer, it
// does not even ask for the versions of the others. Its fields are set before its first
// use, and its methods are safe for concurrent use.
type Resources struct {
	Provider   resourcesync.Provider
	Stater     resourcesync.Stater     // may be nil
	PartStater resourcesync.PartStater // the same Stater, or nil
	Changer    resourcesync.Changer    // has each change by the time the Stater shows a later one; or nil
	Size       Size

	mu    sync.Mutex
	stats map[resourcesync.Range]Stats

	dividing sync.Mutex                   // held by Cut; guards the rest
	loads    map[resourcesync.Range]load  // of the ranges that the last division kept
	runs     map[resourcesync.Range][]run // of packages that have changed
	asOf     resourcesync.Stat            // of the whole set, before the last division; zero without a Changer
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
// lists only resources beside which something has changed.
func (rs *Resources) Cut(ctx context.Context, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
	rs.dividing.Lock()
	defer rs.dividing.Unlock()
	cuts := paging.NewCuts(previous, rs.Size.Resources())
	cuts.MaxPages = math.MaxInt // the dumps of an index hold them all
	touched, asOf, err := rs.touched(ctx, previous)
	if err != nil {
		return nil, err
	}
	rs.keepRuns(previous)
	switch {
	case rs.Stater == nil || len(previous) == 0:
		_, err = rs.list(ctx, partition.Whole, cuts, nil)
	case len(previous) == 1:
		_, err = rs.weigh(ctx, partition.Whole, cuts)
	default:
		err = rs.repartition(ctx, previous, touched, cuts)
	}
	if err != nil {
		return nil, err
	}
	now := cuts.Done()
	sizes := cuts.Sizes()
	loads, i := make(map[resourcesync.Range]load, len(now)), 0
	for r := range partition.Ranges(now, "") {
		if kept, ok := rs.loads[r]; ok && len(previous) > 1 {
			loads[r] = kept
		} else {
			loads[r] = load{count: now[i].Count, weight: sizes[i]}
		}
		i++
	}
	rs.loads, rs.asOf = loads, asOf
	return now, nil
}

// repartition adds the packages of an earlier division to cuts. It lists those that have
// changed. touched, unless it is nil, says which may have.
func (rs *Resources) repartition(ctx context.Context, previous []resourcesync.Cut, touched []bool, cuts *paging.Cuts) error {
	loads, i := make(map[resourcesync.Range]load, len(previous)), 0
	for r := range partition.Ranges(previous, "") {
		now, known := rs.loads[r]
		known = known && touched != nil && !touched[i]
		i++
		if !known {
			var err error
			if now, known, err = rs.current(ctx, r); err != nil {
				return err
			}
		}
		if known {
			cuts.AddPage(r.From, now.count, now.weight, time.Time{})
		} else {
			weighed, err := rs.weigh(ctx, r, cuts)
			if err != nil {
				return err
			}
			weighed.version = now.version
			now = weighed
		}
		loads[r] = now
	}
	rs.loads = loads
	return nil
}

// current returns the load of r, and whether it is known. If it is not, the result has
// only the current version.
func (rs *Resources) current(ctx context.Context, r resourcesync.Range) (load, bool, error) {
	stats, stat, known, err := rs.known(ctx, r)
	if known || err != nil {
		return stats.load, known, err
	}
	if was, ok := rs.loads[r]; ok && stat.Version != "" && was.version == stat.Version {
		return was, true, nil
	}
	return load{version: stat.Version}, false, nil
}

// maxTouched is the number of changes beyond which the versions of all packages cost less
// than finding those that have changed.
const maxTouched = 10_000

// touched reports which packages have changed since the last division, or nil if that is
// not known. The division that follows shows all changes up to asOf.
func (rs *Resources) touched(ctx context.Context, previous []resourcesync.Cut) (touched []bool, asOf resourcesync.Stat, err error) {
	if rs.Changer == nil || rs.Stater == nil {
		return nil, asOf, nil
	}
	// Read the state first: a change that is made meanwhile is read again.
	if asOf, err = rs.Stater.Stat(ctx, partition.Whole); err != nil {
		return nil, asOf, err
	}
	if rs.asOf.LastModified.IsZero() || len(previous) <= 1 {
		return nil, asOf, nil
	}
	touched = make([]bool, len(previous))
	newest, count := rs.asOf.LastModified, rs.asOf.Count
	touch := func(c *resourcesync.Change) {
		i, found := slices.BinarySearchFunc(previous[:len(previous)-1], c.Resource.Key, func(cut resourcesync.Cut, key string) int { return strings.Compare(cut.Key, key) })
		if found {
			i++ // the cut begins the next package
		}
		touched[i] = true
		newest = c.Datetime
		switch c.Type {
		case resourcesync.Created:
			count++
		case resourcesync.Deleted:
			count--
		}
	}
	n := 0
	omit := func(c *resourcesync.Change, _ error) { touch(c) }
	for c, err := range checked.Changes(ctx, rs.Changer, resourcesync.Interval{From: rs.asOf.LastModified, Until: asOf.LastModified}, omit) {
		if n++; err != nil || n > maxTouched {
			return nil, asOf, err
		}
		touch(&c)
	}
	// A store may hold deletions: it withdraws resources, and puts them back, without a
	// change in the journal.
	if !newest.Equal(asOf.LastModified) || rs.asOf.Count >= 0 && count != asOf.Count {
		return nil, asOf, nil
	}
	// Changes may have been dropped from the journal before they were read.
	since, err := rs.Changer.Since(ctx)
	if err != nil || since.After(rs.asOf.LastModified) {
		return nil, asOf, err
	}
	return touched, asOf, nil
}

// list lists the resources in r and adds them to cuts. It calls each, which may be nil,
// with the key and weight of every resource before it adds it. It omits resources that
// the manifest omits and reports.
func (rs *Resources) list(ctx context.Context, r resourcesync.Range, cuts *paging.Cuts, each func(key string, weight int)) (all load, err error) {
	var builder entries.Builder
	for res, err := range checked.Resources(ctx, rs.Provider, r, nil) {
		if err != nil {
			return all, err
		}
		weight := builder.Size(&manifestHead, builder.Resource(&res)) + rs.Size.Weight(res.Length)
		if each != nil {
			each(res.Key, weight)
		}
		cuts.Add(res.Key, weight, time.Time{})
		all.count, all.weight = all.count+1, all.weight+weight
	}
	return all, nil
}
