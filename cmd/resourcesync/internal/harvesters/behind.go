package harvesters

import "time"

// A timeline has newest changes of a set, in the order in which they were seen. They show when a
// harvester began to lack a change.
type timeline []time.Time

const (
	// maxTimeline is the maximum number of times of a timeline, and timelineStep the smallest time
	// between two, but for the last.
	maxTimeline  = 1500
	timelineStep = time.Minute
)

// last returns the newest change, or zero.
func (t timeline) last() time.Time {
	if len(t) == 0 {
		return time.Time{}
	}
	return t[len(t)-1]
}

// add records the newest change of a set.
func (t *timeline) add(newest time.Time) {
	n := len(*t)
	switch {
	case !newest.After(t.last()):
		return
	case n > 1 && newest.Sub((*t)[n-2]) < timelineStep:
		(*t)[n-1] = newest
		return
	case n == maxTimeline:
		*t = append((*t)[:0], (*t)[1:]...)
	}
	*t = append(*t, newest)
}

// after returns the first recorded change after a time, or zero.
func (t timeline) after(read time.Time) time.Time {
	for _, at := range t {
		if at.After(read) {
			return at
		}
	}
	return time.Time{}
}

// See records the time of the newest change of a set.
func (l *Log) See(set string, newest time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest[set] == nil {
		l.newest[set] = new(timeline)
	}
	last := l.newest[set].last()
	if !newest.After(last) {
		return
	}
	l.newest[set].add(newest)
	for e := l.recent.Front(); e != nil; e = e.Next() {
		h := e.Value.(*Harvester)
		for _, p := range h.Sets {
			// The state needs the first change that a harvester lacks, and not the later ones.
			if p.Set == set && !p.Until.IsZero() && !p.Until.Before(last) && p.Until.Before(newest) {
				l.changed[h.key] = true
			}
		}
	}
}

// Lag returns the time for which a harvester has lacked a change of a set that it reads, and
// whether it is known. inSync means that it must have all recorded changes.
func (l *Log) Lag(h *Harvester, now time.Time) (lag time.Duration, known, inSync bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lag(h, now)
}

func (l *Log) lag(h *Harvester, now time.Time) (lag time.Duration, known, inSync bool) {
	inSync = true
	for _, p := range h.Sets {
		newest := l.newest[p.Set]
		if newest == nil || len(*newest) == 0 {
			continue
		}
		inSync = inSync && newest.after(p.Proven).IsZero()
		if p.Until.IsZero() {
			continue
		}
		known = true
		if lacks := newest.after(p.Until); !lacks.IsZero() {
			lag = max(lag, now.Sub(lacks), 1)
		}
	}
	return lag, known, known && inSync
}

// Behind returns the number of harvesters that have lacked a change for longer than a time.
func (l *Log) Behind(longer time.Duration) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.forget(now)
	for e := l.recent.Front(); e != nil; e = e.Next() {
		if lag, _, _ := l.lag(e.Value.(*Harvester), now); lag > longer {
			n++
		}
	}
	return n
}
