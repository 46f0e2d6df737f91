package providertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

var badStats = []bad{
	{"one too many", "Stat/count", func(b *bent) {
		b.bendStat(func(r resourcesync.Range, st *resourcesync.Stat) { st.Count++ })
	}},
	{"of the whole set", "Stat/count", func(b *bent) {
		b.opts.ExactStat = false
		b.stat = func(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
			return b.full.Stat(ctx, resourcesync.Range{})
		}
	}},
	{"moves with the clock", "Stat/steady", func(b *bent) {
		var asked atomic.Int64
		b.opts.ExactStat = false
		b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.Version += string(rune('a' + asked.Add(1))) })
	}},
	{"is the count", "Stat/version", func(b *bent) {
		b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.Version = string(rune(st.Count)) })
	}},
	{"of a range never moves", "Stat/version", func(b *bent) {
		b.bendStat(func(r resourcesync.Range, st *resourcesync.Stat) {
			if (r != resourcesync.Range{}) {
				st.Version = "range"
			}
		})
	}},
	{"forgets deletions", "Stat/lastmodified", func(b *bent) {
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
		b.as = onlyStater{b, b}
	}},
	{"lags", "Stat/journal", func(b *bent) {
		b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.LastModified = st.LastModified.Add(-1) })
		b.as = staterAndChanger{b, b, b}
	}},
	{"hurries", "Stat/journal", func(b *bent) {
		b.bendStat(func(_ resourcesync.Range, st *resourcesync.Stat) { st.LastModified = st.LastModified.Add(time.Hour) })
		b.as = staterAndChanger{b, b, b}
	}},
	{"of the whole set, but for the count", "Stat/exact", func(b *bent) {
		b.stat = func(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
			whole, _ := b.full.Stat(ctx, resourcesync.Range{})
			st, err := b.full.Stat(ctx, r)
			whole.Count = st.Count
			return whole, err
		}
		b.as = onlyStater{b, b}
	}},
	{"moves for nothing", "Stat/exact", func(b *bent) {
		var puts atomic.Int64
		put := b.opts.Put
		b.opts.Put = func(ctx context.Context, r ...resourcesync.Resource) error {
			puts.Add(1)
			return put(ctx, r...)
		}
		b.bendStat(func(r resourcesync.Range, st *resourcesync.Stat) {
			if (r == resourcesync.Range{}) {
				st.Version += string(rune(puts.Load()))
			}
		})
	}},
	{"with a gap before the first", "StatParts/adjacent", func(b *bent) {
		b.as = inParts{b, b, func(r resourcesync.Range, version string) []resourcesync.Part {
			return []resourcesync.Part{{From: r.From + r.To, Version: version}}
		}}
	}},
	{"of none", "StatParts/adjacent", func(b *bent) {
		b.as = inParts{b, b, func(r resourcesync.Range, version string) []resourcesync.Part {
			if (r != resourcesync.Range{}) {
				return nil
			}
			return []resourcesync.Part{{Version: version}}
		}}
	}},
	{"of a part never moves", "StatParts/version", func(b *bent) {
		b.as = inParts{b, b, func(r resourcesync.Range, _ string) []resourcesync.Part {
			return []resourcesync.Part{{From: r.From, Version: "part"}}
		}}
	}},
}

// inParts is a provider that divides a range with a Version into parts.
type inParts struct {
	resourcesync.Provider
	resourcesync.Stater
	parts func(r resourcesync.Range, version string) []resourcesync.Part
}

func (p inParts) StatParts(ctx context.Context, r resourcesync.Range) ([]resourcesync.Part, error) {
	st, err := p.Stat(ctx, r)
	return p.parts(r, st.Version), err
}

func (b *bent) bendStat(bend func(r resourcesync.Range, st *resourcesync.Stat)) {
	b.stat = func(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
		st, err := b.full.Stat(ctx, r)
		bend(r, &st)
		return st, err
	}
}
