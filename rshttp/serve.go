package rshttp

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// find returns what a path leads to, together with its document if one is kept,
// fresh or not.
func (s *Source) find(path string) (target, *document, bool) {
	if doc := s.cache.get(path); doc != nil {
		return doc.target, doc, true
	}
	t, ok := s.routes.match(path, s.sets)
	return t, nil, ok
}

// serve answers a request for t: its route has been found, its state is compared with
// that of kept, the cached document or nil, it is rendered if they differ, and sent.
func (s *Source) serve(w http.ResponseWriter, r *http.Request, t target, kept *document) {
	if !reqbody.None(w, r) {
		return
	}
	s.expectRun()
	if t.kind.anyMethod {
		t.kind.serve(s, w, r, t)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Only GET and HEAD are allowed here.", http.StatusMethodNotAllowed)
		return
	}
	if t.kind.serve != nil {
		t.kind.serve(s, w, r, t)
		return
	}
	doc, err := s.document(r.Context(), t, kept)
	if err = t.known(err); err != nil {
		s.fail(w, r, err)
		return
	}
	s.send(w, r, doc)
}

// send answers r with doc, or with 304.
func (s *site) send(w http.ResponseWriter, r *http.Request, doc *document) {
	h := w.Header()
	h["Vary"] = append(h["Vary"], hdrVary...)
	h["Cache-Control"] = doc.hdrCacheControl
	dated := doc.state.dated(time.Now())
	if dated {
		h["Last-Modified"] = doc.hdrLastModified
	}
	zipped := acceptsGzip(r.Header["Accept-Encoding"])
	etag := doc.hdrETag
	if zipped {
		etag = doc.hdrGzipETag
	}
	h["Etag"] = etag
	if doc.notModified(r.Header, etag[0], dated) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"] = hdrXML
	h["X-Content-Type-Options"] = hdrNosniff
	if zipped {
		h["Content-Encoding"] = hdrGzip
		h["Content-Length"] = doc.hdrGzipLength
	} else {
		h["Content-Length"] = doc.hdrLength
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if err := doc.writeTo(w, zipped); err != nil && r.Context().Err() == nil {
		// The status is sent: only a broken connection can still tell.
		s.sparse.Log(r.Context(), s.log, slog.LevelDebug, "document not sent", slog.String("path", doc.path()), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
}

// document returns t as the set is now: the cached document if it still shows the state
// of t, or else one that is rendered for all requests that wait for it.
func (s *Source) document(ctx context.Context, t target, kept *document) (*document, error) {
	// Bound the total wait: the queue, a rendering in flight, ours.
	deadline := withLazyDeadline(ctx, max(s.options.Wait, 0)+2*s.options.RenderTimeout)
	defer deadline.release()
	ctx = deadline
	if fresh, err := t.fresh(ctx, kept.stateOf()); err != nil {
		return nil, err
	} else if fresh {
		s.counters.hits.Add(1)
		return kept, nil
	}
	if t.kind.state == nil {
		return s.renderAnew(ctx, t) // at once, whatever the sets are doing
	}
	unlisted := t.isUnlisted()
	v, err := s.requests.Of(unlisted).Do(ctx, t.path, admission.Job{
		Begin: func(ctx context.Context) error { return s.renderings.AcquireWithin(ctx, s.options.Wait, unlisted) },
		Work: func(ctx context.Context) (any, error) {
			defer s.renderings.Release(unlisted)
			return s.renderAnew(ctx, t)
		},
	})
	if err != nil {
		return nil, err
	}
	return v.(*document), nil
}

// renderAnew renders t and caches the result, unless the cached document is fresh by
// now.
func (s *Source) renderAnew(ctx context.Context, t target) (*document, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.RenderTimeout)
	defer cancel()
	kept := s.cache.get(t.path)
	if fresh, err := t.fresh(ctx, kept.stateOf()); err != nil || fresh {
		return kept, err
	}
	doc, err := t.render(ctx)
	if err != nil {
		return nil, err
	}
	s.counters.rendered.Add(1)
	if doc.state.kept() {
		s.cache.put(doc)
	}
	return doc, nil
}
