package providertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A sequence is an iteration over values of a provider. The same rules apply to each of
// them.
type sequence[T any] struct {
	name  string
	needs need
	start func(ctx context.Context, s *subject) iter.Seq2[T, error] // of everything
	clone func(T) T
	same  func(got, want T) bool
	title func(T) string

	strings func(v *T, f func(s *string)) // calls f for each
}

var (
	ofResources = sequence[resourcesync.Resource]{
		name: "Resources",
		start: func(ctx context.Context, s *subject) iter.Seq2[resourcesync.Resource, error] {
			return s.provider.Resources(ctx, resourcesync.Range{})
		},
		clone: keep,
		same:  resourcesync.Resource.Equal,
		title: resourceTitle,

		strings: eachString,
	}
	ofChanges = sequence[resourcesync.Change]{
		name:  "Changes",
		needs: changer,
		start: func(ctx context.Context, s *subject) iter.Seq2[resourcesync.Change, error] {
			return s.changer.Changes(ctx, resourcesync.Interval{})
		},
		clone: keepChange,
		same:  sameChange,
		title: changeTitle,

		strings: eachStringOfChange,
	}
)

func (q sequence[T]) rules() []rule {
	return []rule{
		{q.name + "/lazy", q.needs, q.lazy},
		{q.name + "/fresh", q.needs | editing, q.fresh},
		{q.name + "/restart", q.needs, q.restart},
		{q.name + "/stop", q.needs, q.stop},
		{q.name + "/leak", q.needs, q.leak},
		{q.name + "/cancel", q.needs, q.cancel},
		{q.name + "/error", q.needs, q.oneError},
		{q.name + "/concurrent", q.needs, q.concurrent},
		{q.name + "/strings", q.needs, q.lastingStrings},
	}
}

func (q sequence[T]) collect(ctx context.Context, s *subject) ([]T, error) {
	return collect(q.start(ctx, s), q.clone)
}

// lazy: the call itself does no work. The test detects work by its use of ctx.
func (q sequence[T]) lazy(ctx context.Context, s *subject) error {
	spy := &spyContext{Context: ctx}
	q.start(spy, s)
	if spy.asked.Load() {
		return errors.New("the call uses the context before the result is ranged over")
	}
	return nil
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

// fresh: the iteration shows the state at the range statement, not at the call.
func (q sequence[T]) fresh(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	seq := q.start(ctx, s)
	if err := s.put(ctx, s.make(keys[0])); err != nil {
		return err
	}
	got, err := collect(seq, q.clone)
	if err != nil {
		return err
	}
	want, err := q.collect(ctx, s)
	if err != nil {
		return err
	}
	if err := difference(got, want, q.same, q.title); err != nil {
		return fmt.Errorf("ranging over a result from before a change shows the earlier state: %w", err)
	}
	return nil
}

// restart: ranging again starts from the beginning, even after an early end.
func (q sequence[T]) restart(ctx context.Context, s *subject) error {
	seq := q.start(ctx, s)
	want, err := collect(seq, q.clone)
	if err != nil {
		return err
	}
	for _, when := range []string{"to the end", "in part"} {
		got, err := collect(seq, q.clone)
		if err != nil {
			return err
		}
		if err := difference(got, want, q.same, q.title); err != nil {
			return fmt.Errorf("ranging again after ranging %s: %w", when, err)
		}
		seq(func(T, error) bool { return false })
	}
	return nil
}

// stop: the iteration ends as soon as yield returns false, also if the context has ended meanwhile.
func (q sequence[T]) stop(ctx context.Context, s *subject) error {
	all, err := q.collect(ctx, s)
	if err != nil {
		return err
	}
	for _, n := range places(len(all)) {
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
				return fmt.Errorf("yield is called %d more times after its call %d returned false%s", calls-n, n, when)
			}
		}
	}
	return nil
}

// places returns some of the numbers 1 to n, including the first and the last.
func places(n int) []int {
	var out []int
	for _, i := range []int{1, 2, 3, n / 2, n - 1, n} {
		if i >= 1 && i <= n && (len(out) == 0 || out[len(out)-1] < i) {
			out = append(out, i)
		}
	}
	return out
}

// leak: no goroutine remains after an early end.
func (q sequence[T]) leak(ctx context.Context, s *subject) error {
	return s.leaks(ctx, func(ctx context.Context) {
		q.start(ctx, s)(func(T, error) bool { return false })
	})
}

// concurrent: several goroutines can range at the same time.
func (q sequence[T]) concurrent(ctx context.Context, s *subject) error {
	want, err := q.collect(ctx, s)
	if err != nil {
		return err
	}
	const readers = 4
	// All wait at the first value, so that they overlap. If the provider blocks one
	// of them, the others continue after a while.
	var started sync.WaitGroup
	started.Add(readers)
	all := make(chan struct{})
	go func() {
		started.Wait()
		close(all)
	}()
	var wg sync.WaitGroup
	var broken [readers]error
	for i := range readers {
		wg.Go(func() {
			meet := sync.OnceFunc(func() {
				started.Done()
				select {
				case <-all:
				case <-time.After(s.opts.Wait / 100):
				}
			})
			defer meet()
			var got []T
			got, broken[i] = collect(q.start(ctx, s), func(v T) T {
				v = q.clone(v)
				meet()
				return v
			})
			if broken[i] == nil {
				broken[i] = difference(got, want, q.same, q.title)
			}
		})
	}
	wg.Wait()
	for _, err := range broken {
		if err != nil {
			return fmt.Errorf("one of %d ranging at the same time: %w", readers, err)
		}
	}
	return nil
}

// strings: yielded strings stay valid.
func (q sequence[T]) lastingStrings(ctx context.Context, s *subject) error {
	var kept, copies []string
	q.start(ctx, s)(func(v T, err error) bool {
		first := len(kept)
		q.strings(&v, func(s *string) { kept = append(kept, *s) })
		for _, s := range kept[first:] {
			copies = append(copies, strings.Clone(s))
		}
		return err == nil
	})
	for i := range kept {
		if kept[i] != copies[i] {
			return fmt.Errorf("a yielded string has changed: it %s", unlike(kept[i], copies[i]))
		}
	}
	return nil
}
