package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqltable"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

const healthTimeout = 3 * time.Second

// A healthHandler answers whether check succeeds. Only the log has the error.
type healthHandler struct {
	check     func(ctx context.Context) error
	notes     func() []string // remarks for the public
	log       *slog.Logger
	unhealthy atomic.Bool // at the last request
}

func (h *healthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !isFreshGet(w, r) {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	err := h.check(ctx)
	if r.Context().Err() != nil {
		return // the client disconnected, which may have caused err
	}
	switch before := h.unhealthy.Swap(err != nil); { // probes ask all the time
	case err != nil && !before:
		h.log.Error("unhealthy", "error", err)
	case err == nil && before:
		h.log.Info("healthy again")
	}
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "unhealthy; see the log\n")
		for _, public := range []error{errHeld, errUnreadable, errDamaged, errHidden, sqltable.ErrUnproven} {
			if errors.Is(err, public) {
				fmt.Fprintln(w, public)
			}
		}
		if stranger, ok := errors.AsType[*sitemap.StrangerError](err); ok {
			fmt.Fprintln(w, stranger)
			fmt.Fprintf(w, howToShow, stranger.Rule())
		}
		if errors.Is(err, errHeld) {
			io.WriteString(w, howToConfirm)
		}
	} else {
		io.WriteString(w, "ok\n")
	}
	for _, note := range h.notes() {
		fmt.Fprintln(w, note)
	}
}

// isFreshGet forbids caches to store the answer, which is text unless the caller changes
// that, and reports whether r is a GET or HEAD request. It has answered all others.
func isFreshGet(w http.ResponseWriter, r *http.Request) bool {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return reqbody.Get(w, r)
}

// serveReady answers 503 until all sets can be shown, after their first scans.
func (p *publication) serveReady(w http.ResponseWriter, r *http.Request) {
	if !isFreshGet(w, r) {
		return
	}
	if slices.ContainsFunc(p.members, func(m *member) bool { return !m.set.shown.Load() }) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "not ready; the first scan has not ended\n")
		return
	}
	io.WriteString(w, "ok\n")
}

// The reasons that healthz names. Their texts are public, so they name no file.
var (
	errHeld       = errors.New("deletions are held")
	errUnreadable = errors.New("parts of the folder cannot be read")
	errDamaged    = errors.New("the state is damaged")
	errHidden     = errors.New("the website refuses visitors too many of the listed pages, or distrusts the header that names one: the set is not shown")
)

// howToShow follows errHidden and the name of the header in the answer of healthz. It needs the
// rule that permits the address.
const howToShow = "either give --scan-as none, or an address and a header that the website trusts; or permit the address there, in nginx with \"%s\"; or, if the pages are private, run resourcesync confirm-deletions; docs/sidecar.md has rules for web servers\n"

// howToConfirm follows errHeld in the answer of healthz.
const howToConfirm = "resourcesync confirm-deletions publishes them; the status page has the numbers\n"

// releasePoll is the interval at which a scanner that holds deletions checks whether
// they may be published.
const releasePoll = 2 * time.Second

// keptTrouble returns a warning for the operator about missing files that stay
// listed, or nil if there are none.
func keptTrouble(k sqlstore.Kept) error {
	var held, unreadable error
	if k.Unreadable > 0 {
		unreadable = fmt.Errorf("%w: %d files stay listed as they were; the log names the places", errUnreadable, k.Unreadable)
	}
	switch {
	case k.Held == 0:
	case k.Confirmed:
		held = fmt.Errorf("%w: the next scan publishes those of %d resources, as confirmed", errHeld, k.Held)
	default:
		held = fmt.Errorf(`%w: %d resources are missing since %s, and not published as deleted; is a volume not mounted, or a sitemap incomplete? They are published as deleted %s, or at once after "resourcesync confirm-deletions"`,
			errHeld, k.Held, k.Since.Format(time.RFC3339), releaseTime(k))
	}
	return errors.Join(held, unreadable)
}

// releaseTime states when deletions are published without a confirmation.
func releaseTime(k sqlstore.Kept) string {
	if k.Until.IsZero() {
		return "when they are confirmed"
	}
	return "at " + k.Until.Format(time.RFC3339) + " if none of them comes back"
}

// logKept logs the number of missing files that stay listed when it changes.
func (s *scanner) logKept(ctx context.Context, result resourcesync.ScanResult) {
	var before resourcesync.ScanResult
	if s.last.Load() != nil {
		before = s.last.Load().result
	}
	if result.Unreadable != before.Unreadable {
		level := slog.LevelError
		if result.Unreadable == 0 {
			level = slog.LevelInfo
		}
		s.log.Log(ctx, level, "files that cannot be read stay listed as they were", "files", result.Unreadable)
	}
	switch {
	case result.Held == before.Held:
	case result.Held > 0:
		kept, err := s.kept(ctx)
		if err != nil {
			return // the next scan fails in the same way
		}
		s.log.Error("deletions are held: too many files are missing", "files", result.Held, "of", result.Held+result.Created+result.Updated+result.Unchanged,
			"published", releaseTime(kept), "confirm", "resourcesync confirm-deletions")
	default:
		s.log.Info("deletions are no longer held", "deleted", result.Deleted, "came_back", max(0, before.Held-result.Deleted))
	}
}

// awaitRelease signals woken when the deletions held by the last scan may be published.
func (s *scanner) awaitRelease(ctx context.Context, woken chan<- struct{}) {
	for background.Sleep(ctx, releasePoll) == nil {
		if last := s.last.Load(); last == nil || last.result.Held == 0 {
			continue
		}
		kept, err := s.kept(ctx)
		if err == nil && (kept.Confirmed || !kept.Until.IsZero() && !time.Now().Before(kept.Until)) {
			background.Signal(woken)
		}
	}
}
