package rshttp

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// awaitListed waits, for Options.Wait at most, until it is known whether the package
// t is listed.
func (t target) awaitListed(ctx context.Context) {
	if t.kind.ranges != nil {
		t.kind.ranges(t.set).Await(ctx, t.set.Wait)
		return
	}
	if t.set.Wait < 0 || !t.isUnlisted() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.set.Wait)
	defer cancel()
	_, _ = t.set.changePackages.Dump(ctx) // planning the package gets the error
}

// pack describes the package t to the planner.
func (t target) pack() *packages.Package[*state] {
	content := packages.Content{Provider: t.set.Provider, Opener: t.set.Opener, Checksummer: t.set.checksummer}
	if t.kind.name == kindChangePackage {
		content = packages.Content{ChangeOpener: t.set.ChangeOpener, PatchOpener: t.set.patchOpener, Checksummer: t.set.changeChecksummer}
	}
	return &packages.Package[*state]{
		Path:    t.path,
		Content: content,
		Fresh: func(ctx context.Context, was *state) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, t.set.RenderTimeout)
			defer cancel()
			return t.fresh(ctx, was)
		},
		List:     t.listPackage,
		Unlisted: t.isUnlisted,
		TooLarge: t.outgrown,
	}
}

// listPackage returns the contents of the package t with its manifest, and their state.
func (t target) listPackage(ctx context.Context) (c *packages.Contents, st *state, err error) {
	if tracer := t.set.Tracer; tracer != nil {
		var end func(error)
		ctx, end = t.span(ctx, tracer, "resourcesync.plan")
		defer func() { end(err) }()
	}
	ctx, cancel := context.WithTimeout(ctx, t.set.RenderTimeout)
	defer cancel()
	t.kind = t.set.routes.kinds[t.kind.manifest]
	if st, err = t.kind.state(ctx, t, nil); err != nil {
		return nil, nil, err
	}
	var b render.Body
	defer b.Free()
	c, err = listPackage(ctx, t, st, &b)
	if err == nil {
		c.Text, err = b.Text()
	}
	return c, st, err
}
