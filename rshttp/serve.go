package rshttp

import (
	"context"
	"net/http"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// This file handles a request: find the route, compare the state, render. response.go sends.

// find returns the target of a path, and its cached document, fresh or not, if there is one.
func (s *Source) find(path string) (document.Target, *response, bool) {
	if doc := s.cache.get(path); doc != nil {
		return doc.target, doc, true
	}
	t, ok := s.site.Routes.Match(path, s.site.Sets)
	return t, nil, ok
}

// serve answers a request for t, whose route has been found. It renders t unless kept, the
// cached document or nil, still shows the state of t.
func (s *Source) serve(w http.ResponseWriter, r *http.Request, t document.Target, kept *response) {
	s.expectRun()
	if !t.Kind.AnyMethod() && !reqbody.Get(w, r) {
		return
	}
	var (
		doc *response
		err error
	)
	t, isPage := asPage(r, t)
	if t.Kind.Form != document.FormDocument {
		err = request{s, w, r, t}.serve()
	} else if doc, err = s.document(r.Context(), t, kept); err == nil {
		sending(w, doc, doc == kept)
		s.send(w, r, doc)
	}
	if err = s.known(t, err); err != nil {
		s.fail(w, r, err, isPage || t.Kind.Document != nil)
	}
}

// A request is a request for a target that is not a document: a page, a package or a
// version.
type request struct {
	*Source
	w http.ResponseWriter
	r *http.Request
	t document.Target
}

// serve answers q. It returns an error if it has not begun to answer.
func (q request) serve() error {
	switch q.t.Kind.Form {
	case document.FormPackage:
		return q.servePackage()
	case document.FormVersion:
		return q.serveMemento()
	case document.FormTopic:
		return q.serveTopic()
	case document.FormSocket:
		return q.serveSocket()
	}
	return q.servePage()
}

// document returns the current document of t: the cached one if it still shows the state of
// t, otherwise one that is rendered for all waiting requests.
func (s *Source) document(ctx context.Context, t document.Target, kept *response) (*response, error) {
	if t.Kind.State == nil && kept != nil { // it depends on the configuration alone
		s.counters.hits.Add(1)
		return kept, nil
	}
	// Bound the total wait: the queue, a rendering in flight, ours.
	deadline := withLazyDeadline(ctx, max(s.options.Limits.Wait, 0)+2*s.options.Limits.RenderTimeout)
	defer deadline.release()
	ctx = deadline
	if fresh, err := t.Fresh(ctx, kept.stateOf()); err != nil {
		return nil, err
	} else if fresh {
		s.counters.hits.Add(1)
		return kept, nil
	}
	if t.Kind.State == nil {
		return s.rerender(ctx, t) // at once, even while sets are busy
	}
	unlisted := t.Unlisted()
	v, err := s.requests.Of(unlisted).Do(ctx, t.Path, admission.Job{
		Begin: func(ctx context.Context) error {
			return s.renderings.AcquireWithin(ctx, s.options.Limits.Wait, unlisted)
		},
		Work: func(ctx context.Context) (any, error) {
			defer s.renderings.Release(unlisted)
			return s.rerender(ctx, t)
		},
	})
	if err != nil {
		return nil, err
	}
	return v.(*response), nil
}

// rerender renders t and caches the result, unless the cached document has become fresh.
func (s *Source) rerender(ctx context.Context, t document.Target) (doc *response, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Limits.RenderTimeout)
	defer cancel()
	kept := s.cache.get(t.Path)
	now, err := t.Now(ctx, kept.stateOf())
	if err != nil || kept != nil && now == kept.State {
		return kept, err
	}
	if s.options.Tracer != nil {
		var end func(error)
		ctx, end = t.Span(ctx, s.options.Tracer, "resourcesync.render")
		defer func() { end(err) }()
	}
	rendered, err := t.Render(ctx, now, kept.documentOf())
	if err != nil {
		return nil, err
	}
	doc = newResponse(t, rendered)
	s.counters.rendered.Add(1)
	if doc.State.Kept() {
		s.cache.put(doc)
	}
	return doc, nil
}
