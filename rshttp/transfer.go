package rshttp

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/transfer"
)

var hdrPackage = []string{"application/zip"}

// servePackage answers a request for the package q.t, or for ranges of it. A transfer holds
// only the plan and its place among the transfers.
func (q request) servePackage() error {
	sending, err := q.transfers.Admit(q.r)
	if err != nil {
		return err
	}
	defer sending.End()
	q.t.awaitListed(q.r.Context())
	if err := sending.Start(q.t.isUnlisted()); err != nil {
		return err
	}
	pkg := q.t.pack()
	plan, err := q.plans.Plan(q.r.Context(), pkg)
	if err != nil {
		return err
	}
	defer q.plans.Release(plan)
	h := q.w.Header()
	h["Content-Type"] = hdrPackage
	h["X-Content-Type-Options"] = hdrNosniff
	h["Cache-Control"] = plan.State.cacheControl()
	h["Etag"] = []string{`"` + plan.Tag + `"`}
	var modified time.Time
	if plan.State.dated(time.Now()) {
		modified = plan.State.modified
	}
	q.counters.sent.Add(1)
	content := q.plans.NewReader(q.r.Context(), pkg, plan)
	defer content.Close()
	transfer.Serve(q.w, q.r, modified, content)
	if content.Err() == nil {
		return nil
	}
	if uri, reason := q.plans.Failed(plan, content.Err()); reason != nil {
		q.breakOff("package broken off: content is not what was listed, or cannot be read",
			slog.String("path", q.t.path), slog.String("uri", uri), slog.Any("error", reason))
	}
	panic(http.ErrAbortHandler)
}

// breakOff logs why a transfer cannot be completed, and ends it. The status has been sent, so
// only a broken connection can signal the error.
func (q request) breakOff(msg string, attrs ...slog.Attr) {
	q.counters.broken.Add(1)
	q.sparse.Log(q.r.Context(), q.log, slog.LevelError, msg, attrs...)
	panic(http.ErrAbortHandler)
}

// awaitListed waits, for Options.Wait at most, until it is known whether the package
// t is listed.
func (t target) awaitListed(ctx context.Context) {
	if t.kind.ranges != nil {
		t.kind.ranges(t.set).Await(ctx, t.set.options.Limits.Wait)
		return
	}
	if t.set.options.Limits.Wait < 0 || !t.isUnlisted() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.set.options.Limits.Wait)
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
			ctx, cancel := context.WithTimeout(ctx, t.set.options.Limits.RenderTimeout)
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
	if tracer := t.set.options.Tracer; tracer != nil {
		var end func(error)
		ctx, end = t.span(ctx, tracer, "resourcesync.plan")
		defer func() { end(err) }()
	}
	ctx, cancel := context.WithTimeout(ctx, t.set.options.Limits.RenderTimeout)
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
