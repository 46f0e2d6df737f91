// Package stored has the rules of scans that all implementations of scan.Stored share.
package stored

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/guard"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Taker takes the resources of a listing. An error ends the listing.
type Taker struct {
	// Found takes a resource that can be stored. If unchanged, it has only a Key.
	Found func(r *resourcesync.Resource, unchanged bool) error

	// Unreadable takes a range of keys that cannot be read. It may exceed the ranges of
	// the scan.
	Unreadable func(keys resourcesync.Range) error
}

// A ListingError is an error that a listing has yielded, and not one of the store.
type ListingError struct{ Err error }

func (e *ListingError) Error() string { return e.Err.Error() }

func (e *ListingError) Unwrap() error { return e.Err }

// Take ranges over the listing of a scan of ranges. If it returns nil, the listing is complete.
// The errors of the listing become a [*ListingError].
func Take(ctx context.Context, ranges changes.Ranges, resources iter.Seq2[resourcesync.Resource, error], to Taker) error {
	for r, err := range resources {
		if u, ok := errors.AsType[*resourcesync.UnreadableError](err); ok {
			if err := to.Unreadable(u.Keys); err != nil {
				return err
			}
			continue
		}
		unchanged := err == resourcesync.ErrUnchanged
		if err != nil && !unchanged {
			return &ListingError{err}
		}
		err = ctx.Err()
		if err == nil && !unchanged {
			err = changes.Check(&r)
		}
		if err == nil && !ranges.Contains(r.Key) {
			err = fmt.Errorf("resource %q is not in the ranges of the scan", r.Key)
		}
		if err == nil {
			err = to.Found(&r, unchanged)
		}
		if err != nil {
			return err
		}
	}
	// A listing that ends without an error after ctx is done is not complete.
	return ctx.Err()
}

// Limits returns the limits of the guard of a set. o may be nil.
func Limits(o *scan.SetOptions) guard.Limits {
	if o == nil {
		o = &scan.SetOptions{}
	}
	return guard.NewLimits(o.MaxDelete, o.MaxDeleteHold)
}

// Judged returns how many resources of a set with count resources the guard judges after a
// scan of the whole set: those that the scan has found or kept, and the missing ones. A
// resource that something else has changed during the scan does not show that the listing
// is complete.
func Judged(count, missing int64, r *resourcesync.ScanResult) int64 {
	return min(count, missing+int64(r.Created+r.Updated+r.Unchanged+r.Unreadable))
}

// Kept describes what the last scan has kept, from the state of the guard after it.
func Kept(g guard.State, l guard.Limits) scan.Kept {
	k := scan.Kept{Held: g.Held, Unreadable: g.Unreadable, Confirmed: g.Held > 0 && g.Confirmed >= g.Held}
	if g.Held > 0 {
		k.Since = time.UnixMicro(g.Since).UTC()
	}
	if until := g.Until(l); until != 0 {
		k.Until = time.UnixMicro(until).UTC()
	}
	return k
}
