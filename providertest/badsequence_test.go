package providertest

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strconv"
	"sync/atomic"
	"unsafe"

	"github.com/resourcesync-go/resourcesync"
)

// A fault is what a bad method returns in place of good(ctx).
type fault[T any] func(ctx context.Context, good start[T]) iter.Seq2[T, error]

// A yield is the body of a loop.
type yield[T any] = func(T, error) bool

// badSequences are iterations that break the rules for all sequences, by the rule that
// each breaks. after ends with the test.
func badSequences[T any](after context.Context, key func(*T) *string) map[string][]fault[T] {
	type seq = iter.Seq2[T, error]
	var beginning atomic.Int64
	return map[string][]fault[T]{
		"lazy": {func(ctx context.Context, good start[T]) seq {
			if ctx.Err() != nil {
				return func(y yield[T]) { y(*new(T), ctx.Err()) }
			}
			return good(ctx)
		}},
		"fresh": {func(ctx context.Context, good start[T]) seq {
			all, _ := collect(good(context.Background()))
			return rewritten(ctx, func(yield[T]) {}, func([]T) []T { return all })
		}},
		"restart": {
			func(ctx context.Context, good start[T]) seq { return once(good(ctx)) },
			func(ctx context.Context, good start[T]) seq { // goes on where it was left
				left := 0
				return func(y yield[T]) {
					n := 0
					good(ctx)(func(v T, err error) bool {
						if n++; n <= left || y(v, err) {
							return true
						}
						left = n
						return false
					})
				}
			},
		},
		"stop": {
			func(ctx context.Context, good start[T]) seq {
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool { return y(v, err) || err == nil && y(v, nil) }
				})
			},
			func(ctx context.Context, good start[T]) seq { // if the context has ended
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool { return y(v, err) || ctx.Err() != nil && y(*new(T), ctx.Err()) }
				})
			},
		},
		"leak": {func(ctx context.Context, good start[T]) seq {
			return each(good(ctx), func(y yield[T]) yield[T] {
				return func(v T, err error) bool {
					if y(v, err) {
						return true
					}
					go func() { <-after.Done() }()
					return false
				}
			})
		}},
		"cancel": {
			func(ctx context.Context, good start[T]) seq { return good(context.WithoutCancel(ctx)) },
			func(ctx context.Context, good start[T]) seq { // looks once
				return func(y yield[T]) {
					if ctx.Err() != nil {
						y(*new(T), ctx.Err())
						return
					}
					good(context.WithoutCancel(ctx))(y)
				}
			},
			func(ctx context.Context, good start[T]) seq { // ends in silence
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool { return err == nil && y(v, err) }
				})
			},
			func(ctx context.Context, good start[T]) seq { // has an error of its own
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool {
						if err != nil {
							err = errors.New("interrupted")
						}
						return y(v, err)
					}
				})
			},
		},
		"error": {
			func(ctx context.Context, good start[T]) seq { // twice
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool { return y(v, err) && (err == nil || y(v, err)) }
				})
			},
			func(ctx context.Context, good start[T]) seq { // not last
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool { return y(v, err) && (err == nil || y(v, nil)) }
				})
			},
			func(ctx context.Context, good start[T]) seq { // with a value
				return each(good(ctx), func(y yield[T]) yield[T] {
					return func(v T, err error) bool {
						if err != nil {
							*key(&v) = "last"
						}
						return y(v, err)
					}
				})
			},
		},
		"concurrent": {func(ctx context.Context, good start[T]) seq {
			return each(good(ctx), func(y yield[T]) yield[T] {
				n, crowded := 0, false
				return func(v T, err error) bool {
					switch n++; n {
					case 1: // where the readers of the suite meet
						beginning.Add(1)
						defer beginning.Add(-1)
						more := y(v, err)
						crowded = beginning.Load() == 4
						return more
					case 2:
						return crowded || y(v, err)
					}
					return y(v, err)
				}
			})
		}},
		"strings": {func(ctx context.Context, good start[T]) seq {
			return func(y yield[T]) {
				row := make([]byte, resourcesync.MaxKeyLength)
				changed(good(ctx), func(v *T) {
					k := key(v)
					*k = unsafe.String(&row[0], copy(row, *k))
				})(y)
				runtime.KeepAlive(row)
			}
		}},
	}
}

// once is an iteration that is empty the second time.
func once[T any](seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	used := false
	return func(yield func(T, error) bool) {
		if !used {
			used = true
			seq(yield)
		}
	}
}

// badMethods are providers with a method replaced by each of badSequences.
func badMethods[T any](method string, key func(*T) *string, replace func(b *bent, spoil func(start[T]) start[T])) (all []bad) {
	for word, faults := range badSequences(context.Background(), key) {
		for i := range faults {
			all = append(all, bad{strconv.Itoa(i + 1), method + "/" + word, func(b *bent) {
				fault := badSequences(b.after, key)[word][i]
				replace(b, func(good start[T]) start[T] {
					return func(ctx context.Context) iter.Seq2[T, error] { return fault(ctx, good) }
				})
			}})
		}
	}
	return all
}
