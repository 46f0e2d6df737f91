package sitemap

import (
	"context"
	"time"
)

// followConfirmed confirms held deletions if they are not more than those of pages that the website
// refuses strangers; withdrawn of these left the lists before the set was hidden. It reports whether
// all pages have been requested since the set was shown again, and the deletions published.
func (s *Site) followConfirmed(ctx context.Context, hidden bool, withdrawn int64) (done bool, err error) {
	if hidden {
		return false, nil
	}
	f := &s.follows
	if f.shownSince.IsZero() {
		f.shownSince = time.Now()
	}
	kept, err := s.set.Kept(ctx)
	if err != nil {
		return false, err
	}
	if kept.Held > 0 && !kept.Confirmed && kept.Held <= s.Status().Refused+withdrawn {
		_, err = s.set.ConfirmDeletions(ctx)
		return false, err
	}
	if f.visited.IsZero() {
		if err := s.followVisits(ctx); err != nil {
			return false, err
		}
	}
	if done = !f.visited.IsZero() && !kept.Confirmed && s.scannedFrom().After(f.visited); done {
		f.shownSince, f.visited = time.Time{}, time.Time{}
	}
	return done, nil
}

// followVisits notes when all pages have been requested since the set was shown again. If
// Options.Revisit is negative, it has them requested.
func (s *Site) followVisits(ctx context.Context) error {
	f := &s.follows
	switch {
	case s.options.Revisit > 0:
		if s.Status().Oldest.After(f.shownSince) {
			f.visited = time.Now()
		}
	case f.round == nil:
		round := make(chan error, 1)
		go func() { round <- s.revisitAll(ctx) }()
		f.round = round
	default:
		select {
		case err := <-f.round:
			if f.round = nil; err != nil {
				return err
			}
			f.visited = time.Now()
		default:
		}
	}
	return nil
}
