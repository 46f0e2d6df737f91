package pushlog

import (
	"container/heap"
	"slices"
	"time"
)

// A memoryWait is a subscription that can be claimed, and the time since when it waits.
type memoryWait struct {
	since time.Time
	sub   *memorySubscription
}

func (w memoryWait) compare(o memoryWait) int {
	if c := w.since.Compare(o.since); c != 0 {
		return c
	}
	return int(w.sub.ID - o.sub.ID)
}

// longest keeps the max subscriptions that have waited longest, in a heap with the
// shortest wait on top.
type longest struct {
	max   int
	waits []memoryWait
}

func (l *longest) add(w memoryWait) {
	switch {
	case len(l.waits) < l.max:
		heap.Push(l, w)
	case l.max > 0 && w.compare(l.waits[0]) < 0:
		l.waits[0] = w
		heap.Fix(l, 0)
	}
}

func (l *longest) sorted() []memoryWait {
	slices.SortFunc(l.waits, memoryWait.compare)
	return l.waits
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (l *longest) Len() int           { return len(l.waits) }
func (l *longest) Less(i, j int) bool { return l.waits[i].compare(l.waits[j]) > 0 }
func (l *longest) Swap(i, j int)      { l.waits[i], l.waits[j] = l.waits[j], l.waits[i] }
func (l *longest) Push(x any)         { l.waits = append(l.waits, x.(memoryWait)) }
func (l *longest) Pop() any           { panic("pushlog: Pop is not supported") }
