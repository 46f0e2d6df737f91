package partition

import (
	"slices"
	"time"
)

// A Span is a span of time in microseconds since 1970: From is included, Until is not.
// A page of an archive is a span whose length is a power of two and that begins at a
// multiple of it. A page that has become too long is halved, and no other page moves.
type Span struct{ From, Until int64 }

// endOfTime is in the year 2112. Later times count as just before it.
const endOfTime = 1 << 52

// AllTime is the span of all times.
var AllTime = Span{0, endOfTime}

// Micros returns t in microseconds since 1970, as a time in AllTime.
func Micros(t time.Time) int64 { return min(max(t.UnixMicro(), 0), endOfTime-1) }

// Spans divides the documents of an archive into pages of at most max documents. times
// are the times of the documents, in ascending order and all in the span in. A page of
// one microsecond may have more documents. No page is empty.
func Spans(times []int64, in Span, max int) []Span {
	switch {
	case len(times) == 0:
		return nil
	case len(times) <= max || in.Until-in.From == 1:
		return []Span{in}
	}
	middle := (in.From + in.Until) / 2
	i, _ := slices.BinarySearch(times, middle)
	return append(Spans(times[:i], Span{in.From, middle}, max), Spans(times[i:], Span{middle, in.Until}, max)...)
}
