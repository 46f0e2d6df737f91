package scan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// The errors that the errors of [Set.Health] wrap. Their texts name nothing that the public
// must not know.
var (
	ErrHeld       = errors.New("deletions are held")
	ErrUnreadable = errors.New("parts of the set cannot be read")
	ErrHidden     = errors.New("the set is not shown")
)

// Health returns the errors that keep the set from being shown or up to date, or nil: that the
// last scan has failed, held deletions or could not read everything, that the origin is in
// trouble or hides the set, and that its identity cannot be recorded.
func (s *Set) Health(ctx context.Context) error {
	var all []error
	if failed := s.unrecorded.Load(); failed != nil {
		all = append(all, fmt.Errorf("the origin of the set cannot be recorded: %w", *failed))
	}
	all = append(all, s.scanError())
	if h, ok := s.origin.(Healther); ok {
		all = append(all, h.Health())
	}
	if s.hider != nil {
		if hidden := s.hider.Hidden(); hidden != nil {
			all = append(all, fmt.Errorf("%w: %w", ErrHidden, hidden))
		}
	}
	kept, err := s.stored.Kept(ctx)
	if err == nil {
		err = errors.Join(kept.heldErr(s.options.Question, s.options.Confirm), kept.unreadableErr(s.unreadable.Load()))
	}
	return errors.Join(append(all, err)...)
}

// scanError returns the error of the last complete scan, or nil.
func (s *Set) scanError() error {
	if last := s.last.Load(); last != nil {
		return last.Err
	}
	return nil
}

// Err returns an error that wraps [ErrHeld] or [ErrUnreadable] if the last scan has kept missing
// resources, or nil. question is what an operator should check first, and confirm says how
// deletions are confirmed, as in [Options].
func (k Kept) Err(question, confirm string) error {
	return errors.Join(k.heldErr(question, confirm), k.unreadableErr(nil))
}

// heldErr returns an error that wraps [ErrHeld] if deletions are held, or nil.
func (k Kept) heldErr(question, confirm string) error {
	switch {
	case k.Held == 0:
		return nil
	case k.Confirmed:
		return fmt.Errorf("%w: the next scan publishes the confirmed deletions of %s resources", ErrHeld, humanize.Comma(k.Held))
	}
	return fmt.Errorf(`%w: %s resources have been missing since %s, and are not published as deleted. %s They are published as deleted %s, or at once after %q`,
		ErrHeld, humanize.Comma(k.Held), timetext.Of(k.Since), question, k.Release(), confirm)
}

// Release states when held deletions are published without a confirmation.
func (k Kept) Release() string {
	if k.Until.IsZero() {
		return "when they are confirmed"
	}
	return "at " + timetext.Of(k.Until) + " if none of them comes back"
}

// logKept logs the number of missing resources that stay listed when it changes.
func (s *Set) logKept(ctx context.Context, result resourcesync.ScanResult) {
	var before resourcesync.ScanResult
	if last := s.last.Load(); last != nil {
		before = last.ScanResult
	}
	if result.Unreadable != before.Unreadable {
		level := slog.LevelError
		if result.Unreadable == 0 {
			level = slog.LevelInfo
		}
		s.log.Log(ctx, level, "resources that cannot be read stay listed as they were", "resources", result.Unreadable)
	}
	switch {
	case result.Held == before.Held:
	case result.Held > 0:
		kept, err := s.stored.Kept(ctx)
		if err != nil {
			return // the next scan fails in the same way
		}
		s.log.Error("deletions are held: too many resources are missing", "resources", result.Held, "of", result.Held+result.Created+result.Updated+result.Unchanged,
			"published", kept.Release(), "confirm", s.options.Confirm)
	default:
		s.log.Info("deletions are no longer held", "deleted", result.Deleted, "came_back", max(0, before.Held-result.Deleted))
	}
}

// awaitRelease has the set scanned when the held deletions may be published, until ctx ends.
// Another process may have confirmed them.
func (s *Set) awaitRelease(ctx context.Context) {
	for background.Sleep(ctx, releasePoll) == nil {
		if last := s.last.Load(); last == nil || last.Held == 0 {
			continue
		}
		kept, err := s.stored.Kept(ctx)
		if err == nil && (kept.Confirmed || !kept.Until.IsZero() && !time.Now().Before(kept.Until)) {
			s.Scan()
		}
	}
}
