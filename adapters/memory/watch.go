package memory

import "context"

// Watch implements [resourcesync.Watcher]. It calls wake from its own goroutine,
// once to begin with and then after changes; one call may stand for several of
// them. It returns only when ctx is done, with its error.
func (s *Set) Watch(ctx context.Context, wake func()) error {
	return s.changed.Listen(ctx, wake)
}
