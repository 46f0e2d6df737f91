package rshttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/transfer"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

var hdrPackage = []string{"application/zip"}

// servePackage answers a request for the package t, or for ranges of it. Nothing
// but its layout and one of the bounded number of transfers is held while it is sent.
func (s *Source) servePackage(w http.ResponseWriter, r *http.Request, t target) {
	sending, err := s.transfers.Admit(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer sending.End()
	s.awaitPackages(r.Context(), t)
	unlisted := t.isUnlisted()
	if err := sending.Start(unlisted); err != nil {
		s.fail(w, r, err)
		return
	}
	l, err := s.layout(r.Context(), t, unlisted)
	if err = t.known(err); err != nil {
		s.fail(w, r, err)
		return
	}
	defer s.layouts.release(l)
	h := w.Header()
	h["Content-Type"] = hdrPackage
	h["X-Content-Type-Options"] = hdrNosniff
	h["Cache-Control"] = l.hdrCacheControl
	h["Etag"] = l.hdrETag
	var modified time.Time
	if l.dated(time.Now()) {
		modified = l.lastModified
	}
	s.counters.sent.Add(1)
	content := l.zip.NewReader(r.Context(), func(ctx context.Context) (end func(), err error) {
		return func() { s.sums.Release(unlisted) }, s.sums.Acquire(ctx, unlisted)
	})
	defer content.Close()
	transfer.Serve(w, r, modified, content)
	if err := content.Err(); err != nil {
		s.breakOff(r, l, err)
	}
}

// awaitPackages waits, for Options.Wait at most, until it is known whether the package
// t is listed.
func (s *Source) awaitPackages(ctx context.Context, t target) {
	if t.kind == kindDumpPackage {
		t.set.packages.Await(ctx, s.options.Wait)
		return
	}
	if s.options.Wait < 0 || !t.isUnlisted() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Wait)
	defer cancel()
	_, _ = s.changePackages(ctx, t.set) // laying out the package gets the error
}

// breakOff ends a transfer that cannot be completed. The status is sent: only a
// broken connection can still tell.
func (s *Source) breakOff(r *http.Request, l *layout, err error) {
	if failed, ok := errors.AsType[*virtualzip.EntryError](err); ok {
		s.counters.broken.Add(1)
		var uri string
		if it := l.item(failed.Name); it != nil {
			uri = it.Resource.URI
			s.doubts.add(it.checksumKey())
		}
		s.sparse.Log(r.Context(), s.log, slog.LevelError, "package broken off: content is not what was listed, or cannot be read",
			slog.String("path", l.path()), slog.String("uri", uri), slog.Any("error", failed.Err))
		s.layouts.drop(l)
	}
	panic(http.ErrAbortHandler)
}
