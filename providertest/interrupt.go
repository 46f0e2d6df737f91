package providertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// cancel: when ctx is done, the iteration yields the error of ctx and ends.
func (q sequence[T]) cancel(ctx context.Context, s *subject) error {
	all, err := q.collect(ctx, s)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return nil
	}
	ended := func(ctx context.Context, after int, end func()) error {
		calls := 0
		var got error
		var tooMuch error
		q.start(ctx, s)(func(v T, err error) bool {
			calls++
			switch {
			case err != nil:
				got = err
				return false
			case calls > after:
				tooMuch = fmt.Errorf("%s is yielded although the context was done after %d", q.title(v), after)
				return false
			case calls == after:
				end()
			}
			return true
		})
		switch {
		case tooMuch != nil:
			return tooMuch
		case got == nil && after == len(all):
			return nil
		case !errors.Is(got, ctx.Err()):
			return fmt.Errorf("the context was done after %d of %d: the error is %v (%T), which does not wrap that of the context, %v", after, len(all), got, got, ctx.Err())
		}
		return nil
	}
	for _, n := range append([]int{0}, places(len(all))...) {
		canceled, cancel := context.WithCancel(ctx)
		if n == 0 {
			cancel()
		}
		err := ended(canceled, n, cancel)
		cancel()
		if err != nil {
			return err
		}
	}
	late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
	defer cancel()
	return ended(late, 0, nil)
}

// error: an error is yielded once and last, with a zero value. The error of ctx is the one
// that every provider can yield.
func (q sequence[T]) oneError(ctx context.Context, s *subject) error {
	for _, n := range []int{0, 1} {
		canceled, cancel := context.WithCancel(ctx)
		if n == 0 {
			cancel()
		}
		var broken error
		calls, failed := 0, false
		q.start(canceled, s)(func(v T, err error) bool {
			calls++
			switch {
			case broken != nil:
				return false
			case failed && err != nil:
				broken = fmt.Errorf("a second error is yielded: %w", err)
			case failed:
				broken = fmt.Errorf("%s is yielded after an error", q.title(v))
			case err != nil && !reflect.ValueOf(&v).Elem().IsZero():
				broken = fmt.Errorf("%s is yielded together with an error", q.title(v))
			}
			failed = failed || err != nil
			if calls == n {
				cancel()
			}
			return true
		})
		cancel()
		if broken != nil {
			return broken
		}
	}
	return nil
}
