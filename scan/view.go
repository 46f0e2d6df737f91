package scan

import (
	"context"
	"iter"
	"net/url"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A View is a [Set] as its readers see it, without Run and Health: for a program that runs
// the Set itself, because it outlives the Source.
type View struct {
	stored   Stored
	upgrades []any           // the origin, if it may be used
	hider    Hider           // nil if the origin is not one
	shown    atomic.Bool     // the stored resources may be read
	bell     background.Bell // rings when they are shown
}

var (
	_ resourcesync.Combined       = (*View)(nil)
	_ resourcesync.WindowSpanner  = (*View)(nil)
	_ resourcesync.Pender         = (*View)(nil)
	_ resourcesync.ChangeArchived = (*View)(nil)

	_ resourcesync.PartStater = (*View)(nil)
	_ resourcesync.Cutter     = (*View)(nil)
	_ resourcesync.Changer    = (*View)(nil)
	_ resourcesync.Windower   = (*View)(nil)
	_ resourcesync.Sealer     = (*View)(nil)
	_ resourcesync.Watcher    = (*View)(nil)
	_ resourcesync.Coverer    = (*View)(nil)
)

// Upgrades implements [resourcesync.Combined].
func (v *View) Upgrades() []any { return v.upgrades }

// Ready reports whether the set can be read.
func (v *View) Ready() bool { return v.shown.Load() && (v.hider == nil || v.hider.Hidden() == nil) }

// isShown is Ready without regard to a [Hider].
func (v *View) isShown() bool { return v.shown.Load() }

func (v *View) show() {
	v.shown.Store(true)
	v.bell.Ring()
}

// AwaitReady returns when the stored resources can be shown, whether or not a [Hider] hides
// them, or with the error of ctx.
func (v *View) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := v.bell.Listen(ctx, func() {
		if v.shown.Load() {
			cancel()
		}
	})
	if v.shown.Load() {
		return nil
	}
	return err
}

// Stat implements [resourcesync.Stater]. A Source calls it before it reads anything else, so
// the methods for which the resources must be shown need not check again.
func (v *View) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if !v.Ready() {
		return resourcesync.Stat{}, resourcesync.ErrNotReady
	}
	return v.stored.Stat(ctx, r)
}

// StatParts implements [resourcesync.PartStater].
func (v *View) StatParts(ctx context.Context, r resourcesync.Range) ([]resourcesync.Part, error) {
	if !v.Ready() {
		return nil, resourcesync.ErrNotReady
	}
	return statParts(ctx, v.stored, r)
}

// statParts returns the parts of a range, or one part if the set does not divide it.
func statParts(ctx context.Context, set Stored, r resourcesync.Range) ([]resourcesync.Part, error) {
	if p, ok := set.(resourcesync.PartStater); ok {
		return p.StatParts(ctx, r)
	}
	stat, err := set.Stat(ctx, r)
	return []resourcesync.Part{{From: r.From, Version: stat.Version}}, err
}

// Resources implements [resourcesync.Provider].
func (v *View) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return v.stored.Resources(ctx, r)
}

// Cuts implements [resourcesync.Cutter].
func (v *View) Cuts(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	return v.stored.Cuts(ctx, previous, every)
}

// Since implements [resourcesync.Changer].
func (v *View) Since(ctx context.Context) (time.Time, error) {
	if !v.Ready() {
		return time.Time{}, resourcesync.ErrNotReady
	}
	return v.stored.Since(ctx)
}

// Changes implements [resourcesync.Changer].
func (v *View) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return v.stored.Changes(ctx, iv)
}

// Windows implements [resourcesync.Windower].
func (v *View) Windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	return v.stored.Windows(ctx, max)
}

// Window implements [resourcesync.WindowSpanner].
func (v *View) Window() time.Duration { return v.stored.Window() }

// Seals implements [resourcesync.Sealer].
func (v *View) Seals(ctx context.Context, after time.Time) ([]time.Time, error) {
	return v.stored.Seals(ctx, after)
}

// Seal implements [resourcesync.Sealer].
func (v *View) Seal(ctx context.Context, newest time.Time) error { return v.stored.Seal(ctx, newest) }

// Pending implements [resourcesync.Pender].
func (v *View) Pending(ctx context.Context) (time.Time, error) {
	if p, ok := v.stored.(resourcesync.Pender); ok {
		return p.Pending(ctx)
	}
	return time.Time{}, nil
}

// Archive implements [resourcesync.ChangeArchived].
func (v *View) Archive() resourcesync.ChangeArchiver {
	if a, ok := v.stored.(resourcesync.ChangeArchived); ok {
		return a.Archive()
	}
	return nil
}

// Watch implements [resourcesync.Watcher]. It also wakes when the resources are shown.
func (v *View) Watch(ctx context.Context, wake func()) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return v.bell.Listen(ctx, wake) })
	g.Go(func() error { return v.stored.Watch(ctx, wake) })
	return g.Wait()
}

// Covers implements [resourcesync.Coverer].
func (v *View) Covers(u *url.URL) bool { return v.Ready() && v.stored.Covers(u) }
