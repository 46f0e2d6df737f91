package memory

import "context"

// Watch implements [resourcesync.Watcher]. It calls wake in this goroutine: first at once,
// then after changes. Several changes may lead to a single call. It returns the error of
// ctx when ctx is done.
func (s *Set) Watch(ctx context.Context, wake func()) error {
	return s.changed.Listen(ctx, wake)
}
