package packages

import (
	"context"
	"hash/maphash"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// perRun is the number of resources after which a run ends where a part does: few enough
// to list after a change, and enough that the runs of a hundred million resources take
// some ten megabytes.
const perRun = 1000

// A run is some parts of a package, and what their resources weigh. It ends where the
// next one begins, or with the package.
type run struct {
	from    string
	version uint64 // a digest of the parts
	last    string // the last key, unless there are no resources
	load    load   // without its version
}

var runSeed = maphash.MakeSeed()

// versionOf returns a digest of parts, or 0 if the version of one is unknown.
func versionOf(parts []resourcesync.Part) uint64 {
	var h maphash.Hash
	h.SetSeed(runSeed)
	for _, p := range parts {
		if p.Version == "" {
			return 0
		}
		h.WriteString(p.From)
		h.WriteByte(0xff)
		h.WriteString(p.Version)
		h.WriteByte(0xff)
	}
	return h.Sum64() | 1
}

// weigh adds the resources in r, a package, to cuts. It lists those that have changed
// since the last call for r, together with those beside them.
func (rs *Resources) weigh(ctx context.Context, r resourcesync.Range, cuts *paging.Cuts) (all load, err error) {
	if rs.PartStater == nil {
		return rs.list(ctx, r, cuts, nil)
	}
	parts, err := checked.Parts(ctx, rs.PartStater, r)
	if err != nil {
		return all, err
	}
	w := weighing{Resources: rs, cuts: cuts, within: r, parts: parts}
	same := unchanged(rs.runs[r], parts)
	for len(w.parts) > 0 {
		at := len(parts) - len(w.parts)
		if known, ok := same[at]; ok && w.reuse(known) {
			continue
		}
		n := max(same[at].parts, 1)
		for n < len(w.parts) && same[at+n].parts == 0 {
			n++
		}
		if err := w.list(ctx, n); err != nil {
			return all, err
		}
	}
	rs.runs[r] = w.runs
	for i := range w.runs {
		all.count, all.weight = all.count+w.runs[i].load.count, all.weight+w.runs[i].load.weight
	}
	return all, nil
}

// keepRuns forgets the runs of packages that no longer exist.
func (rs *Resources) keepRuns(cuts []resourcesync.Cut) {
	kept := make(map[resourcesync.Range][]run, len(rs.runs))
	for r := range partition.Ranges(cuts, "") {
		if runs, ok := rs.runs[r]; ok {
			kept[r] = runs
		}
	}
	rs.runs = kept
}

// A knownRun is a run whose parts have not changed.
type knownRun struct {
	run
	parts int // their number
}

// unchanged returns the runs that still have the same parts, by the position of the
// first.
func unchanged(runs []run, parts []resourcesync.Part) map[int]knownRun {
	same := map[int]knownRun{}
	at := 0
	for i, r := range runs {
		for at < len(parts) && parts[at].From < r.from {
			at++
		}
		end := len(parts)
		if i+1 < len(runs) {
			for end = at; end < len(parts) && parts[end].From < runs[i+1].from; {
				end++
			}
			if end == len(parts) || parts[end].From != runs[i+1].from {
				continue
			}
		}
		if at < end && parts[at].From == r.from && versionOf(parts[at:end]) == r.version && r.version != 0 {
			same[at] = knownRun{r, end - at}
		}
	}
	return same
}

// A weighing adds a package to cuts.
type weighing struct {
	*Resources
	cuts   *paging.Cuts
	within resourcesync.Range  // the package
	parts  []resourcesync.Part // that are still to be added
	runs   []run               // that have been added
}

// next returns the range of the next n parts.
func (w *weighing) next(n int) resourcesync.Range {
	r := resourcesync.Range{From: w.parts[0].From, To: w.within.To}
	if n < len(w.parts) {
		r.To = w.parts[n].From
	}
	return r
}

// reuse adds a run without listing it, unless a package might end in it.
func (w *weighing) reuse(r knownRun) bool {
	if r.load.count > 0 {
		if !w.cuts.AddRun(w.next(r.parts), r.load.count, r.load.weight, time.Time{}) {
			return false
		}
		w.cuts.After(r.last)
	}
	w.runs = append(w.runs, r.run)
	w.parts = w.parts[r.parts:]
	return true
}

// list lists the next n parts, and adds them as runs.
func (w *weighing) list(ctx context.Context, n int) error {
	var (
		now   run
		first = 0 // part of now
		at    = 0 // the part of the next resource
	)
	end := func() {
		now.from, now.version = w.parts[first].From, versionOf(w.parts[first:at+1])
		now.last = strings.Clone(now.last) // it shares memory with other resources
		w.runs = append(w.runs, now)
		now, first = run{}, at+1
	}
	_, err := w.Resources.list(ctx, w.next(n), w.cuts, func(key string, weight int) {
		for at+1 < n && w.parts[at+1].From <= key {
			if now.load.count >= perRun {
				end()
			}
			at++
		}
		now.last = key
		now.load.count++
		now.load.weight += weight
	})
	if err != nil {
		return err
	}
	at = n - 1
	end()
	w.parts = w.parts[n:]
	return nil
}
