package rshttp

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/transfer"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

// A knownError has already been logged.
type knownError struct{ error }

func (e knownError) Unwrap() error { return e.error }

// known returns err, as a knownError if the set was not ready at the last request either:
// clients that wait for it send many requests.
func (s *Source) known(t document.Target, err error) error {
	if t.Set == nil || t.Kind.State == nil { // it needs no set that is ready
		return err
	}
	unready := s.unready[t.Set]
	if !errors.Is(err, resourcesync.ErrNotReady) {
		unready.Store(false)
	} else if !unready.CompareAndSwap(false, true) {
		return knownError{err}
	}
	return err
}

// A failure is the response to an error.
type failure struct {
	status int
	text   string
	id     string // of the request
	index  string // URL where to continue; may be empty
}

// fail answers a request, for a page if page is true, with an error. It is the only place
// where errors become statuses. Clients receive fixed texts with a request id; the cause is
// logged under the same id.
func (s *Source) fail(w http.ResponseWriter, r *http.Request, err error, page bool) {
	status, text := http.StatusServiceUnavailable, "The document cannot be rendered at the moment. Try again later."
	retryAfter := 30 * time.Second
	level, index := slog.LevelError, ""
	gone, isGone := errors.AsType[*document.Gone](err)
	switch {
	case isGone:
		index = gone.Index
		status, text, level = http.StatusGone, "The document is no longer part of its index. Continue at the index, linked here.", slog.LevelInfo
		w.Header().Add("Link", linkTo(gone.Index, resourcesync.RelIndex))
	case errors.Is(err, fs.ErrNotExist):
		status, text, level = http.StatusNotFound, "There is no such document.", slog.LevelInfo
	case errors.Is(err, fs.ErrPermission):
		status, text, level = http.StatusForbidden, "The document is not public.", slog.LevelWarn
	case errors.Is(err, resourcesync.ErrNotReady):
		text, retryAfter, level = "The set is being prepared. Try again soon.", 5*time.Second, slog.LevelInfo
	case errors.Is(err, admission.ErrBusy):
		text, retryAfter, level = "Too many documents are being rendered at the moment. Try again soon.", 5*time.Second, slog.LevelWarn
		s.counters.refused.Add(1)
	case errors.Is(err, transfer.ErrBusy):
		text, level = "Too many packages are being sent at the moment. Try again soon.", slog.LevelWarn
		s.counters.refused.Add(1)
	case errors.Is(err, transfer.ErrClient):
		status, level = http.StatusTooManyRequests, slog.LevelWarn
		text = "Too many packages are being sent to your address at the moment. Wait until one of them has ended."
		s.counters.refused.Add(1)
	case r.Context().Err() != nil && errors.Is(err, context.Canceled):
		// The client has left, or the server is stopping. If the client is still
		// connected, the response must not be an empty 200.
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		return
	default:
		s.counters.failed.Add(1)
	}
	if _, known := errors.AsType[knownError](err); known {
		level = slog.LevelDebug
	}
	id := rand.Text()
	s.sparse.LogKind(r.Context(), s.log, level, text, "request failed", slog.String("request_id", id),
		slog.String("path", r.URL.Path), slog.Int("status", status), slog.Any("error", err))
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Request-Id", id)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(int(retryAfter/time.Second)))
	}
	if page {
		s.failPage(w, r, &failure{status, text, id, index})
		return
	}
	body := text + "\nRequest id: " + id + "\n"
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(body)) // fails if the client has left
	}
}

func linkTo(uri, rel string) string {
	return linkheader.Link{Target: uri, Rel: rel}.String()
}
