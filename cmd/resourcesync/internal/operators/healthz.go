package operators

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/scan"
)

const healthTimeout = 3 * time.Second

// A Health answers whether Check succeeds. It writes the error to the log only.
type Health struct {
	Check     func(ctx context.Context) error
	Notes     func() []string // remarks for the public
	Log       *slog.Logger
	unhealthy atomic.Bool // at the last request
}

func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !IsFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	err := h.Check(ctx)
	if r.Context().Err() != nil {
		return // the client disconnected, which may have caused err
	}
	switch before := h.unhealthy.Swap(err != nil); { // probes ask all the time
	case err != nil && !before:
		h.Log.Error("unhealthy", "error", err)
	case err == nil && before:
		h.Log.Info("healthy again")
	}
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "unhealthy; see the log\n")
		for _, public := range []error{scan.ErrHeld, scan.ErrUnreadable, scan.ErrHidden, ErrDamaged, sqltable.ErrUnproven} {
			if errors.Is(err, public) {
				fmt.Fprintln(w, public)
			}
		}
		if stranger, ok := errors.AsType[*sitemap.StrangerError](err); ok {
			fmt.Fprintln(w, stranger)
			fmt.Fprintf(w, howToShow, stranger.Rule())
		}
		if errors.Is(err, scan.ErrHeld) {
			io.WriteString(w, howToConfirm)
		}
	} else {
		io.WriteString(w, "ok\n")
	}
	for _, note := range h.Notes() {
		fmt.Fprintln(w, note)
	}
}

// IsFreshGet forbids caches to store the response, which is text unless the caller
// changes that, and reports whether r is a GET or HEAD request. It answers all other
// requests itself.
func IsFreshGet(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return reqbody.Get(w, r)
}

// ErrDamaged is an error that healthz names. Its text is public, so it names no file.
var ErrDamaged = errors.New("the state is damaged")

// howToShow follows scan.ErrHidden and the name of the header in the response of healthz. It needs
// the rule that permits the address.
const howToShow = "either give --scan-as none, or an address and a header that the website trusts; or permit the address there, in nginx with \"%s\"; or, if the pages are private, run resourcesync confirm-deletions; docs/sidecar.md has rules for web servers\n"

// howToConfirm follows scan.ErrHeld in the response of healthz.
const howToConfirm = "resourcesync confirm-deletions publishes them; the status page has the numbers\n"
