package health

import "sync"

const (
	// maxLines is how many log lines a round may write.
	maxLines = 10

	// maxSeen is how many names of a round are remembered for the next.
	maxSeen = 1000
)

// Rounds distinguish new trouble from known trouble in repeated work, such as scans
// that skip the same files every time. The zero value knows none. It is safe for
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

// A Round is one pass of the work. It is safe for concurrent use.
type Round struct {
	rounds *Rounds
	before *Round // the last one that has ended; nil if there is none

	mu    sync.Mutex
	seen  map[string]string // the text for each name, of as many as are remembered
	total int
	lines int
}

// News counts trouble and reports whether to log it: the round before did not have
// it under this name and with this text, and not much has been logged in this one.
func (r *Round) News(name, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	if len(r.seen) < maxSeen {
		r.seen[name] = text
	}
	if r.before != nil {
		known, ok := r.before.seen[name]
		// The round before may have had it beyond its memory.
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

// End ends a round that was complete. It returns how often there was trouble, and
// whether to log that number: it is less than that of the round before, or the lines
// that were logged do not account for the rest.
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
