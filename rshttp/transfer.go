package rshttp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// sendBuffer is how much of a package is read and written at once. Handing it from
// who reads to who sends takes about as long as reading a small file.
const sendBuffer = 192 << 10

// maxRanges is how many ranges of a package a request may ask for. Each opens
// content anew, and reads what comes before if it cannot seek.
const maxRanges = 16

var (
	hdrPackage  = []string{"application/zip"}
	sendBuffers = sync.Pool{New: func() any { return new([sendBuffer]byte) }}
)

// servePackage answers a request for the package t, or for ranges of it. Nothing
// but its layout and one of the bounded number of transfers is held while it is sent.
func (s *Source) servePackage(w http.ResponseWriter, r *http.Request, t target) {
	from := client.Of(r)
	if !s.shares.Take(from) {
		s.fail(w, r, errShare)
		return
	}
	defer s.shares.Return(from)
	s.awaitPackages(r.Context(), t)
	unlisted := t.isUnlisted()
	if !s.transfers.TryAcquire(unlisted) {
		s.fail(w, r, errSending)
		return
	}
	defer s.transfers.Release(unlisted)
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
	pace := s.pacer.start(from)
	defer pace.end()
	http.ServeContent(&sender{w, r.Context(), pace}, withFewRanges(r), "", modified, content)
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

// withFewRanges returns r without its ranges if they are too many. A server may
// ignore them: the answer is then the whole (RFC 9110, section 14.2).
func withFewRanges(r *http.Request) *http.Request {
	if strings.Count(r.Header.Get("Range"), ",") < maxRanges {
		return r
	}
	all := r.WithContext(r.Context())
	all.Header = r.Header.Clone()
	all.Header.Del("Range")
	return all
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

// A sender sends what http.ServeContent copies, at the client's pace.
type sender struct {
	http.ResponseWriter
	ctx  context.Context
	pace *pace
}

// Unwrap lets http.ResponseController see through.
func (s *sender) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ReadFrom implements io.ReaderFrom, which is how io.Copy copies. While one buffer is
// sent, the next are filled: with small files, opening and reading takes as long as
// sending.
func (s *sender) ReadFrom(r io.Reader) (sent int64, err error) {
	ahead := readAhead(r, s.pace.chunk(sendBuffer))
	defer ahead.end()
	for p := range ahead.full {
		if p.n > 0 {
			if err := s.pace.wait(s.ctx, p.n); err != nil {
				return sent, err
			}
			m, err := s.ResponseWriter.Write(p.buf[:p.n])
			sent += int64(m)
			if err != nil {
				return sent, err
			}
			if s.pace != nil || p.n < ahead.size && p.err == nil {
				// What is sent slowly should not wait in buffers as
				// well, nor what comes before something that must be
				// read first. A writer that cannot flush may let it.
				_ = http.NewResponseController(s.ResponseWriter).Flush()
			}
		}
		ahead.empty <- p.buf
		if p.err != nil && p.err != io.EOF {
			return sent, p.err
		}
	}
	return sent, nil
}
