package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// healthTimeout bounds the time in which the state answers a health check.
const healthTimeout = 3 * time.Second

// A healthHandler tells whether all is well, and why not only the log.
type healthHandler struct {
	check func(ctx context.Context) error
	log   *slog.Logger

	mu     sync.Mutex
	unwell bool // when it was asked last
}

func (h *healthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	err := h.check(ctx)
	if r.Context().Err() != nil {
		return // the client has gone, and its going may be what err is about
	}
	h.tell(err)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "not well; the log says why\n")
		for _, public := range []error{errHeld, errUnreadable, errDamaged} {
			if errors.Is(err, public) {
				fmt.Fprintln(w, public)
			}
		}
		if errors.Is(err, errHeld) {
			io.WriteString(w, howToConfirm)
		}
		return
	}
	io.WriteString(w, "ok\n")
}

// isFreshGet reports whether r gets something that is never the same twice, and
// says so to caches. It has answered what is no GET.
func isFreshGet(w http.ResponseWriter, r *http.Request) bool {
	if !reqbody.None(w, r) {
		return false
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return false
	}
	return true
}

// tell logs how things are when that changes: whoever asks, asks all the time.
func (h *healthHandler) tell(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil && !h.unwell:
		h.log.Error("not well", "error", err)
	case err == nil && h.unwell:
		h.log.Info("well again")
	}
	h.unwell = err != nil
}
