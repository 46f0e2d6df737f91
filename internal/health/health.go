// Package health keeps the last error of each background task, and tells new errors
// from repeated ones.
package health

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Failures holds the last error of each failing task, by the name of the task. The
// zero value is ready for use. It is safe for concurrent use.
type Failures struct {
	mu   sync.Mutex
	last map[string]error
}

// Failed records that the named task has failed with err, which must not be nil. It
// reports whether that is new: whether the task did not fail before, or failed with
// another text.
func (f *Failures) Failed(name string, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.last[name]
	if f.last == nil {
		f.last = map[string]error{}
	}
	f.last[name] = err
	return before == nil || before.Error() != err.Error()
}

// Succeeded records that the named task has succeeded. It reports whether that is
// new: whether the task failed before.
func (f *Failures) Succeeded(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, failed := f.last[name]
	delete(f.last, name)
	return failed
}

// Forget drops all failures, when another process takes over the tasks.
func (f *Failures) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.last)
}

// Of returns the last error of the named task, or nil if it does not fail.
func (f *Failures) Of(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last[name]
}

// Err joins the last errors of all failing tasks, in the order of their names. Each is
// prefixed with pkg, the name of a package, and the name of the task. Err returns nil
// if no task fails.
func (f *Failures) Err(pkg string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []error
	for _, name := range slices.Sorted(maps.Keys(f.last)) {
		all = append(all, fmt.Errorf("%s: %s: %w", pkg, name, f.last[name]))
	}
	return errors.Join(all...)
}
