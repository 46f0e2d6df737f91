package sitemap

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/background"
)

// A rotation is the progress of visiting all pages in turn. Pages are visited in the
// order of their keys, so the next page is the one whose last visit is the oldest.
type rotation struct {
	Listed   string    `json:"listed"`          // the last visited key of the listed pages
	Withheld string    `json:"withheld"`        // the last visited key of the withheld pages
	Began    time.Time `json:"began"`           // the beginning of the current round
	Before   time.Time `json:"before,omitzero"` // the beginning of the previous round
}

const rotationFile = "rotation.json"

const (
	// saveEvery is the number of visits after which the rotation is saved.
	saveEvery = 50

	// emptyPause is the pause after a round without pages: the first scan may not
	// have listed any yet.
	emptyPause = 5 * time.Second

	// retryRound is the pause after an interrupted round.
	retryRound = time.Second
)

// revisit visits all pages in turn, at a limited rate, until ctx is done.
func (s *Site) revisit(ctx context.Context) {
	at := s.loadRotation()
	for ctx.Err() == nil {
		s.mu.Lock()
		s.status.Oldest = at.Before
		s.mu.Unlock()
		visited, err := s.round(ctx, s.set, &at.Listed, &at)
		if err == nil {
			var more int
			more, err = s.round(ctx, s.withheld, &at.Withheld, &at)
			visited += more
		}
		if err != nil { // the set is not ready, or cannot be read
			background.Sleep(ctx, retryRound)
			continue
		}
		at = rotation{Began: time.Now(), Before: at.Began}
		s.saveRotation(&at)
		if visited == 0 && background.Sleep(ctx, emptyPause) != nil {
			break
		}
	}
	s.saveRotation(&at)
}

// revisitAll requests all listed pages once, at [Options.Rate], updates the set, and has it scanned.
// It is for pages that nothing else requests, because Options.Revisit is negative.
func (s *Site) revisitAll(ctx context.Context) error {
	after := ""
	_, err := s.round(ctx, s.set, &after, nil)
	s.hints.wake()
	return err
}

// round visits the pages of a set after the key *after, and advances the key. An error
// means that it did not reach the end. If at is nil, the round is not part of the rotation.
func (s *Site) round(ctx context.Context, set resourcesync.Provider, after *string, at *rotation) (visited int, err error) {
	for {
		var pages []page
		for r, err := range set.Resources(ctx, resourcesync.Range{From: *after + "\x00"}) {
			if err != nil {
				return visited, err
			}
			if u, ok := s.urlOf(r); ok {
				pages = append(pages, page{key: r.Key, uri: u})
			}
			if len(pages) == saveEvery {
				break
			}
		}
		if len(pages) == 0 {
			return visited, nil
		}
		for _, p := range pages {
			if at != nil {
				if err := s.revisits.Wait(ctx); err != nil {
					return visited, err
				}
			}
			if err := ctx.Err(); err != nil {
				return visited, err
			}
			s.recheck(ctx, p, false, always)
			*after = p.key
			visited++
		}
		if at != nil {
			s.saveRotation(at)
		}
	}
}

func (s *Site) loadRotation() rotation {
	var kept rotation
	if s.copies.load(rotationFile, &kept) && !kept.Began.IsZero() {
		return kept
	}
	return rotation{Began: time.Now()}
}

// saveRotation saves the progress of visits. Only revisit calls it. Failures in a row are one line.
func (s *Site) saveRotation(at *rotation) {
	err := s.copies.save(rotationFile, at)
	switch {
	case err != nil && !s.unsaved:
		s.log.Warn("the progress of visits is not saved", "error", err)
	case err == nil && s.unsaved:
		s.log.Info("the progress of visits is saved again")
	}
	s.unsaved = err != nil
}
