// Package health remembers what work in the background fails, for those who ask how
// it is.
package health

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Failures are the works that fail, by their names, each with its last error. The
// zero value has none. It is safe for concurrent use.
type Failures struct {
	mu   sync.Mutex
	last map[string]error
}

// Failed notes that the work of that name has failed with err, which is not nil. It
// reports whether that is news: the work has succeeded before, or failed in another
// way.
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

// Succeeded notes that the work of that name has succeeded, and reports whether that
// is news: it has failed before.
func (f *Failures) Succeeded(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, failed := f.last[name]
	delete(f.last, name)
	return failed
}

// Forget drops all failures, of work that somebody else does from now on.
func (f *Failures) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.last)
}

// Of returns the last error of the work of that name, nil if it does not fail.
func (f *Failures) Of(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last[name]
}

// Err returns the last errors of all work that fails, joined in the order of the
// names, each with the names of the package pkg and of the work before it. It is nil
// if none fails.
func (f *Failures) Err(pkg string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []error
	for _, name := range slices.Sorted(maps.Keys(f.last)) {
		all = append(all, fmt.Errorf("%s: %s: %w", pkg, name, f.last[name]))
	}
	return errors.Join(all...)
}
