// Package scantest is the contract of [scan.Origin], and of its upgrades Binder and Parter, as
// a test suite, like testing/fstest. Package scan tests what a set does with an origin.
package scantest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/changes"
	"github.com/resourcesync-go/resourcesync/internal/leaktest"
	"github.com/resourcesync-go/resourcesync/scan"
)

// wait is the time in which goroutines must end.
var wait = 10 * time.Second

// A Case is a place with at least three resources, which only the suite changes. Open is
// required; rules that need another function are skipped if it is nil.
type Case struct {
	// Open opens another Origin of the place, which knows no set. It closes the origin at
	// the end of the test.
	Open func(t testing.TB) scan.Origin

	// Change creates, updates and deletes at least one resource each, but does not delete
	// all. It returns paths with all of these changes, in the form that [scan.Parter]
	// takes, or nil.
	Change func(t testing.TB) (paths []string)

	// Break makes the place unreadable, so that it can look empty.
	Break func(t testing.TB)
}

// A rule is a sentence of the contract. check returns an error if it is broken. o is new.
type rule struct {
	name  string
	check func(ctx context.Context, t testing.TB, c *Case, o scan.Origin) error
}

var rules = []rule{
	{"Resources", contract},
	{"Resources/stop", stop},
	{"Resources/cancel", cancel},
	{"Resources/broken", broken},
	{"Scan", scans},
	{"Part", parts},
}

var errSkip = errors.New("the origin lacks an upgrade, or the case a function")

