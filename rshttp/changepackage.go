package rshttp

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A changeDump is how the journal of a set is divided into the packages of its Change
// Dump. Each begins where the one before it ends, and none ever changes. A package
// ends where the first of these is:
//
//   - at its last change, if it is full;
//   - at the first multiple of PackageEvery that is not before its first change, if
//     there is a later change;
//   - at a seal.
//
// All of that is in the journal or beside it, so every replica has the same packages.
type changeDump struct {
	since    time.Time
	packages []resourcesync.Interval
	rest     changeRest
	version  string // of the journal, when rest was read; "" if that is not known
}

// A changeRest is the changes that are in no package yet.
type changeRest struct {
	end    time.Time // where its package ends at the latest; zero if there are no changes
	newest time.Time // the newest change
}

// covers returns the interval of all packages.
func (d *changeDump) covers() resourcesync.Interval {
	iv := resourcesync.Interval{From: d.since}
	if n := len(d.packages); n > 0 {
		iv.Until = d.packages[n-1].Until
	}
	return iv
}

// lists reports whether part names one of the packages, or a Change Dump that begins
// where one of them does.
func (d *changeDump) lists(part string) bool {
	if d == nil {
		return false
	}
	begin, _, isPackage := strings.Cut(part, "-")
	from, err := partition.ParseTime(begin)
	i, found := partition.Find(d.packages, from)
	return err == nil && found && (!isPackage || packageName(d.packages[i]) == part)
}

// changePackages divides st's journal into packages. It reads the changes since the
// last call.
func (st *set) changePackages(ctx context.Context) (*changeDump, error) {
	select {
	case st.dumpLock <- struct{}{}:
		defer func() { <-st.dumpLock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now, err := st.divideChanges(ctx, st.changeDump.Load())
	if err == nil {
		st.changeDump.Store(now)
		st.forgetLengths(now.packages)
	}
	return now, err
}

func (st *set) divideChanges(ctx context.Context, before *changeDump) (*changeDump, error) {
	log := versionJournal{journal{st}}
	since, _, err := log.stat(ctx)
	if err != nil {
		return nil, err
	}
	now := &changeDump{since: since}
	if before != nil {
		first, found := partition.Find(before.packages, since)
		if found {
			now.packages = slices.Clip(before.packages[first:])
		}
	}
	// The version comes first: changes in between are read now, and again.
	if st.changeStater != nil {
		stat, err := st.changeStater.Stat(ctx, partition.Whole)
		if err != nil {
			return nil, err
		}
		now.version = stat.Version
	}
	from := since
	if n := len(now.packages); n > 0 {
		from = now.packages[n-1].Until
	}
	var seals []time.Time
	if st.sealer != nil {
		if seals, err = st.sealer.Seals(ctx, from); err != nil {
			return nil, err
		}
	}
	if before != nil && now.version != "" && now.version == before.version && since.Equal(before.since) && len(seals) == 0 {
		return before, nil
	}
	d := changeDivider{set: st, part: resourcesync.Interval{From: from}, seals: seals}
	omitted := func(c *resourcesync.Change, _ error) { d.add(c) } // a later change all the same
	for c, err := range log.changes(ctx, resourcesync.Interval{From: from}, omitted) {
		if err != nil {
			return nil, err
		}
		d.add(&c)
	}
	d.seal()
	if again, _, err := log.stat(ctx); err != nil || !again.Equal(since) {
		return nil, errors.Join(err, errMoved)
	}
	now.packages = append(now.packages, d.settled()...)
	if d.count > 0 {
		now.rest = changeRest{d.end, d.last}
	}
	return now, nil
}

// A changeDivider divides changes that it is shown in order.
type changeDivider struct {
	*set
	seals []time.Time

	closed []resourcesync.Interval
	part   resourcesync.Interval // the package that is open
	count  int
	size   int
	end    time.Time
	last   time.Time // the newest change shown

	builder entries.Builder
}

var manifestHead = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ChangeDumpManifest}}

func (d *changeDivider) add(c *resourcesync.Change) {
	weight, at := d.weigh(c), c.Datetime
	d.seal()
	full := d.count >= d.options.PageSize || d.size+weight > paging.MaxBytes
	switch {
	case d.count == 0:
	case at.After(d.end):
		d.close(d.end)
	case full && at.After(d.last) && d.last.After(d.part.From):
		d.close(d.last)
	}
	if d.count == 0 {
		if d.end = paging.Boundary(at, d.options.PackageEvery); !d.end.After(d.part.From) {
			d.end = d.end.Add(d.options.PackageEvery)
		}
	}
	d.count++
	d.size += weight
	d.last = at
}

