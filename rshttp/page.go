package rshttp

import (
	"context"
	"net/http"
	"strconv"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/view"
)

// This file serves the HTML pages of documents. Each document of a kind that has a page is
// shown at its own URL to browsers, and at the URL that ends in .html to everyone. Package view
// collects the data of the page.

// Page returns the public URL of the HTML page of the Source. It is empty if pages are
// turned off.
func (s *Source) Page() string {
	if s.views == nil {
		return ""
	}
	return s.views.Home()
}

// asPage returns the target of the page of t if a request for t is to be answered with it.
func asPage(r *http.Request, t document.Target) (document.Target, bool) {
	if t.Kind.Page == nil || !pages.Navigates(r) {
		return t, false
	}
	t.Kind = t.Kind.Page
	return t, true
}

var (
	hdrHTML      = []string{"text/html; charset=utf-8"}
	hdrNoIndex   = []string{"noindex, nofollow"}
	cachePrivate = []string{"private, no-cache"}
)

// servePage answers a request for the page of a document. Pages are not cached.
func (q request) servePage() error {
	t := q.t
	t.Kind = t.Kind.Document
	v, err := q.views.View(t, q.r.URL.Query())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), max(q.options.Limits.Wait, 0)+2*q.options.Limits.RenderTimeout)
	defer cancel()
	result, err := q.requests.Of(true).Do(ctx, v.Here(v.After), admission.Job{
		Begin: func(ctx context.Context) error { return q.renderings.AcquireWithin(ctx, q.options.Limits.Wait, true) },
		Work: func(ctx context.Context) (any, error) {
			defer q.renderings.Release(true)
			ctx, cancel := context.WithTimeout(ctx, q.options.Limits.RenderTimeout)
			defer cancel()
			return v.Render(ctx)
		},
	})
	if err != nil {
		return err
	}
	out := result.(*view.Page)
	doc := newResponse(t, &document.Document{Text: out.Text, State: new(document.State)})
	doc.hdrType, doc.hdrCacheControl = hdrHTML, cachePrivate
	q.views.Look.SetHeaders(q.w.Header(), out.Connect...)
	q.w.Header()["X-Robots-Tag"] = hdrNoIndex
	if q.isTopic() {
		q.w.Header()["Link"] = []string{q.publisher.Links(v.DocumentURL())}
	}
	sendingPage(q.w)
	q.send(q.w, q.r, doc)
	return nil
}

// isTopic reports whether the page is shown at the URL of a topic. Its links are then those
// of the topic: a client that follows them subscribes to the topic that the hub delivers.
// WebSub 4.1 requires a different self link for each representation, but Change
// Notification 4.1 requires the topic.
func (q request) isTopic() bool {
	of := q.t.Kind.Document
	return of.Form == document.FormTopic && q.t.Path == q.site.Routes.Path(of.Name, q.t.Set, "")
}

// failPage answers a request for a page that cannot be rendered. Its header has been set.
func (s *Source) failPage(w http.ResponseWriter, r *http.Request, f *failure) {
	html, err := s.views.Fail(http.StatusText(f.status), pages.Error{Text: f.text, ID: f.id, Index: f.index})
	if err != nil {
		s.log.Error("page of an error not rendered", "error", err)
		html = []byte(f.text)
	}
	s.views.Look.SetHeaders(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(html)))
	w.WriteHeader(f.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(html) // fails if the client has left
	}
}
