package providertest

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strconv"
	"sync/atomic"
	"time"
)

// leaks runs f several times and returns an error if each has left a goroutine
// behind. A few goroutines that stay, such as those of a pool of connections,
// are none.
func (s *subject) leaks(ctx context.Context, f func(ctx context.Context)) error {
	const times = 16
	// Goroutines inherit the labels of the one that starts them, so that
	// they can be told from those of tests that run at the same time.
	label := strconv.FormatInt(labels.Add(1), 10)
	pprof.Do(ctx, pprof.Labels(labelKey, label), func(ctx context.Context) {
		for range times {
			f(ctx)
		}
	})
	deadline := time.Now().Add(s.opts.Wait)
	for pause := time.Millisecond; ; pause *= 2 {
		n, err := goroutines(label)
		switch {
		case err != nil:
			return err
		case n < times:
			return nil
		case !time.Now().Before(deadline):
			return fmt.Errorf("%d goroutines are left of %d iterations that were ended early", n, times)
		}
		time.Sleep(min(pause, time.Until(deadline)))
	}
}

const labelKey = "providertest"

var labels atomic.Int64

// goroutines returns how many goroutines have this label.
func goroutines(label string) (int, error) {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return 0, fmt.Errorf("the goroutines cannot be counted: %w", err)
	}
	// Goroutines that are alike come together: their number, their stack
	// and, on the line after, their labels.
	total, last := 0, 0
	mark := fmt.Appendf(nil, "%q:%q", labelKey, label)
	for line := range bytes.Lines(b.Bytes()) {
		if number, _, found := bytes.Cut(line, []byte(" @ ")); found {
			last, _ = strconv.Atoi(string(number))
		} else if bytes.HasPrefix(line, []byte("# labels: ")) && bytes.Contains(line, mark) {
			total += last
		}
	}
	return total, nil
}
