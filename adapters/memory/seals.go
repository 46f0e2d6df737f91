package memory

import (
	"context"
	"slices"
	"time"
)

// Seals implements [resourcesync.Sealer].
func (s *Set) Seals(ctx context.Context, after time.Time) (ends []time.Time, err error) {
	if _, err := s.view(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.seals {
		if end := moment(at); end.After(after) {
			ends = append(ends, end)
		}
	}
	return ends, nil
}

// Seal implements [resourcesync.Sealer].
func (s *Set) Seal(_ context.Context, newest time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	journal := s.state.journal
	if n := len(journal); n == 0 || !moment(journal[n-1].At).Equal(newest) || slices.Contains(s.seals, newest.UnixMicro()) {
		return nil
	}
	s.seals = slices.DeleteFunc(s.seals, func(at int64) bool { return at <= s.state.since })
	s.seals = append(s.seals, newest.UnixMicro())
	return nil
}
