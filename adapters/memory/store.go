package memory

import (
	"context"
	"sync"

	"github.com/resourcesync-go/resourcesync/internal/stored"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Store keeps sets by name, for [scan.Into]. The zero value is an empty store. Its methods
// are safe for concurrent use.
type Store struct {
	// Options are the options of the sets. SetOptions is ignored.
	Options Options

	mu   sync.Mutex
	sets map[string]*Set
}

var _ scan.Store[*Set] = (*Store)(nil)

// Set implements [scan.Store]. All calls with one name return the same set, whose deletions
// are limited by the options of the last call. The error is always nil.
func (s *Store) Set(_ context.Context, name string, o *scan.SetOptions) (*Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if set := s.sets[name]; set != nil {
		set.limit(stored.Limits(o))
		return set, nil
	}
	opts := s.Options
	opts.SetOptions = scan.SetOptions{}
	if o != nil {
		opts.SetOptions = *o
	}
	if s.sets == nil {
		s.sets = map[string]*Set{}
	}
	set := New(&opts)
	s.sets[name] = set
	return set, nil
}
