package providertest

import (
	"context"
	"iter"
)

// A start is a method that returns an iteration, its other argument bound.
type start[T any] func(ctx context.Context) iter.Seq2[T, error]

// each is good with visit wrapped around the body of its loop.
func each[T any](good iter.Seq2[T, error], visit func(yield func(T, error) bool) func(T, error) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) { good(visit(yield)) }
}

// changed is good with f applied to its values.
func changed[T any](good iter.Seq2[T, error], f func(v *T)) iter.Seq2[T, error] {
	return each(good, func(yield func(T, error) bool) func(T, error) bool {
		return func(v T, err error) bool {
			if err == nil {
				f(&v)
			}
			return yield(v, err)
		}
	})
}

// filtered has the values of good for which wanted is true.
func filtered[T any](good iter.Seq2[T, error], wanted func(T) bool) iter.Seq2[T, error] {
	return each(good, func(yield func(T, error) bool) func(T, error) bool {
		return func(v T, err error) bool { return err == nil && !wanted(v) || yield(v, err) }
	})
}

// rewritten has the values that f returns for all values of good. It checks ctx before
// each.
func rewritten[T any](ctx context.Context, good iter.Seq2[T, error], f func([]T) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		all, err := collect(good)
		if err == nil {
			all = f(all)
		} else {
			all = nil
		}
		for _, v := range all {
			if err = ctx.Err(); err != nil || !yield(v, nil) {
				break
			}
		}
		if err != nil {
			yield(*new(T), err)
		}
	}
}
