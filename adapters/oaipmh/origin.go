package oaipmh

import (
	"context"
	"errors"
	"iter"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

var (
	_ scan.Origin     = (*Repository)(nil)
	_ scan.Binder     = (*Repository)(nil)
	_ scan.Filler     = (*Repository)(nil)
	_ scan.Watcher    = (*Repository)(nil)
	_ scan.Estimator  = (*Repository)(nil)
	_ scan.Progresser = (*Repository)(nil)
	_ scan.Identifier = (*Repository)(nil)
)

var (
	errUnbound   = errors.New("oaipmh: the Repository has no set: call Bind first")
	errNoListing = errors.New("oaipmh: a Repository cannot be listed: use Fill to keep a set up to date")
	errNoSize    = errors.New("oaipmh: the repository does not state how many records it has")
)

// Bind implements [scan.Binder]. Nothing else may change set. A second set keeps the progress
// of harvests.
func (r *Repository) Bind(ctx context.Context, set scan.Stored, open func(ctx context.Context, purpose string) (scan.Stored, error)) (err error) {
	r.set = set
	r.state, err = open(ctx, "harvest of")
	return err
}

// Resources implements [scan.Origin]. It yields an error: only [Repository.Fill] can read a
// repository in steps, and continue after an interruption.
func (r *Repository) Resources(context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) { yield(resourcesync.Resource{}, errNoListing) }
}

// Changed reports that records may have changed. It does not block. Watch reports it, and a
// complete listing that is under way is interrupted for the recent changes. The URLs are
// ignored: the repository reports the changes.
func (r *Repository) Changed(...*url.URL) {
	r.hinted.Store(true)
	r.bell.Ring()
}

// Watch implements [scan.Watcher]: after [Repository.Changed], anything may have changed.
func (r *Repository) Watch(ctx context.Context, changed func(paths []string)) error {
	first := true // the bell also wakes at the beginning, when there need not be a change
	return r.bell.Listen(ctx, func() {
		if !first || r.hinted.Load() {
			changed(nil)
		}
		first = false
	})
}

// Estimate implements [scan.Estimator]. It waits for the first response of the harvest that
// runs, in which most repositories state the number of their records.
func (r *Repository) Estimate(ctx context.Context) (records, bytes int64, err error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	_ = r.received.Listen(waiting, func() {
		if st := r.Status(); st.Size > 0 || st.Records > 0 {
			records = st.Size
			cancel()
		}
	})
	switch {
	case ctx.Err() != nil:
		return 0, 0, ctx.Err()
	case records == 0:
		return 0, 0, errNoSize
	}
	return records, 0, nil
}

// Progress implements [scan.Progresser] with the numbers of the last complete listing, or of
// the one that runs.
func (r *Repository) Progress() scan.Progress {
	st := r.Status()
	return scan.Progress{Resources: st.Records - st.Unlisted, Skipped: st.Unlisted}
}

// Identity implements [scan.Identifier]. It has no URIs: if the template changes, each
// resource is replaced when it is listed again, and the set stays readable meanwhile.
func (r *Repository) Identity() scan.Identity {
	name := "the records of " + r.given
	if r.options.Set != "" {
		name += " in the set " + r.options.Set
	}
	return scan.Identity{Name: name}
}
