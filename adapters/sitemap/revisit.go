package sitemap

import (
	"context"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A rotation is the progress of the visits to all pages in turn. Pages are visited
// in the order of their keys, so the next page is always the one visited longest
// ago.
type rotation struct {
	Listed   string    `json:"listed"`            // the last key visited of the pages that are listed
	Withheld string    `json:"withheld"`          // and of those that are withheld
	Began    time.Time `json:"began"`             // the round under way
	Before   time.Time `json:"before,omitzero"`   // when the round before it began
	Finished time.Time `json:"finished,omitzero"` // and when that ended
}

const rotationFile = "rotation.json"

const (
	// keepEvery is how many visits are made between two writings of the rotation.
	keepEvery = 50

	// emptyPause is the pause after a round that found no pages: the first scan
	// may not have listed any yet.
	emptyPause = 5 * time.Second

	// retryRound is how long a round that was interrupted waits.
	retryRound = time.Second
)

// revisit visits all pages in turn, at a bounded rate, until ctx is done.
func (s *Site) revisit(ctx context.Context) {
	at := s.loadRotation()
	for ctx.Err() == nil {
		s.noteOldest(at.Before)
		visited, err := s.round(ctx, s.set, &at.Listed, &at)
		if s.options.Withheld != nil && err == nil {
			var more int
			more, err = s.round(ctx, s.options.Withheld, &at.Withheld, &at)
			visited += more
		}
		if err != nil { // the set is not ready, or cannot be read
			sleep(ctx, retryRound)
			continue
		}
		at = rotation{Began: time.Now(), Before: at.Began}
		s.saveRotation(&at)
		if visited == 0 && !sleep(ctx, emptyPause) {
			break
		}
	}
	s.saveRotation(&at)
}

// round visits the pages of a set after a key, and advances the key. An error means
// that it has not reached the end.
func (s *Site) round(ctx context.Context, set resourcesync.Provider, after *string, at *rotation) (visited int, err error) {
	for {
		var pages []page
		for r, err := range set.Resources(ctx, resourcesync.Range{From: *after + "\x00"}) {
			if err != nil {
				return visited, err
			}
			if u, err := url.Parse(r.URI); err == nil {
				pages = append(pages, page{key: r.Key, uri: u})
			}
			if len(pages) == keepEvery {
				break
			}
		}
		if len(pages) == 0 {
			return visited, nil
		}
		for _, p := range pages {
			if err := s.revisits.Wait(ctx); err != nil {
				return visited, err
			}
			s.lookAgain(ctx, p, false, always)
			*after = p.key
			visited++
		}
		s.saveRotation(at)
	}
}

func (s *Site) noteOldest(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Oldest = t
}

func (s *Site) loadRotation() rotation {
	at := rotation{Began: time.Now()}
	if s.copies == nil {
		return at
	}
	b, err := os.ReadFile(filepath.Join(s.copies.folder, rotationFile))
	var kept rotation
	if err == nil && json.Unmarshal(b, &kept) == nil && !kept.Began.IsZero() {
		return kept
	}
	return at
}

func (s *Site) saveRotation(at *rotation) {
	if s.copies == nil {
		return
	}
	b, err := json.Marshal(at)
	if err == nil {
		tmp := filepath.Join(s.copies.folder, rotationFile+".new")
		if err = os.WriteFile(tmp, b, 0o600); err == nil {
			err = os.Rename(tmp, filepath.Join(s.copies.folder, rotationFile))
		}
	}
	if err != nil {
		s.log.Warn("how far the visits have come is not kept", "error", err)
	}
}
