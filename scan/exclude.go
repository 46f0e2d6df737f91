package scan

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	excludeBatch = 1000             // excluded resources that are deleted at once
	excludeRead  = rsxml.MaxEntries // keys that are collected before their resources are deleted
)

// deleteExcluded deletes the resources that a new rule of the origin excludes, and records the
// rule. It returns their number. If it fails, the next scan begins again.
func (s *Set) deleteExcluded(ctx context.Context) (deleted int, err error) {
	x, ok := s.origin.(Excluder)
	if !ok || s.identity == nil {
		return 0, nil
	}
	recorded, err := Recorded(ctx, s.stored)
	if err != nil || recorded.Excluded == s.identity.Excluded {
		return 0, err
	}
	for after, more := "", true; more; {
		keys, err := s.excluded(ctx, x, after)
		if err != nil {
			return deleted, err
		}
		for batch := range slices.Chunk(keys, excludeBatch) {
			if err := s.stored.Delete(ctx, batch...); err != nil {
				return deleted, err
			}
			deleted += len(batch)
		}
		if more = len(keys) == excludeRead; more {
			after = keys[len(keys)-1]
		}
	}
	recorded.Excluded = s.identity.Excluded
	return deleted, recorded.record(ctx, s.stored)
}

// excluded returns the next keys of excluded resources after a key, up to excludeRead: a database may
// send many rows beyond the last one that is read, so the readings must be few. There are no keys
// before the first scan, which lists no excluded resources.
func (s *Set) excluded(ctx context.Context, x Excluder, after string) (keys []string, err error) {
	for r, err := range s.stored.Resources(ctx, resourcesync.Range{From: after}) {
		switch {
		case errors.Is(err, resourcesync.ErrNotReady):
			return nil, nil
		case err != nil:
			return nil, err
		case r.Key != after && x.Excludes(r.Key):
			if keys = append(keys, strings.Clone(r.Key)); len(keys) == excludeRead {
				return keys, nil
			}
		}
	}
	return keys, nil
}
