package providertest

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

func badResources() []bad {
	// of makes a provider from a function that returns the set.
	of := func(name, rules string, set func([]resourcesync.Resource) []resourcesync.Resource, opts func(*Options)) bad {
		return bad{name, rules, func(b *bent) {
			b.resources = func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
				all := each(b.full.Resources(ctx, resourcesync.Range{}), func(y yield[resourcesync.Resource]) yield[resourcesync.Resource] {
					return func(v resourcesync.Resource, err error) bool { return y(keep(v), err) }
				})
				return filtered(rewritten(ctx, all, set), func(v resourcesync.Resource) bool { return r.Contains(v.Key) })
			}
			if opts != nil {
				opts(b.opts)
			}
			b.as = plain{b}
		}}
	}
	inRange := func(name string, contains func(r resourcesync.Range, key string) bool) bad {
		return bad{name, "Resources/range", func(b *bent) {
			b.resources = func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
				return filtered(b.full.Resources(ctx, resourcesync.Range{}), func(v resourcesync.Resource) bool { return contains(r, v.Key) })
			}
			b.as = plain{b}
		}}
	}
	key := func(r *resourcesync.Resource) *string { return &r.Key }
	return append(badMethods("Resources", key, func(b *bent, spoil func(start[resourcesync.Resource]) start[resourcesync.Resource]) {
		b.resources = func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
			return spoil(func(ctx context.Context) iter.Seq2[resourcesync.Resource, error] { return b.full.Resources(ctx, r) })(ctx)
		}
	}),
		of("ignores case", "Resources/order", func(all []resourcesync.Resource) []resourcesync.Resource {
			slices.SortStableFunc(all, func(a, b resourcesync.Resource) int {
				return strings.Compare(strings.ToLower(a.Key), strings.ToLower(b.Key))
			})
			return all
		}, nil),
		of("one comes twice", "Resources/unique", func(all []resourcesync.Resource) []resourcesync.Resource {
			return append(all[:1:1], all...)
		}, nil),
		of("relative URIs", "Resources/valid", func(all []resourcesync.Resource) []resourcesync.Resource {
			for i := range all {
				all[i].URI = strings.TrimPrefix(all[i].URI, "https://example.org")
			}
			return all
		}, func(o *Options) { o.Want = nil }),
		of("an empty key", "Resources/valid", func(all []resourcesync.Resource) []resourcesync.Resource {
			return append([]resourcesync.Resource{{URI: "https://example.org/"}}, all...)
		}, func(o *Options) { o.Want, o.Put = nil, nil }),
		of("one is missing", "Resources/complete", func(all []resourcesync.Resource) []resourcesync.Resource { return all[1:] }, func(o *Options) { o.Put = nil }),
		of("one is not wanted", "Resources/complete", func(all []resourcesync.Resource) []resourcesync.Resource { return all }, func(o *Options) { o.Want = o.Want[1:] }),
		of("loses links", "Resources/complete", func(all []resourcesync.Resource) []resourcesync.Resource {
			for i := range all {
				all[i].Links = nil
			}
			return all
		}, nil),
		inRange("includes To", func(r resourcesync.Range, key string) bool { return r.Contains(key) || key == r.To }),
		inRange("excludes From", func(r resourcesync.Range, key string) bool { return r.Contains(key) && key != r.From }),
		inRange("includes a prefix", func(r resourcesync.Range, key string) bool {
			return r.Contains(key) || r.From != "" && strings.HasPrefix(r.From, key)
		}),
		inRange("turns ranges round", func(r resourcesync.Range, key string) bool {
			return r.Contains(key) || r.To != "" && r.To <= key && key < r.From
		}),
		bad{name: "pages by offset", rules: "Resources/writers", bend: func(b *bent) {
			good := b.resources
			b.resources = func(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
				return func(yield func(resourcesync.Resource, error) bool) {
					for offset, more := 0, true; more; offset++ {
						n := 0
						more = false
						good(ctx, r)(func(v resourcesync.Resource, err error) bool {
							if n++; err == nil && n <= offset {
								return true
							}
							more = yield(v, err) && err == nil
							return false
						})
					}
				}
			}
			b.as = plain{b}
		}},
	)
}
