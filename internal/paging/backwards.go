package paging

import (
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// MaxSpan is the maximum number of changes that [Backwards] reads at once.
const MaxSpan = 1000

// A Span is the changes of an interval, in chronological order. If Partial is true, the
// interval has more than [MaxSpan] changes with the same datetime, and Changes has the first
// of them.
type Span struct {
	Interval resourcesync.Interval
	Changes  []resourcesync.Change
	Partial  bool
}

// Backwards yields the changes of a journal in iv in adjacent spans, the newest span first,
// although a journal can be read forwards only. changes reads an interval of it. newest is
// the datetime of the newest change or, if that is unknown, the current time.
//
// The spans grow and shrink with the density of the journal: the cost depends on the number
// of changes that are yielded, and hardly on the length of the journal.
func Backwards(changes func(resourcesync.Interval) iter.Seq2[resourcesync.Change, error], iv resourcesync.Interval, newest time.Time) iter.Seq2[Span, error] {
	const (
		forever  = 30 * 365 * 24 * time.Hour // more is not worth a separate span
		shortest = time.Microsecond
	)
	return func(yield func(Span, error) bool) {
		end, length := newest, time.Minute
		if !iv.Until.IsZero() {
			end = iv.Until
		}
		for {
			s := Span{Interval: resourcesync.Interval{From: end.Add(-length), Until: iv.Until}}
			if length >= forever || !s.Interval.From.After(iv.From) {
				s.Interval.From = iv.From
			}
			if err := s.read(changes); err != nil {
				yield(Span{}, err)
				return
			}
			if s.Partial && length > shortest {
				length = max(length/16, shortest)
				continue
			}
			if !yield(s, nil) || s.Interval.From.Equal(iv.From) {
				return
			}
			iv.Until, end = s.Interval.From, s.Interval.From
			if len(s.Changes) < MaxSpan/8 {
				length = min(length*8, forever)
			}
		}
	}
}

// read reads the changes of s.
func (s *Span) read(changes func(resourcesync.Interval) iter.Seq2[resourcesync.Change, error]) error {
	for c, err := range changes(s.Interval) {
		if err != nil {
			return err
		}
		if len(s.Changes) == MaxSpan {
			s.Partial = true
			break
		}
		s.Changes = append(s.Changes, c)
	}
	return nil
}
