// Package health keeps the last error of each background task, and tells new errors
// from repeated ones.
package health

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// Log records the result of the named task. It logs the first of successive failures with
// the message failing, and their end with the message works.
func (f *Failures) Log(ctx context.Context, log *slog.Logger, name string, err error, failing, works string) {
	switch {
	case err != nil && f.Failed(name, err):
		log.LogAttrs(ctx, slog.LevelError, failing, slog.String("work", name), slog.Any("error", err))
	case err == nil && f.Succeeded(name):
		log.LogAttrs(ctx, slog.LevelInfo, works, slog.String("work", name))
	}
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

// Totals is a struct of counters, such as those of a status. The zero value is ready for
// use. It is safe for concurrent use.
type Totals[T any] struct {
	mu     sync.Mutex
	totals T
}

// Count changes the counters by f, which must not block.
func (t *Totals[T]) Count(f func(*T)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(&t.totals)
}

// Load returns the counters.
func (t *Totals[T]) Load() T {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.totals
}

const (
	// maxLines is the maximum number of log lines of a round.
	maxLines = 10

	// maxSeen is the maximum number of names remembered for the next round.
	maxSeen = 1000
)

// Rounds tells new problems from known ones in a repeated task, such as a scan that
// skips the same files every time. The zero value is ready for use. It is safe for
// concurrent use.
type Rounds struct {
	mu   sync.Mutex
	last *Round
}

// Begin begins a round.
func (r *Rounds) Begin() *Round {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &Round{rounds: r, before: r.last, seen: map[string]string{}}
}

// News counts a problem that is found between two complete rounds, as if the earlier one
// had had it, and reports whether to log it. Before the first round is complete, it
// reports false.
func (r *Rounds) News(name, text string) bool {
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if last == nil || last.knows(name, text) {
		return false
	}
	last.mu.Lock()
	defer last.mu.Unlock()
	if _, again := last.seen[name]; !again {
		last.total++
	}
	last.remember(name, text)
	last.after++
	return last.after <= maxLines
}

// A Round is one run of the task. It is safe for concurrent use.
type Round struct {
	rounds *Rounds
	before *Round // the last complete round, or nil

	mu    sync.Mutex
	seen  map[string]string // name to text, for the first maxSeen names
	total int
	lines int
	after int // lines logged after the end, by News of the rounds
}

// News counts a problem and reports whether to log it: whether the previous round did
// not have it with this name and text, and this round has not logged maxLines lines.
func (r *Round) News(name, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	r.remember(name, text)
	if r.lines == maxLines || r.before != nil && r.before.knows(name, text) {
		return false
	}
	r.lines++
	return true
}

func (r *Round) remember(name, text string) {
	if _, again := r.seen[name]; again || len(r.seen) < maxSeen {
		r.seen[name] = text
	}
}

// knows reports whether the round has had this problem, or may have had it and not
// remembered it.
func (r *Round) knows(name, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.seen[name]
	return ok && known == text || !ok && r.total > len(r.seen)
}

// count returns the number of problems.
func (r *Round) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// End ends a complete round. It returns the number of problems and whether to log that
// number: whether it is smaller than in the previous round, or has grown by more than the
// logged lines explain.
func (r *Round) End() (total int, news bool) {
	r.rounds.mu.Lock()
	defer r.rounds.mu.Unlock()
	before := 0
	if r.before != nil {
		before = r.before.count()
	}
	r.before = nil
	r.rounds.last = r
	total = r.count()
	return total, total < before || total > before+r.lines
}
