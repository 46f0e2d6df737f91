package providertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var badStats = []bad{
	{"one too many", "Stat/count", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		return b.bendStat(func(r resourcesync.Range, st *resourcesync.Stat) { st.Count++ })
	}},
	{"of the whole set", "Stat/count", false, func(_ context.Context, b *bent, o *Options) resourcesync.Provider {
		o.ExactStat = false
		b.stat = func(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
			return b.full.Stat(ctx, resourcesync.Range{})
		}
		return b
	}},
	{"moves with the clock", "Stat/steady", false, func(_ context.Context, b *bent, o *Options) resourcesync.Provider {
		var asked atomic.Int64
		o.ExactStat = false
		return b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.Version += string(rune('a' + asked.Add(1))) })
	}},
	{"is the count", "Stat/version", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		return b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.Version = string(rune(st.Count)) })
	}},
	{"of a range never moves", "Stat/version", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		return b.bendStat(func(r resourcesync.Range, st *resourcesync.Stat) {
			if (r != resourcesync.Range{}) {
				st.Version = "range"
			}
		})
	}},
	{"forgets deletions", "Stat/lastmodified", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.stat = func(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
			st, err := b.full.Stat(ctx, r)
			st.LastModified = time.Time{}
			b.full.Resources(ctx, r)(func(v resourcesync.Resource, _ error) bool {
				if v.LastModified.After(st.LastModified) {
					st.LastModified = v.LastModified
				}
				return true
			})
			return st, err
		}
		return onlyStater{b, b}
	}},
	{"lags", "Stat/journal", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.LastModified = st.LastModified.Add(-1) })
		return staterAndChanger{b, b, b}
	}},
	{"hurries", "Stat/journal", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.LastModified = st.LastModified.Add(time.Hour) })
		return staterAndChanger{b, b, b}
	}},
	{"of the whole set, but for the count", "Stat/exact", false, func(_ context.Context, b *bent, _ *Options) resourcesync.Provider {
		b.stat = func(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
			whole, _ := b.full.Stat(ctx, resourcesync.Range{})
			st, err := b.full.Stat(ctx, r)
			whole.Count = st.Count
			return whole, err
		}
		return onlyStater{b, b}
	}},
	{"moves for nothing", "Stat/exact", false, func(_ context.Context, b *bent, o *Options) resourcesync.Provider {
		var puts atomic.Int64
		put := o.Put
		o.Put = func(ctx context.Context, r ...resourcesync.Resource) error {
			puts.Add(1)
			return put(ctx, r...)
		}
		return b.bendStat(func(r resourcesync.Range, st *resourcesync.Stat) {
			if (r == resourcesync.Range{}) {
				st.Version += string(rune(puts.Load()))
			}
		})
	}},
}

func (b *bent) bendStat(bend func(r resourcesync.Range, st *resourcesync.Stat)) *bent {
	b.stat = func(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
		st, err := b.full.Stat(ctx, r)
		bend(r, &st)
		return st, err
	}
	return b
}
