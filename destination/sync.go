package destination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// maxRounds is the maximum number of times that a Sync reads the Change Lists: once, and
// again for the changes that happened while it was copying.
const maxRounds = 5

// A run is a Sync or an Audit.
type run struct {
	*Destination
	reader *tree.Reader
	report *Report
	meter  meter
	bytes  int64      // of the copy
	sets   []tree.Set // that the Source has

	compared  map[string]bool       // sets whose Resource Lists have been read
	freshness map[string]*freshness // of sets

	checked time.Time // the lists have been read for the last time since then

	packages *packages
	patience *fetch.Patience
	limits   guard.Limits // of deletions
	follows  bool         // the run is one of Follow, which comes back to delayed resources
}

func (d *Destination) newRun() *run {
	r := &run{Destination: d, report: &Report{}, limits: d.limits, compared: make(map[string]bool),
		freshness: make(map[string]*freshness), meter: meter{report: d.progressed}}
	r.reader = &tree.Reader{Client: d.client, Report: func(document string, e *rsxml.SyntaxError) { r.report.deviate(document, e) }}
	return r
}

func (d *Destination) progressed(p Progress) {
	d.watch.progressed(p)
	if d.options.Progress != nil {
		d.options.Progress(p)
	}
}

// Sync brings the copy up to date, and returns a report, also if it fails. If some
// resources cannot be copied, the error is nil and the report counts them.
//
// After a failure or the end of ctx, the copy has whole files of old and new versions, and
// the next Sync continues.
func (d *Destination) Sync(ctx context.Context) (*Report, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.newRun()
	return r.report, r.whole(ctx)
}

// whole is like Sync, without its locking.
func (r *run) whole(ctx context.Context) (err error) {
	r.watch.began()
	defer func() { r.ended(err) }()
	ctx = r.patient(ctx)
	r.packages = newPackages(ctx, r)
	err = r.settle(ctx)
	if err == nil && !r.follows {
		err = r.state.AskEarly(asksEarly)
	}
	if err == nil {
		err = r.move(ctx)
	}
	if err == nil {
		err = r.sync(ctx)
	}
	r.report.Renamed = r.state.TakeRenamed()
	if err == nil && !r.follows {
		err = r.comeBack(ctx)
	}
	if err != nil && r.unflushed {
		err = errors.Join(err, r.prepare(context.WithoutCancel(ctx)))
	}
	err = errors.Join(err, r.packages.close())
	err = errors.Join(err, r.makeRoom(ctx, err), r.count(), r.tellDelays())
	keep := r.state.Resumable()
	if isStateFull(err) {
		keep = none // no later run could record anything
	}
	err = errors.Join(err, fetch.RemovePartial(r.folder, keep))
	if errors.Is(err, syscall.ENOSPC) && !isStateFull(err) {
		err = fmt.Errorf("the disk of the copy is full: make room: %w", err)
	}
	if err != nil {
		err = fmt.Errorf("destination: %w", err)
	}
	return err
}

// count counts the resources of the copy, and those that are still to be copied.
func (r *run) count() (err error) {
	if r.report.Failed, err = r.state.PendingCount(); err != nil {
		return err
	}
	r.report.Resources, r.report.Bytes, err = r.state.Totals()
	r.size = size{r.report.Resources, r.report.Bytes}
	return err
}

func (r *run) sync(ctx context.Context) error {
	sets, err := r.discover(ctx)
	if err != nil {
		return err
	}
	r.sets, r.report.Sets = sets, len(sets)
	r.setsAre(sets)
	if err := r.nameSets(ctx, sets); err != nil {
		return err
	}
	if _, r.bytes, err = r.state.Totals(); err != nil {
		return err
	}
	r.checked = time.Now()
	var failed error
	sound := make([]tree.Set, 0, len(sets)) // those that have not failed: they do not wait for the others
	for _, set := range sets {
		err := r.readSet(ctx, set)
		if err == nil {
			sound = append(sound, set)
		}
		failed = errors.Join(failed, err)
		if isStateFull(err) {
			return failed
		}
	}
	if err := r.goneSets(ctx, failed != nil); err != nil {
		return errors.Join(failed, err)
	}
	after := int64(0)
	for round := 1; ; round++ {
		if err := r.applyPackages(ctx); err != nil {
			return errors.Join(failed, err)
		}
		if after, err = r.apply(ctx, after); err != nil {
			return errors.Join(failed, err)
		}
		noted := int64(0)
		if round < maxRounds {
			now := time.Now()
			noted, err = r.followSets(ctx, &sound)
			if failed = errors.Join(failed, err); len(sound) == len(sets) { // all of them
				r.checked = now
			}
		}
		if noted == 0 || isStateFull(err) || ctx.Err() != nil {
			return failed
		}
	}
}

// followSets reads the changes of sets since the last time. Sets that fail are taken out.
func (r *run) followSets(ctx context.Context, sets *[]tree.Set) (noted int64, failed error) {
	*sets = slices.DeleteFunc(*sets, func(set tree.Set) bool {
		if !r.hasChanges(set) {
			return true
		}
		n, err := r.followChanges(ctx, set)
		noted += n
		failed = errors.Join(failed, err)
		return err != nil
	})
	return noted, failed
}

// setsAre records the sets of the Source in the state.
func (r *run) setsAre(sets []tree.Set) {
	uris := make([]string, len(sets))
	for i, set := range sets {
		uris[i] = set.URI
	}
	r.state.SetsAre(uris)
}

// hasChanges reports whether a set has documents that describe changes.
func (d *Destination) hasChanges(set tree.Set) bool {
	return len(set.Lists[resourcesync.ChangeList]) > 0 || d.offers(set.Lists[resourcesync.ChangeDump])
}

// hasResources reports whether a set has documents that describe resources.
func (d *Destination) hasResources(set tree.Set) bool {
	return len(set.Lists[resourcesync.ResourceList]) > 0 || d.offers(set.Lists[resourcesync.ResourceDump])
}

// readSet notes the work for a set: from its changes if they go back far enough,
// otherwise from its resources.
func (r *run) readSet(ctx context.Context, set tree.Set) error {
	switch {
	case r.hasResources(set) || r.hasChanges(set):
	case r.options.Dumps == DumpsNever && len(set.Lists[resourcesync.ResourceDump])+len(set.Lists[resourcesync.ChangeDump]) > 0:
		return fmt.Errorf("%s has dumps only, which must not be used", set.URI)
	default:
		return fmt.Errorf("%s has neither Resource Lists nor Change Lists nor dumps", set.URI)
	}
	st, err := r.state.Set(set.URI)
	if err != nil {
		return err
	}
	unreadable, err := r.state.HasPending(set.URI, tree.Unreadable)
	if err != nil {
		return err
	}
	if st.Known && st.Guard.Held == 0 && !(unreadable && r.hasResources(set)) && r.hasChanges(set) {
		since := st.Cursor
		read, err := r.state.HasReadings(set.URI)
		if err != nil {
			return err
		}
		st.Unread = !read
		_, gap, err := r.readChanges(ctx, set, &st)
		st.Unread = false
		if err == nil && !gap {
			err = r.attach(ctx, set, resourcesync.ChangeDump, since)
		}
		if err != nil || !gap {
			return err
		}
		if r.hasResources(set) {
			r.log.Info("the changes do not go back to the last synchronization; all resources are compared instead", "set", set.URI, "since", st.Cursor)
		}
	}
	return r.compare(ctx, set, &st)
}
