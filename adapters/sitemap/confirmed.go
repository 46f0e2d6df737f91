package sitemap

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// followConfirmed confirms held deletions if there are at most as many as pages that the website
// refuses strangers. It reports whether all pages have been requested since the set was shown again,
// and the deletions published.
func (s *Site) followConfirmed(ctx context.Context, hidden bool, known refusals) (done bool, err error) {
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
	if kept.Held > 0 && !kept.Confirmed {
		if time.Since(f.counted) < countRest*f.counting {
			return false, nil
		}
		refused, err := s.refusedSince(ctx, known.Confirmed.Add(-clockSkew))
		if err != nil {
			return false, err
		}
		if kept.Held <= refused+known.Withdrawn {
			_, err = s.set.ConfirmDeletions(ctx)
			return false, err
		}
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

// clockSkew is a bound on the difference between the clocks of two processes with the same state.
const clockSkew = time.Minute

// countRest bounds the time in which withheld pages are counted: to a twentieth while more deletions
// are held than a confirmation covers.
const countRest = 19

// refusedSince returns how many pages have left the lists since t because the website refuses them to
// strangers. All processes with the state have withdrawn them, so the sum is in no process alone.
func (s *Site) refusedSince(ctx context.Context, t time.Time) (n int64, err error) {
	began := time.Now()
	for r, err := range s.withheld.Resources(ctx, resourcesync.Range{}) {
		if err != nil {
			return 0, err
		}
		if !parseStamp(r.Stamp).Refused.Before(t) {
			n++
		}
	}
	s.follows.counted = time.Now()
	s.follows.counting = time.Since(began)
	return n, nil
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
