package providertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/leaktest"
)

// A sequence is an iteration over values of a provider. The same rules apply to each of
// them.
type sequence[T any] struct {
	name  string
	needs needs
	start func(ctx context.Context, s *subject) iter.Seq2[T, error] // of everything
}

var (
	ofResources = sequence[resourcesync.Resource]{"Resources", nil, func(ctx context.Context, s *subject) iter.Seq2[resourcesync.Resource, error] {
		return s.provider.Resources(ctx, resourcesync.Range{})
	}}
	ofChanges = sequence[resourcesync.Change]{"Changes", needs{changer}, func(ctx context.Context, s *subject) iter.Seq2[resourcesync.Change, error] {
		return s.Changer.Changes(ctx, resourcesync.Interval{})
	}}
)

func (q sequence[T]) rules() []rule {
	all := []rule{
		{"lazy", "Provider", nil, q.lazy, "the call itself does no work"},
		{"fresh", "Provider", needs{editing}, q.fresh, "the iteration shows the state at the range statement, not at the call"},
		{"restart", "Provider", nil, q.restart, "ranging again starts from the beginning, even after an early end"},
		{"stop", "Provider", nil, q.stop, "the iteration ends as soon as yield returns false, also if the context has ended meanwhile"},
		{"leak", "Provider", nil, q.leak, "no goroutine remains after an early end"},
		{"cancel", "Provider", nil, q.cancel, "when ctx is done, the iteration yields the error of ctx and ends"},
		{"error", "Provider", nil, q.oneError, "an error is yielded once and last, with a zero value"},
		{"concurrent", "Provider", nil, q.concurrent, "several goroutines can range at the same time"},
		{"strings", "Resource", nil, q.lastingStrings, "yielded strings stay valid"},
	}
	for i := range all {
		all[i].name = q.name + "/" + all[i].name
		all[i].needs = append(all[i].needs, q.needs...)
	}
	return all
}

func (q sequence[T]) all(ctx context.Context, s *subject) []T {
	return must(collect(q.start(ctx, s)))("ranging over all %s", q.name)
}

// lazy detects work by its use of ctx.
func (q sequence[T]) lazy(ctx context.Context, s *subject) {
	spy := &spyContext{Context: ctx}
	q.start(spy, s)
	if spy.asked.Load() {
		fail("the call uses the context before the result is ranged over")
	}
}

type spyContext struct {
	context.Context
	asked atomic.Bool
}

func (c *spyContext) Done() <-chan struct{} {
	c.asked.Store(true)
	return c.Context.Done()
}

func (c *spyContext) Err() error {
	c.asked.Store(true)
	return c.Context.Err()
}

func (q sequence[T]) fresh(ctx context.Context, s *subject) {
	key := s.spare(ctx, 1)[0]
	seq := q.start(ctx, s)
	s.put(ctx, s.make(key))
	got := must(collect(seq))("ranging after a change")
	equal(got, q.all(ctx, s), "ranging over a result from before a change shows the earlier state")
}

func (q sequence[T]) restart(ctx context.Context, s *subject) {
	seq := q.start(ctx, s)
	want := must(collect(seq))("ranging the first time")
	for _, when := range []string{"to the end", "in part"} {
		equal(must(collect(seq))("ranging again"), want, "ranging again after ranging %s", when)
		seq(func(T, error) bool { return false })
	}
}

func (q sequence[T]) stop(ctx context.Context, s *subject) {
	for _, n := range places(len(q.all(ctx, s))) {
		for _, when := range []string{"", ", when the context had ended"} {
			within, end := context.WithCancel(ctx)
			calls := 0
			q.start(within, s)(func(T, error) bool {
				if calls++; calls == n && when != "" {
					end()
				}
				return calls < n
			})
			end()
			if calls > n {
				fail("yield is called %d more times after its call %d returned false%s", calls-n, n, when)
			}
		}
	}
}

// places returns some of the numbers 1 to n, including the first and the last.
func places(n int) []int {
	some := []int{1, 2, 3, n / 2, n - 1, n}
	some = slices.DeleteFunc(some, func(i int) bool { return i < 1 || i > n })
	slices.Sort(some)
	return slices.Compact(some)
}

