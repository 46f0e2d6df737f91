package rshttp

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// serve answers a request for the document t. doc is what the cache has of it,
// or nil.
func (s *Source) serve(w http.ResponseWriter, r *http.Request, t target, doc *document) {
	if !reqbody.None(w, r) {
		return
	}
	s.expectRun()
	if t.isTopic() || t.isSocket() {
		s.serveChannel(w, r, t)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "Only GET and HEAD are allowed here.", http.StatusMethodNotAllowed)
		return
	}
	switch {
	case t.isPackage():
		s.servePackage(w, r, t)
		return
	case t.kind == kindMemento:
		s.serveMemento(w, r, t)
		return
	}
	doc, err := s.document(r.Context(), t, doc)
	if err = t.known(err); err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h["Vary"] = append(h["Vary"], hdrVary...)
	h["Cache-Control"] = doc.hdrCacheControl
	dated := doc.dated(time.Now())
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
		s.sparse.Log(r.Context(), s.log, slog.LevelDebug, "document not sent", slog.String("path", t.path), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
}

func (d *document) writeTo(w io.Writer, zipped bool) error {
	if !zipped {
		return d.WritePlain(w)
	}
	_, err := w.Write(d.Gzip)
	return err
}

// dated reports whether d's Last-Modified can tell it from other versions. The
// header counts in seconds; while the second of the newest change is hardly
// over, another change may come to fall in it (RFC 9110, section 8.8.2.2).
func (d *document) dated(now time.Time) bool {
	return d.hdrLastModified != nil && now.Sub(d.lastModified) > 2*time.Second
}

// notModified evaluates the preconditions of a GET or HEAD request (RFC 9110,
// section 13.2.2).
func (d *document) notModified(h http.Header, etag string, dated bool) bool {
	if values := h["If-None-Match"]; len(values) > 0 {
		for _, v := range values {
			for tag := range strings.SplitSeq(v, ",") {
				tag = strings.TrimSpace(tag)
				if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
					return true
				}
			}
		}
		return false
	}
	since := h.Get("If-Modified-Since")
	if since == "" || !dated {
		return false
	}
	t, err := http.ParseTime(since)
	return err == nil && !d.lastModified.Truncate(time.Second).After(t)
}

// acceptsGzip reports whether a client takes gzip at least as gladly as no
// coding at all (RFC 9110, section 12.5.3).
func acceptsGzip(values []string) bool {
	if len(values) == 1 && values[0] == "gzip" {
		return true
	}
	gzip, identity, other := -1.0, -1.0, -1.0
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			coding, params, _ := strings.Cut(item, ";")
			q := quality(params)
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "identity":
				identity = q
			case "*":
				other = q
			}
		}
	}
	if gzip < 0 {
		gzip = other
	}
	return gzip > 0 && gzip >= identity
}

// quality returns the q parameter among params. What cannot be understood is
// taken as a refusal, which costs bandwidth but never a reader.
func quality(params string) float64 {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1
	}
	name, value, _ := strings.Cut(params, "=")
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

// document returns t's document as the set is now: the one kept if it still
// holds, or else one made for this and all other requests that wait for it.
func (s *Source) document(ctx context.Context, t target, kept *document) (*document, error) {
	// Longer than for its turn, for a rendering that had begun before it, and for
	// its own, nobody is kept waiting: then a provider does not come back.
	patience := bound(ctx, max(s.options.Wait, 0)+2*s.options.RenderTimeout)
	defer patience.release()
	ctx = patience
	if fresh, err := s.fresh(ctx, t, kept); err != nil {
		return nil, err
	} else if fresh {
		s.counters.hits.Add(1)
		return kept, nil
	}
	k := s.routes.kinds[t.kind]
	if k.static {
		doc, err := k.render(s, ctx, t)
		if err == nil {
			s.cache.put(doc)
		}
		return doc, err
	}
	unlisted := t.isUnlisted()
	v, err := s.flightsFor(unlisted).Do(ctx, t.path, admission.Job{
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

// renderAnew renders t and caches the result, unless the cached document is still
// fresh.
func (s *Source) renderAnew(ctx context.Context, t target) (*document, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.RenderTimeout)
	defer cancel()
	kept := s.cache.get(t.path)
	if fresh, err := s.fresh(ctx, t, kept); err != nil || fresh {
		return kept, err
	}
	doc, err := s.routes.kinds[t.kind].render(s, ctx, t)
	if err != nil {
		return nil, err
	}
	s.counters.rendered.Add(1)
	if doc.forever || doc.version != "" || doc.division != 0 {
		s.cache.put(doc)
	}
	return doc, nil
}

// isUnlisted reports whether t is a page, a window, a dump, a package or a manifest
// that is not known to be listed. Any client can request any range of keys and any
// time, so requests for them wait in a queue of their own, share a part of the turns,
// and are refused first.
func (t target) isUnlisted() bool {
	switch t.kind {
	case kindResourcePage, kindSitemapPage:
		r, ok := partition.ParseRange(t.part)
		return ok && !t.set.pages.Lists(r)
	case kindDumpManifest, kindDumpPackage:
		r, ok := partition.ParseRange(t.part)
		return ok && !t.set.packages.Lists(r)
	case kindDumpPart:
		r, ok := partition.ParseRange(t.part)
		p := t.set.packages.Current()
		return ok && (p == nil || !partition.Has(p.Groups, r))
	case kindChangeWindow:
		return !t.set.windows.Lists(t.part)
	case kindChangeDumpPart, kindChangeManifest, kindChangePackage:
		return !t.set.changeDump.Load().lists(t.part)
	}
	return t.isArchivePage() // all of the archive is walked over to find it
}

// flightsFor returns the queue for requests of listed or of unlisted ranges.
func (s *Source) flightsFor(unlisted bool) *admission.Group {
	if unlisted {
		return s.unlisted
	}
	return s.flights
}
