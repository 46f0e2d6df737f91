package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// The reasons that healthz names. Their texts are public, so they name no file.
var (
	errHeld       = errors.New("deletions are held")
	errUnreadable = errors.New("parts of the folder cannot be read")
	errDamaged    = errors.New("the state is damaged")
)

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
	tick := time.NewTicker(releasePoll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if last := s.last.Load(); last == nil || last.result.Held == 0 {
			continue
		}
		kept, err := s.kept(ctx)
		if err == nil && (kept.Confirmed || !kept.Until.IsZero() && !time.Now().Before(kept.Until)) {
			background.Signal(woken)
		}
	}
}
