package packages

import (
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A ChangeDump is a journal divided into the packages of a Change Dump. Each begins where
// the one before it ends, and none ever changes. A package ends at the first of these:
//
//   - at its last change, if it is full;
//   - at the first multiple of Journal.Every that is not before its first change, if
//     there is a later change;
//   - at a seal.
//
// All of this is stored with the journal, so every replica has the same packages.
type ChangeDump struct {
	Since    time.Time
	Packages []resourcesync.Interval

	version string // of the journal, when it was read; empty if unknown

	// The changes that are in no package yet.
	end    time.Time // where their package ends at the latest; zero if there are none
	newest time.Time
}

// Covers returns the interval of all packages.
func (d *ChangeDump) Covers() resourcesync.Interval {
	iv := resourcesync.Interval{From: d.Since}
	if n := len(d.Packages); n > 0 {
		iv.Until = d.Packages[n-1].Until
	}
	return iv
}

// Name returns the name of a package in URLs: its interval.
func Name(p resourcesync.Interval) string {
	return partition.FormatTime(p.From) + "-" + partition.FormatTime(p.Until)
}

// Find returns the package with this name.
func (d *ChangeDump) Find(name string) (p resourcesync.Interval, found bool) {
	begin, _, _ := strings.Cut(name, "-")
	p, found = d.at(begin)
	return p, found && Name(p) == name
}

// at returns the package that begins at a time.
func (d *ChangeDump) at(begin string) (p resourcesync.Interval, found bool) {
	from, err := partition.ParseTime(begin)
	if err != nil || d == nil {
		return p, false
	}
	i, found := partition.Find(d.Packages, from)
	if !found {
		return p, false
	}
	return d.Packages[i], true
}

// Lists reports whether name names a package, or a Change Dump that begins where a package
// does. d may be nil.
func (d *ChangeDump) Lists(name string) bool {
	begin, _, isPackage := strings.Cut(name, "-")
	p, found := d.at(begin)
	return found && (!isPackage || Name(p) == name)
}

// Parts divides the packages into Change Dumps: one if it holds max packages, otherwise
// those that end in the same window together, and at most max of them. The last is open.
func (d *ChangeDump) Parts(window time.Duration, max int) []resourcesync.Interval {
	parts := []resourcesync.Interval{{From: d.Since}}
	if len(d.Packages) <= max {
		return parts
	}
	var end time.Time
	n := 0
	for i, p := range d.Packages {
		of := paging.Boundary(p.Until, window)
		if i > 0 && (!of.Equal(end) || n == max) {
			parts[len(parts)-1].Until = p.From
			parts = append(parts, resourcesync.Interval{From: p.From})
			n = 0
		}
		end = of
		n++
	}
	return parts
}

// In returns the packages in one of the parts.
func (d *ChangeDump) In(part resourcesync.Interval) []resourcesync.Interval {
	var in []resourcesync.Interval
	for _, p := range d.Packages {
		if !p.From.Before(part.From) && (part.Open() || !p.Until.After(part.Until)) {
			in = append(in, p)
		}
	}
	return in
}

// A divider divides a journal, whose changes are added in order.
type divider struct {
	*Journal
	seals []time.Time

	closed []resourcesync.Interval
	part   resourcesync.Interval // the open package
	count  int
	size   int
	end    time.Time
	last   time.Time // the newest change

	builder entries.Builder
}

// manifestHead is the head of a manifest for the sizes of entries, which are the same in
// both kinds of manifests.
var manifestHead = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeDumpManifest}}

func (d *divider) add(c *resourcesync.Change) {
	weight, at := d.weigh(c), c.Datetime
	d.seal()
	full := d.count >= d.MaxEntries || d.size+weight > paging.MaxBytes
	switch {
	case d.count == 0:
	case at.After(d.end):
		d.close(d.end)
	case full && at.After(d.last) && d.last.After(d.part.From):
		d.close(d.last)
	}
	if d.count == 0 {
		if d.end = paging.Boundary(at, d.Every); !d.end.After(d.part.From) {
			d.end = d.end.Add(d.Every)
		}
	}
	d.count++
	d.size += weight
	d.last = at
}

func (d *divider) seal() {
	for len(d.seals) > 0 && d.seals[0].Before(d.last) {
		d.seals = d.seals[1:]
	}
	if d.count > 0 && len(d.seals) > 0 && d.seals[0].Equal(d.last) && d.last.After(d.part.From) {
		d.close(d.last)
	}
}

func (d *divider) close(until time.Time) {
	d.part.Until = until
	d.closed = append(d.closed, d.part)
	d.part, d.count, d.size = resourcesync.Interval{From: until}, 0, 0
}

// weigh returns the weight of a change: a package has room for paging.MaxBytes.
func (d *divider) weigh(c *resourcesync.Change) int {
	e := d.builder.Change(c)
	weight := d.builder.Size(&manifestHead, e)
	if c.Type != resourcesync.Deleted {
		weight += d.Size.Weight(c.Resource.Length)
		for _, l := range e.Links {
			if d.Patches && entries.IsPatch(l) {
				weight += d.Size.Weight(l.Length)
			}
		}
	}
	return max(weight, paging.MaxBytes/d.Size.Resources())
}

// settled returns the closed packages that cannot receive further changes.
func (d *divider) settled() []resourcesync.Interval {
	n := len(d.closed)
	if _, ok := d.Changer.(resourcesync.Windower); !ok {
		for n > 0 && !d.last.After(d.closed[n-1].Until.Add(d.Settle)) {
			n--
		}
	}
	return d.closed[:n]
}
