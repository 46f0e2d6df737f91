// Package leaktest finds goroutines that have not ended. It counts those that a function
// has started, directly or through others, so goroutines of the rest of the process do
// not matter.
package leaktest

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"time"
)

// A Group is the goroutines that one call of [Run] has started.
type Group struct{ mark []byte }

const key = "leak"

var groups atomic.Int64

// Run calls f and returns the group of the goroutines that f has started.
func Run(ctx context.Context, f func(ctx context.Context)) Group {
	// Goroutines inherit the labels of the one that starts them.
	label := strconv.FormatInt(groups.Add(1), 10)
	pprof.Do(ctx, pprof.Labels(key, label), f)
	return Group{strconv.AppendQuote(append(strconv.AppendQuote(nil, key), ':'), label)}
}

// Left returns how many goroutines of the group have not ended.
func (g Group) Left() int {
	var b bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&b, 1) // a Buffer cannot fail
	// Goroutines with the same stack and labels are counted together: their number
	// and stack, and on the next line their labels.
	total, last := 0, 0
	for line := range bytes.Lines(b.Bytes()) {
		if number, _, found := bytes.Cut(line, []byte(" @ ")); found {
			last, _ = strconv.Atoi(string(number))
		} else if bytes.HasPrefix(line, []byte("# labels: ")) && bytes.Contains(line, g.mark) {
			total += last
		}
	}
	return total
}

// Wait waits until at most some goroutines of the group are left, for at most d. It
// returns how many are left.
func (g Group) Wait(some int, d time.Duration) int {
	deadline := time.Now().Add(d)
	for pause := time.Millisecond; ; pause *= 2 {
		n := g.Left()
		rest := time.Until(deadline)
		if n <= some || rest <= 0 {
			return n
		}
		time.Sleep(min(pause, rest))
	}
}
