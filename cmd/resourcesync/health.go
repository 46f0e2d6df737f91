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

// A healthHandler answers whether check succeeds. Only the log has the error.
type healthHandler struct {
	check func(ctx context.Context) error
	log   *slog.Logger

	mu        sync.Mutex
	unhealthy bool // at the last request
}

func (h *healthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	err := h.check(ctx)
	if r.Context().Err() != nil {
		return // the client has gone, which may have caused err
	}
	h.logChange(err)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "unhealthy; see the log\n")
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

// isFreshGet forbids caches to store the answer, and reports whether r is a GET or HEAD
// request. It has answered all others.
func isFreshGet(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return reqbody.Get(w, r)
}

// logChange logs err when the health changes, because probes ask all the time.
func (h *healthHandler) logChange(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil && !h.unhealthy:
		h.log.Error("unhealthy", "error", err)
	case err == nil && h.unhealthy:
		h.log.Info("healthy again")
	}
	h.unhealthy = err != nil
}

// serveReady answers 503 until the set can be shown, after the first scan.
func (p *publication) serveReady(w http.ResponseWriter, r *http.Request) {
	if !isFreshGet(w, r) {
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !p.set.shown.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "not ready; the first scan has not ended\n")
		return
	}
	io.WriteString(w, "ok\n")
}

// announceReady prints the URLs to start at, or logs them if the log is JSON.
func (p *publication) announceReady(c *serveConfig, stdout io.Writer, files int64) {
	description, list := p.source.Description(), p.documents.JoinPath("resourcelist.xml").String()
	if c.logFormat == "json" {
		p.log.Info("ready", "files", files, "source_description", description, "resource_list", list)
		return
	}
	fmt.Fprintf(stdout, "Ready (files: %d). Source Description: %s Resource List: %s\n", files, description, list)
}