// leak ends many iterations early. A few goroutines that stay, such as those of a connection
// pool, are not a leak.
func (q sequence[T]) leak(ctx context.Context, s *subject) {
	const times = 16
	left := leaktest.Run(ctx, func(ctx context.Context) {
		for range times {
			q.start(ctx, s)(func(T, error) bool { return false })
		}
	}).Wait(times-1, s.Wait)
	if left >= times {
		fail("%d goroutines remain after %d iterations that ended early", left, times)
	}
}

func (q sequence[T]) cancel(ctx context.Context, s *subject) {
	all := len(q.all(ctx, s))
	if all == 0 {
		return
	}
	for _, n := range append([]int{0}, places(all)...) {
		canceled, cancel := context.WithCancel(ctx)
		q.ends(canceled, s, cancel, n, all)
	}
	late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	q.ends(late, s, cancel, 0, all)
}

// ends ends ctx after some of all values, and checks that the iteration ends with its error.
func (q sequence[T]) ends(ctx context.Context, s *subject, end func(), after, all int) {
	defer end()
	if after == 0 {
		end()
	}
	calls := 0
	var got error
	var extra any
	q.start(ctx, s)(func(v T, err error) bool {
		calls++
		switch got = err; {
		case err != nil:
		case calls > after:
			extra = show(v)
		case calls == after:
			end()
		}
		return err == nil && calls <= after
	})
	switch {
	case extra != nil:
		fail("%v is yielded although the context was done after %d", extra, after)
	case got == nil && after == all:
	default:
		checkEnd(ctx, got, "the context was done after %d of %d", after, all)
	}
}

// checkEnd fails unless err is the error of ctx, which has ended. The other arguments say when.
func checkEnd(ctx context.Context, err error, format string, args ...any) {
	if !errors.Is(err, ctx.Err()) {
		ensure(try(func() { fail("the error is %v (%T), expected the error of the context, %v", err, err, ctx.Err()) }), format, args...)
	}
}

// oneError uses the error of ctx, which every provider can yield.
func (q sequence[T]) oneError(ctx context.Context, s *subject) {
	for _, n := range []int{0, 1} {
		canceled, cancel := context.WithCancel(ctx)
		if n == 0 {
			cancel()
		}
		calls, failed, broken := 0, false, ""
		q.start(canceled, s)(func(v T, err error) bool {
			calls++
			switch {
			case failed && err != nil:
				broken = fmt.Sprintf("a second error is yielded: %v", err)
			case failed:
				broken = fmt.Sprintf("%v is yielded after an error", show(v))
			case err != nil && !reflect.ValueOf(&v).Elem().IsZero():
				broken = fmt.Sprintf("%v is yielded together with an error", show(v))
			}
			failed = failed || err != nil
			if calls == n {
				cancel()
			}
			return broken == ""
		})
		cancel()
		if broken != "" {
			fail("%s", broken)
		}
	}
}

func (q sequence[T]) concurrent(ctx context.Context, s *subject) {
	want := q.all(ctx, s)
	const readers = 4
	// All wait at the first value, so that they overlap. If the provider blocks one
	// of them, the others continue after a while.
	var started, ended sync.WaitGroup
	started.Add(readers)
	all := make(chan struct{})
	go func() {
		started.Wait()
		close(all)
	}()
	var broken [readers]error
	for i := range readers {
		ended.Go(func() {
			meet := sync.OnceFunc(func() {
				started.Done()
				select {
				case <-all:
				case <-time.After(s.Wait / 100):
				}
			})
			defer meet()
			got, err := collect(q.start(ctx, s), meet)
			if broken[i] = err; err == nil {
				broken[i] = difference(got, want, same)
			}
		})
	}
	ended.Wait()
	for _, err := range broken {
		ensure(err, "one of %d ranging at the same time", readers)
	}
}

func (q sequence[T]) lastingStrings(ctx context.Context, s *subject) {
	var kept, copies []string
	q.start(ctx, s)(func(v T, err error) bool {
		replaceStrings(reflect.ValueOf(&v).Elem(), func(s string) string {
			kept, copies = append(kept, s), append(copies, strings.Clone(s))
			return s
		})
		return err == nil
	})
	for i := range kept {
		if kept[i] != copies[i] {
			fail("a yielded string has changed: it %s", describeDifference(kept[i], copies[i]))
		}
	}
}
