package resourcesync

import "errors"

// ErrNotReady means that a provider has no data yet, for example because the first
// scan of its folder has not ended. Over HTTP it becomes 503 with Retry-After, never
// an empty list.
var ErrNotReady = errors.New("resourcesync: not ready yet")
