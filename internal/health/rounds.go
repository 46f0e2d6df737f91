package health

import "sync"

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

// A Round is one run of the task. It is safe for concurrent use.
type Round struct {
	rounds *Rounds
	before *Round // the last complete round, or nil

	mu    sync.Mutex
	seen  map[string]string // name to text, for the first maxSeen names
	total int
	lines int
}

// News counts a problem and reports whether to log it: whether the previous round did
// not have it with this name and text, and this round has not logged maxLines lines.
func (r *Round) News(name, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	if len(r.seen) < maxSeen {
		r.seen[name] = text
	}
	if r.before != nil {
		known, ok := r.before.seen[name]
		// The previous round may have had it, but not remembered it.
		if ok && known == text || !ok && r.before.total > len(r.before.seen) {
			return false
		}
	}
	if r.lines == maxLines {
		return false
	}
	r.lines++
	return true
}

// End ends a complete round. It returns the number of problems and whether to log that
// number: whether it is smaller than that of the previous round, or has grown by more
// than the logged lines explain.
func (r *Round) End() (total int, news bool) {
	r.rounds.mu.Lock()
	defer r.rounds.mu.Unlock()
	before := 0
	if r.before != nil {
		before = r.before.total
	}
	r.before = nil
	r.rounds.last = r
	return r.total, r.total < before || r.total > before+r.lines
}
