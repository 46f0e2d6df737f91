package memory

import "context"

// Watch implements [resourcesync.Watcher]. It calls wake from its own goroutine,
// once to begin with and then after changes; one call may stand for several of
// them. It returns only when ctx is done, with its error.
func (s *Set) Watch(ctx context.Context, wake func()) error {
	changed := make(chan struct{}, 1)
	changed <- struct{}{} // for what changed before the set knew of this watcher

	s.mu.Lock()
	s.watchers[changed] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, changed)
		s.mu.Unlock()
	}()

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			wake()
		}
	}
}

// wake tells the watchers of a change. One who has not taken up the last news
// will find this in it too.
func (s *Set) wake() {
	for changed := range s.watchers {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}
