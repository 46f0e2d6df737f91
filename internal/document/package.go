package document

import (
	"context"

	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// AwaitListed waits, for Options.Wait at most, until it is known whether the package
// t is listed.
func (t Target) AwaitListed(ctx context.Context) {
	if t.Kind.ranges != nil {
		t.Kind.ranges(t.Set).Await(ctx, t.Set.Wait)
		return
	}
	if t.Set.Wait < 0 || !t.Unlisted() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.Set.Wait)
	defer cancel()
	_, _ = t.Set.ChangePackages.Dump(ctx) // planning the package gets the error
}

// Package describes the package t to the planner.
func (t Target) Package() *packages.Package[*State] {
	content := packages.Content{Provider: t.Set.Provider, Opener: t.Set.Opener, Checksummer: t.Set.checksummer}
	if t.Kind.Name == KindChangePackage {
		content = packages.Content{ChangeOpener: t.Set.ChangeOpener, PatchOpener: t.Set.patchOpener, Checksummer: t.Set.changeChecksummer}
	}
	return &packages.Package[*State]{
		Path:    t.Path,
		Content: content,
		Fresh: func(ctx context.Context, was *State) (bool, error) {
			ctx, cancel := context.WithTimeout(ctx, t.Set.RenderTimeout)
			defer cancel()
			return t.Fresh(ctx, was)
		},
		List:     t.listPackage,
		Unlisted: t.Unlisted,
		TooLarge: t.outgrown,
	}
}

// listPackage returns the contents of the package t with its manifest, and their state.
func (t Target) listPackage(ctx context.Context) (c *packages.Contents, st *State, err error) {
	if tracer := t.Set.Tracer; tracer != nil {
		var end func(error)
		ctx, end = t.Span(ctx, tracer, "resourcesync.plan")
		defer func() { end(err) }()
	}
	ctx, cancel := context.WithTimeout(ctx, t.Set.RenderTimeout)
	defer cancel()
	t.Kind = t.Set.Routes.Kinds[t.Kind.Manifest]
	if st, err = t.Kind.State(ctx, t, nil); err != nil {
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