// Test tests an origin in subtests, one for each rule. It calls newCase for each.
func Test(t *testing.T, newCase func(t testing.TB) Case) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			c := newCase(t)
			if err := r.check(t.Context(), t, &c, c.Open(t)); err == errSkip {
				t.Skip(err)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// A found is what a listing has yielded, by key. A resource that is listed as unchanged has
// only a Key.
type found struct {
	resources  map[string]resourcesync.Resource
	unreadable changes.Ranges
	err        error // that ended the listing
}

// list ranges over a listing, and returns an error if it breaks the contract.
func list(listing iter.Seq2[resourcesync.Resource, error]) (f found, broken error) {
	f.resources = map[string]resourcesync.Resource{}
	for r, err := range listing {
		u, unreadable := errors.AsType[*resourcesync.UnreadableError](err)
		_, twice := f.resources[r.Key]
		switch {
		case f.err != nil:
			return f, fmt.Errorf("%q, %v is yielded after the error %q", r.Key, err, f.err)
		case err != nil && err != resourcesync.ErrUnchanged && !r.Equal(resourcesync.Resource{}):
			return f, fmt.Errorf("a Resource comes with the error %q", err)
		case unreadable:
			f.unreadable = append(f.unreadable, u.Keys)
			continue
		case err == resourcesync.ErrUnchanged && !r.Equal(resourcesync.Resource{Key: r.Key}):
			return f, fmt.Errorf("%q is unchanged and has more than a Key", r.Key)
		case err != nil && err != resourcesync.ErrUnchanged:
			f.err = err
			continue
		case twice:
			return f, fmt.Errorf("%q is listed twice", r.Key)
		case err == nil:
			if err := changes.Check(&r); err != nil {
				return f, err
			}
		}
		f.resources[r.Key] = r.Clone()
	}
	return f, nil
}

// listAll is list of a complete listing by an origin that knows no set.
func listAll(ctx context.Context, o scan.Origin) (map[string]resourcesync.Resource, error) {
	f, err := list(o.Resources(ctx))
	if err = errors.Join(err, f.err); err != nil {
		return nil, err
	}
	if len(f.unreadable) > 0 || len(f.resources) < 3 {
		return nil, fmt.Errorf("%d resources, %d unreadable parts; a Case has at least three resources", len(f.resources), len(f.unreadable))
	}
	for key, r := range f.resources {
		if r.URI == "" {
			return nil, fmt.Errorf("%q is unchanged, but the origin knows no set", key)
		}
	}
	return f.resources, nil
}

// compare returns an error unless got has the resources in want.
func compare(got, want map[string]resourcesync.Resource) error {
	for key, r := range want {
		if g, ok := got[key]; !ok || !g.EqualEntry(r) {
			return fmt.Errorf("%q is %+v, expected %+v", key, g, r)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d resources, expected %d", len(got), len(want))
	}
	return nil
}

// contract: a listing yields what a set can take, and each range statement lists everything
// again.
func contract(ctx context.Context, _ testing.TB, _ *Case, o scan.Origin) error {
	want, err := listAll(ctx, o)
	if err != nil {
		return err
	}
	listing := o.Resources(ctx)
	for range 2 {
		again, err := list(listing)
		if err := errors.Join(err, compare(again.resources, want)); err != nil {
			return fmt.Errorf("listed again: %w", err)
		}
	}
	return nil
}

// stop: a listing ends when yield returns false, and leaves no goroutine.
func stop(ctx context.Context, _ testing.TB, _ *Case, o scan.Origin) error {
	calls := 0
	g := leaktest.Run(ctx, func(ctx context.Context) {
		o.Resources(ctx)(func(resourcesync.Resource, error) bool { calls++; return false })
	})
	if n := g.Wait(0, wait); calls != 1 || n > 0 {
		return fmt.Errorf("yield has returned false, and is called %d times; %d goroutines are left", calls, n)
	}
	return nil
}

// cancel: a listing whose ctx is done ends with its error or none, and leaves no goroutine.
func cancel(ctx context.Context, _ testing.TB, _ *Case, o scan.Origin) (err error) {
	for _, before := range []bool{true, false} {
		var f found
		g := leaktest.Run(ctx, func(ctx context.Context) {
			ctx, done := context.WithCancel(ctx)
			defer done()
			if before {
				done()
			}
			f, err = list(func(yield func(resourcesync.Resource, error) bool) {
				o.Resources(ctx)(func(r resourcesync.Resource, err error) bool { done(); return yield(r, err) })
			})
		})
		switch n := g.Wait(0, wait); {
		case err != nil:
			return err
		case n > 0:
			return fmt.Errorf("%d goroutines are left", n)
		case f.err != nil && !errors.Is(f.err, context.Canceled):
			return fmt.Errorf("ctx is done, and the listing ends with the error %w", f.err)
		case before && len(f.resources) > 0:
			return errors.New("resources are listed after ctx is done")
		}
	}
	return nil
}

// broken: a place that cannot be read is not mistaken for an empty one.
func broken(ctx context.Context, t testing.TB, c *Case, o scan.Origin) error {
	if c.Break == nil {
		return errSkip
	}
	want, err := listAll(ctx, o)
	if err != nil {
		return err
	}
	c.Break(t)
	f, err := list(o.Resources(ctx))
	if err != nil || f.err != nil {
		return err // a listing may end with f.err
	}
	for key := range want {
		if _, ok := f.resources[key]; !ok && !changes.NewRanges(f.unreadable).Contains(key) {
			return fmt.Errorf("%q is missing from a listing without an error", key)
		}
	}
	return nil
}

// A filled is a set that an origin fills.
type filled struct {
	*scan.Set
	stored *memory.Set
	same   func() error // compares the set with a listing by an origin that knows no set
}

func fill(ctx context.Context, t testing.TB, c *Case, o scan.Origin) (f filled, err error) {
	f.same = func() error {
		want, err := listAll(ctx, c.Open(t))
		if err != nil {
			return err
		}
		got := map[string]resourcesync.Resource{}
		for r := range f.stored.Resources(ctx, resourcesync.Range{}) {
			got[r.Key] = r
		}
		return compare(got, want)
	}
	var store memory.Store
	if f.Set, err = scan.Into(ctx, &store, "set", o, &scan.Options{MaxDelete: 1, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return f, err
	}
	if f.stored, err = store.Set(ctx, "set", &scan.SetOptions{MaxDelete: 1}); err == nil {
		_, err = f.Update(ctx)
	}
	if err == nil {
		err = f.same()
	}
	return f, err
}

// scans: an origin that knows its set lists what has changed since, and nothing else.
func scans(ctx context.Context, t testing.TB, c *Case, o scan.Origin) error {
	f, err := fill(ctx, t, c, o)
	if err != nil {
		return err
	}
	if r, err := f.Update(ctx); err != nil || r != (resourcesync.ScanResult{Unchanged: f.stored.Len()}) {
		return fmt.Errorf("a second scan: %+v, %v", r, err)
	}
	if c.Change == nil {
		return nil
	}
	c.Change(t)
	if r, err := f.Update(ctx); err != nil || r.Created == 0 || r.Updated == 0 || r.Deleted == 0 {
		return fmt.Errorf("after changes: %+v, %v", r, err)
	}
	return f.same()
}

// parts: scans of parts lead to the same set as a complete one, and delete nothing that
// cannot be read.
func parts(ctx context.Context, t testing.TB, c *Case, o scan.Origin) error {
	p, ok := o.(scan.Parter)
	if !ok || c.Change == nil {
		return errSkip
	}
	f, err := fill(ctx, t, c, o)
	if err != nil {
		return err
	}
	paths := c.Change(t)
	ranges, part := p.Part(ctx, paths)
	if found, err := list(part); err != nil || found.err != nil {
		return errors.Join(err, found.err)
	}
	if r, err := f.stored.ScanRanges(ctx, ranges, part); err != nil || r.Created == 0 || r.Updated == 0 || r.Deleted == 0 {
		return fmt.Errorf("the part that has changed: %+v, %v", r, err)
	}
	if err := f.same(); err != nil || c.Break == nil {
		return err
	}
	c.Break(t)
	before := f.stored.Len()
	ranges, part = p.Part(ctx, paths)
	if r, err := f.stored.ScanRanges(ctx, ranges, part); f.stored.Len() < before {
		return fmt.Errorf("a part that cannot be read: %+v, %v", r, err)
	}
	return nil
}
