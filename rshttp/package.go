package rshttp

import (
	"log/slog"
	"net/http"
	"time"

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
	q.t.AwaitListed(q.r.Context())
	if err := sending.Start(q.t.Unlisted()); err != nil {
		return err
	}
	pkg := q.t.Package()
	plan, err := q.plans.Plan(q.r.Context(), pkg)
	if err != nil {
		return err
	}
	defer q.plans.Release(plan)
	h := q.w.Header()
	h["Content-Type"] = hdrPackage
	h["X-Content-Type-Options"] = hdrNosniff
	h["Cache-Control"] = cacheControl(plan.State)
	h["Etag"] = []string{`"` + plan.Tag + `"`}
	var modified time.Time
	if plan.State.Dated(time.Now()) {
		modified = plan.State.Modified
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
			slog.String("path", q.t.Path), slog.String("uri", uri), slog.Any("error", reason))
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
