package sitemap

import "time"

// tallyPeriod is the time for which a refusal counts at least; at most, it counts twice as long. A
// website that makes a page private now and then does not add up to one that distrusts the headers.
const tallyPeriod = time.Hour

// A tally counts the refusals of the last one to two periods.
type tally struct {
	now, before int64     // in this period and in the previous one
	since       time.Time // the beginning of this period
}

func (t *tally) count(at time.Time) int64 {
	switch elapsed := at.Sub(t.since); {
	case elapsed >= 2*tallyPeriod:
		*t = tally{since: at}
	case elapsed >= tallyPeriod:
		*t = tally{before: t.now, since: t.since.Add(tallyPeriod)}
	}
	return t.now + t.before
}

func (t *tally) add(at time.Time) {
	t.count(at)
	t.now++
}
