package destination

import (
	"context"
	"errors"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
)

// compare notes the work for a set from its resources, and from the changes after them.
func (r *run) compare(ctx context.Context, set tree.Set, st *state.Set) (failed error) {
	if r.hasResources(set) {
		if _, failed = r.readResources(ctx, set, st); failed != nil && !isListError(failed) {
			return failed
		}
		if len(set.Lists[resourcesync.ResourceList]) > 0 {
			if err := r.attach(ctx, set, resourcesync.ResourceDump, time.Time{}); err != nil {
				return err
			}
		}
	}
	_, err := r.catchUp(ctx, set, st)
	return errors.Join(failed, err)
}

// catchUp reads the changes after a baseline or after other changes. If they begin later than that,
// the Source may have published both lists again meanwhile: then the Resource Lists are read again.
// Otherwise, only requests show the state of resources that changed between the two and are not
// listed.
func (r *run) catchUp(ctx context.Context, set tree.Set, st *state.Set) (noted int64, err error) {
	if !r.hasChanges(set) {
		return 0, nil
	}
	f := r.freshnessOf(set.URI)
	defer func() {
		if f.stale {
			r.log.Info("a cache has sent Resource Lists from before the changes begin; the next run compares all resources again", "set", set.URI)
		}
	}()
	same := false // the last reading of the Resource Lists has found nothing new
	for reading := 0; ; reading++ {
		began := st.Began
		f.judge()
		n, gap, err := r.readChanges(ctx, set, st)
		if noted += n; err != nil {
			return noted, err
		}
		if !gap {
			// Both lists may begin on this day, and a cache may have sent a Resource List from before.
			over := st.Base.Add(state.Precision(st.Base))
			if reading > 0 || st.Base.IsZero() || !st.Began.IsZero() || state.Precision(st.Base) <= time.Second || !over.After(time.Now()) {
				return noted, nil
			}
			again, err := r.isNewer(ctx, set, st, true)
			if err != nil || !again {
				return noted, err
			}
			n, err := r.readResources(ctx, set, st)
			if noted += n; err != nil {
				return noted, err
			}
			continue
		}
		// The changes began before the Resource Lists were read again, so the lists show all
		// earlier ones.
		covered := reading > 0 && (same || !began.IsZero() && st.Began.Equal(began))
		again, err := r.isNewer(ctx, set, st, !covered)
		if err != nil {
			return noted, err
		}
		if !again || reading == maxReadings {
			break
		}
		n, err = r.readResources(ctx, set, st)
		same = n == 0
		if noted += n; err != nil {
			return noted, err
		}
	}
	if r.hasResources(set) && !st.Partial {
		err = r.state.Write(ctx, func() error {
			n, err := r.state.AskUnlisted(set.URI, st.Baseline, st.Base, st.Began)
			noted += n
			return err
		})
		if err != nil {
			return noted, err
		}
	}
	f.judge()
	st.Known = false
	n, _, err := r.readChanges(ctx, set, st)
	return noted + n, err
}

// isNewer reports whether a Resource List of a set, or a Resource Dump in its place, differs from
// the one that was read last, or may differ without saying so.
func (r *run) isNewer(ctx context.Context, set tree.Set, st *state.Set, can bool) (bool, error) {
	if st.Partial {
		return false, nil
	}
	lists := set.Lists[resourcesync.ResourceList]
	if len(lists) == 0 && r.offers(set.Lists[resourcesync.ResourceDump]) {
		lists = set.Lists[resourcesync.ResourceDump]
	}
	var oldest time.Time // of the answers
	same := true         // they are the lists that were read
	for _, uri := range lists {
		known, err := r.state.Document(set.URI, uri)
		if err != nil {
			return false, err
		}
		d, err := r.reader.Open(ctx, uri, known.Validators)
		if err != nil {
			return false, &listError{err}
		}
		d.Close()
		oldest = earliest(oldest, fetch.Date(d.Header))
		at := d.Head.Metadata.At
		shown := notAfter(at, d.Header)
		// A list with the same time can be a different one until the unit of that time is over.
		unsure := !d.NotModified && (at.IsZero() || at.Add(state.Precision(at)).After(fetch.Date(d.Header)))
		if can && unsure || !d.NotModified && shown.After(st.Base) && (can || shown.Equal(at)) {
			return true, nil
		}
		same = same && !unsure
	}
	if f := r.freshnessOf(set.URI); same {
		f.lists = latest(f.lists, oldest)
	}
	return false, nil
}

// followChanges reads the changes since the last time.
func (r *run) followChanges(ctx context.Context, set tree.Set) (noted int64, err error) {
	st, err := r.state.Set(set.URI)
	if err != nil || !st.Known {
		return 0, err
	}
	since, gap := st.Cursor, false
	if r.compared[set.URI] {
		// If the changes begin after the cursor now, the next run compares again. With a Source
		// whose clock is ahead, they always do.
		noted, gap, err = r.readChanges(ctx, set, &st)
	} else {
		noted, err = r.catchUp(ctx, set, &st)
	}
	if err == nil && !gap {
		err = r.attach(ctx, set, resourcesync.ChangeDump, since)
	}
	return noted, err
}
