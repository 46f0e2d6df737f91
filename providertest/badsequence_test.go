package providertest

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/resourcesync-go/resourcesync"
)

// A start is a method that returns an iteration, its other argument bound.
type start[T any] func(ctx context.Context) iter.Seq2[T, error]

// badSequences are iterations that break the rules which hold for all of them,
// by the rule that each breaks. after ends with the test.
func badSequences[T any](after context.Context, key func(*T) *string) map[string][]func(start[T]) start[T] {
	var beginning atomic.Int64
	return map[string][]func(start[T]) start[T]{
		"lazy": {
			func(good start[T]) start[T] {
				return func(ctx context.Context) iter.Seq2[T, error] {
					if ctx.Err() != nil {
						return func(yield func(T, error) bool) { yield(*new(T), ctx.Err()) }
					}
					return good(ctx)
				}
			},
		},
		"fresh": {
			func(good start[T]) start[T] {
				return func(ctx context.Context) iter.Seq2[T, error] {
					all, _ := collect(good(context.Background()), func(v T) T { return v })
					return func(yield func(T, error) bool) {
						for _, v := range all {
							if ctx.Err() != nil {
								yield(*new(T), ctx.Err())
								return
							}
							if !yield(v, nil) {
								return
							}
						}
					}
				}
			},
		},
		"restart": {
			func(good start[T]) start[T] { // works once
				return func(ctx context.Context) iter.Seq2[T, error] {
					seq, used := good(ctx), false
					return func(yield func(T, error) bool) {
						if !used {
							used = true
							seq(yield)
						}
					}
				}
			},
			func(good start[T]) start[T] { // goes on where it was left
				return func(ctx context.Context) iter.Seq2[T, error] {
					seq, left := good(ctx), 0
					return func(yield func(T, error) bool) {
						n := 0
						seq(func(v T, err error) bool {
							if n++; n <= left {
								return true
							}
							if !yield(v, err) {
								left = n
								return false
							}
							return true
						})
					}
				}
			},
		},
		"stop": {
			func(good start[T]) start[T] {
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool {
							return yield(v, err) || err == nil && yield(v, nil)
						})
					}
				}
			},
		},
		"leak": {
			func(good start[T]) start[T] {
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool {
							if yield(v, err) {
								return true
							}
							go func() { <-after.Done() }()
							return false
						})
					}
				}
			},
		},
		"cancel": {
			func(good start[T]) start[T] { // does not look at ctx
				return func(ctx context.Context) iter.Seq2[T, error] {
					return good(context.WithoutCancel(ctx))
				}
			},
			func(good start[T]) start[T] { // looks once
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						if ctx.Err() != nil {
							yield(*new(T), ctx.Err())
							return
						}
						good(context.WithoutCancel(ctx))(yield)
					}
				}
			},
			func(good start[T]) start[T] { // ends in silence
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool { return err == nil && yield(v, err) })
					}
				}
			},
			func(good start[T]) start[T] { // has an error of its own
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool {
							if err != nil {
								err = errors.New("interrupted")
							}
							return yield(v, err)
						})
					}
				}
			},
		},
		"error": {
			func(good start[T]) start[T] { // twice
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool {
							return yield(v, err) && (err == nil || yield(v, err))
						})
					}
				}
			},
			func(good start[T]) start[T] { // not last
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool {
							return yield(v, err) && (err == nil || yield(v, nil))
						})
					}
				}
			},
			func(good start[T]) start[T] { // with a value
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						good(ctx)(func(v T, err error) bool {
							if err != nil {
								*key(&v) = "last"
							}
							return yield(v, err)
						})
					}
				}
			},
		},
		"concurrent": {
			func(good start[T]) start[T] {
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						n, crowded := 0, false
						good(ctx)(func(v T, err error) bool {
							switch n++; n {
							case 1: // where the readers of the suite meet
								beginning.Add(1)
								defer beginning.Add(-1)
								more := yield(v, err)
								crowded = beginning.Load() == 4
								return more
							case 2:
								return crowded || yield(v, err)
							}
							return yield(v, err)
						})
					}
				}
			},
		},
		"strings": {
			func(good start[T]) start[T] {
				return func(ctx context.Context) iter.Seq2[T, error] {
					return func(yield func(T, error) bool) {
						row := make([]byte, resourcesync.MaxKeyLength)
						good(ctx)(func(v T, err error) bool {
							if err == nil {
								k := key(&v)
								*k = unsafe.String(&row[0], copy(row, *k))
							}
							return yield(v, err)
						})
						runtime.KeepAlive(row)
					}
				}
			},
		},
	}
}
