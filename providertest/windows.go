package providertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

var windowRules = []rule{
	{"Windows/contiguous", windower, windowsContiguous},
	{"Windows/size", windower, windowsSize},
	{"Windows/closed", windower | editing, windowsClosed},
}

var windowSizes = []int{1, 2, 3, 10, rsxml.MaxEntries}

func (s *subject) windows(ctx context.Context, max int) ([]resourcesync.Interval, error) {
	windows, err := s.windower.Windows(ctx, max)
	if err != nil {
		return nil, fmt.Errorf("Windows(%d): %w", max, err)
	}
	return windows, nil
}

// contiguous: the first window begins at Since, each of the others where the previous one
// ends, and only the last is open.
func windowsContiguous(ctx context.Context, s *subject) error {
	since, err := s.changer.Since(ctx)
	if err != nil {
		return fmt.Errorf("Since: %w", err)
	}
	for _, max := range windowSizes {
		windows, err := s.windows(ctx, max)
		if err != nil {
			return err
		}
		next := since
		for i, iv := range windows {
			switch {
			case !iv.From.Equal(next):
				return fmt.Errorf("windows of %d: window %d begins at %s, expected %s", max, i+1, timeText(iv.From), timeText(next))
			case iv.Open() != (i == len(windows)-1):
				return fmt.Errorf("windows of %d: window %d of %d is %s", max, i+1, len(windows), intervalText(iv))
			case !iv.Open() && !iv.From.Before(iv.Until):
				return fmt.Errorf("windows of %d: window %d is %s", max, i+1, intervalText(iv))
			}
			next = iv.Until
		}
		if len(windows) == 0 {
			return fmt.Errorf("windows of %d: there is no window, expected an open one", max)
		}
	}
	return nil
}

// size: no window has more than max changes.
func windowsSize(ctx context.Context, s *subject) error {
	for _, max := range windowSizes {
		windows, err := s.windows(ctx, max)
		if err != nil {
			return err
		}
		for _, iv := range windows {
			changes, err := s.listInterval(ctx, iv)
			if err != nil {
				return err
			}
			if len(changes) > max {
				return fmt.Errorf("windows of %d: window %s has %d changes", max, intervalText(iv), len(changes))
			}
		}
	}
	return nil
}

// closed: a closed window keeps its interval and gets no more changes.
func windowsClosed(ctx context.Context, s *subject) error {
	const max = 2
	type closed struct {
		window  resourcesync.Interval
		changes []resourcesync.Change
	}
	look := func() (all []closed, err error) {
		windows, err := s.windows(ctx, max)
		if err != nil {
			return nil, err
		}
		for _, iv := range windows {
			if iv.Open() {
				continue
			}
			changes, err := s.listInterval(ctx, iv)
			if err != nil {
				return nil, err
			}
			all = append(all, closed{iv, changes})
		}
		return all, nil
	}
	before, err := look()
	if err != nil {
		return err
	}
	return s.live(ctx, func(edit) error {
		after, err := look()
		if err != nil {
			return err
		}
		since, err := s.changer.Since(ctx)
		if err != nil {
			return fmt.Errorf("Since: %w", err)
		}
		for _, b := range before {
			if b.window.From.Before(since) {
				continue
			}
			i := slices.IndexFunc(after, func(a closed) bool {
				return a.window.From.Equal(b.window.From) && a.window.Until.Equal(b.window.Until)
			})
			if i < 0 {
				return fmt.Errorf("the closed window %s has disappeared", intervalText(b.window))
			}
			if err := difference(after[i].changes, b.changes, sameChange, changeTitle); err != nil {
				return fmt.Errorf("the closed window %s has changed: %w", intervalText(b.window), err)
			}
		}
		before = after
		return nil
	})
}
