package providertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var changeArchiveRules = []rule{
	{"ArchivedWindows/contiguous", changeArchiver | changer, archivedContiguous},
	{"ArchivedWindows/size", changeArchiver, archivedSize},
	{"ArchivedChanges/interval", changeArchiver, archivedInterval},
	{"ArchivedChanges/cancel", changeArchiver, archivedCancel},
}

func (s *subject) archivedWindows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	windows, err := s.changeArchiver.ArchivedWindows(ctx, max)
	if err != nil {
		return nil, fmt.Errorf("ArchivedWindows(%d): %w", max, err)
	}
	return windows, nil
}

func (s *subject) archivedChanges(ctx context.Context, iv resourcesync.Interval) ([]resourcesync.Change, error) {
	all, err := collect(s.changeArchiver.ArchivedChanges(ctx, iv), keepChange)
	if err != nil {
		return nil, fmt.Errorf("ArchivedChanges(%v): %w", intervalText(iv), err)
	}
	return all, nil
}

// contiguous: the first archived window begins at the Since of the archive, each of the
// others where the previous one ends, and all end before the journal begins.
func archivedContiguous(ctx context.Context, s *subject) error {
	stat, err := s.changeArchiver.StatArchive(ctx)
	if err != nil {
		return fmt.Errorf("StatArchive: %w", err)
	}
	since, err := s.changer.Since(ctx)
	if err != nil {
		return fmt.Errorf("Since: %w", err)
	}
	for _, max := range windowSizes {
		windows, err := s.archivedWindows(ctx, max)
		if err != nil {
			return err
		}
		next := stat.Since
		for i, iv := range windows {
			switch {
			case !iv.From.Equal(next):
				return fmt.Errorf("archived windows of %d: window %d begins at %s, expected %s", max, i+1, timeText(iv.From), timeText(next))
			case iv.Open() || !iv.From.Before(iv.Until):
				return fmt.Errorf("archived windows of %d: window %d is %s", max, i+1, intervalText(iv))
			case iv.Until.After(since):
				return fmt.Errorf("archived windows of %d: window %d is %s, but the journal begins at %s", max, i+1, intervalText(iv), timeText(since))
			}
			next = iv.Until
		}
	}
	return nil
}

// size: no archived window has more than max changes.
func archivedSize(ctx context.Context, s *subject) error {
	for _, max := range windowSizes {
		windows, err := s.archivedWindows(ctx, max)
		if err != nil {
			return err
		}
		for _, iv := range windows {
			changes, err := s.archivedChanges(ctx, iv)
			if err != nil {
				return err
			}
			if len(changes) > max {
				return fmt.Errorf("archived windows of %d: window %s has %d changes", max, intervalText(iv), len(changes))
			}
		}
	}
	return nil
}

// interval: archived changes are those in the interval, in chronological order.
func archivedInterval(ctx context.Context, s *subject) error {
	windows, err := s.archivedWindows(ctx, 10)
	if err != nil {
		return err
	}
	for _, iv := range windows {
		changes, err := s.archivedChanges(ctx, iv)
		if err != nil {
			return err
		}
		last := time.Time{}
		for _, c := range changes {
			if !iv.Contains(c.Datetime) || c.Datetime.Before(last) {
				return fmt.Errorf("ArchivedChanges(%v) yields %s at %s, after one at %s", intervalText(iv), changeTitle(c), timeText(c.Datetime), timeText(last))
			}
			last = c.Datetime
		}
	}
	return nil
}

// cancel: the iteration ends with the error of its context.
func archivedCancel(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.archivedChanges(ctx, resourcesync.Interval{}); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("after the end of the context: %v, expected its error", err)
	}
	return nil
}