// seal closes the open package if it is sealed.
func (d *changeDivider) seal() {
	for len(d.seals) > 0 && d.seals[0].Before(d.last) {
		d.seals = d.seals[1:]
	}
	if d.count > 0 && len(d.seals) > 0 && d.seals[0].Equal(d.last) && d.last.After(d.part.From) {
		d.close(d.last)
	}
}

func (d *changeDivider) close(until time.Time) {
	d.part.Until = until
	d.closed = append(d.closed, d.part)
	d.part, d.count, d.size = resourcesync.Interval{From: until}, 0, 0
}

// weigh returns the share of a package that a change takes, in bytes of paging.MaxBytes.
func (d *changeDivider) weigh(c *resourcesync.Change) int {
	e := d.builder.Change(c)
	weight := d.builder.Size(&manifestHead, e)
	if c.Type != resourcesync.Deleted {
		weight += d.packageSize().Weight(c.Resource.Length)
		for _, l := range e.Links {
			if entries.IsPatch(l) && d.patchOpener != nil {
				weight += d.packageSize().Weight(l.Length)
			}
		}
	}
	return max(weight, paging.MaxBytes/d.packageSize().Resources())
}

// settled returns the closed packages to which no more changes can come.
func (d *changeDivider) settled() []resourcesync.Interval {
	n := len(d.closed)
	if _, ok := d.changer.(resourcesync.Windower); !ok {
		settle := max(d.options.Settle, 0)
		for n > 0 && !d.last.After(d.closed[n-1].Until.Add(settle)) {
			n--
		}
	}
	return d.closed[:n]
}

// keepSealed closes packages of st's Change Dump whose time is over and to which no
// later change has come.
func (st *set) keepSealed(ctx context.Context) {
	for failed := false; ; {
		rest := min(glance, max(st.options.PackageEvery, glance/600))
		err := background.Safely(func() error {
			dump, err := st.changePackages(ctx)
			if err != nil || dump.rest.end.IsZero() {
				return err
			}
			if wait := time.Until(dump.rest.end); wait >= 0 {
				rest = min(rest, wait+time.Millisecond)
				return nil
			}
			return st.sealer.Seal(ctx, dump.rest.newest)
		})
		quiet := err == nil || errors.Is(err, resourcesync.ErrNotReady) || errors.Is(err, errMoved)
		switch {
		case ctx.Err() != nil:
			return
		case !quiet && !failed:
			st.log.Warn("the last package of a Change Dump is not closed; it is tried again", "set", st.name, "error", err)
		case quiet && failed && err == nil:
			st.log.Info("packages of a Change Dump are closed again", "set", st.name)
		}
		failed = !quiet || failed && err != nil
		if err != nil {
			rest = 10 * time.Second
		}
		if background.Sleep(ctx, rest) != nil {
			return
		}
	}
}

// changePackageLength returns the length of a package, as far as those of what is
// in it are known.
func (st *set) changePackageLength(ctx context.Context, p resourcesync.Interval) (resourcesync.Length, error) {
	if length, ok := st.dumpLengths.Load(p); ok {
		return length.(resourcesync.Length), nil
	}
	b := render.Body{SizeOnly: true}
	defer b.Free()
	c, err := listChangesOf(ctx, target{kind: st.routes.kinds[kindChangeManifest], set: st}, p, &b)
	if err != nil {
		return resourcesync.Length{}, err
	}
	length, err := c.Length()
	if err == nil {
		st.dumpLengths.Store(p, length)
	}
	return length, err
}

// forgetLengths forgets the lengths of packages before those.
func (st *set) forgetLengths(packages []resourcesync.Interval) {
	st.dumpLengths.Range(func(key, _ any) bool {
		if p := key.(resourcesync.Interval); len(packages) == 0 || p.From.Before(packages[0].From) {
			st.dumpLengths.Delete(key)
		}
		return true
	})
}

// packageName returns how a package of changes is named in URLs: by its interval.
func packageName(p resourcesync.Interval) string {
	return partition.FormatTime(p.From) + "-" + partition.FormatTime(p.Until)
}
