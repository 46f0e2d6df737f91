package providertest

import (
	"context"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

func total(cuts []resourcesync.Cut) (n int) {
	for _, c := range cuts {
		n += c.Count
	}
	return n
}

// bad7 bends the cuts for pages of seven, which the rules about changes do not use.
func bad7(bend func(cuts []resourcesync.Cut) []resourcesync.Cut) func(*bent) {
	return func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			if every != 7 {
				return b.full.Cuts(ctx, previous, every)
			}
			cuts, err := b.full.Cuts(ctx, nil, every)
			return bend(cuts), err
		}
	}
}

var badCuts = []bad{
	{"one too many", "Cuts/partition", bad7(func(cuts []resourcesync.Cut) []resourcesync.Cut {
		cuts[1].Count++
		return cuts
	})},
	{"no last page", "Cuts/partition", bad7(func(cuts []resourcesync.Cut) []resourcesync.Cut { return cuts[:len(cuts)-1] })},
	{"the last page has a key", "Cuts/partition", bad7(func(cuts []resourcesync.Cut) []resourcesync.Cut {
		cuts[len(cuts)-1].Key = "\U0010FFFF"
		return cuts
	})},
	{"not in order", "Cuts/partition", bad7(func(cuts []resourcesync.Cut) []resourcesync.Cut {
		cuts[0], cuts[1] = cuts[1], cuts[0]
		return cuts
	})},
	{"one page", "Cuts/size", func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			if every == 7 {
				every = 10_000
			}
			return b.full.Cuts(ctx, previous, every)
		}
	}},
	{"small pages", "Cuts/size", func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			if every == 7 {
				every = 1
			}
			return b.full.Cuts(ctx, previous, every)
		}
	}},
	{"a page of nothing", "Cuts/size Cuts/empty", func(b *bent) {
		b.cuts = func(context.Context, []resourcesync.Cut, int) ([]resourcesync.Cut, error) {
			return []resourcesync.Cut{{Key: "a"}, {}}, nil
		}
	}},
	{"moves to and fro", "Cuts/kept", func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			if every == 7 && previous != nil {
				return b.full.Cuts(ctx, nil, 6)
			}
			return b.full.Cuts(ctx, previous, every)
		}
	}},
	{"writes to previous", "Cuts/kept", func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			cuts, err := b.full.Cuts(ctx, previous, every)
			for i := range previous {
				previous[i].Count = 0
			}
			return cuts, err
		}
	}},
	{"cuts anew when there is more", "Cuts/grow", func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			if cuts, _ := b.full.Cuts(ctx, nil, every); total(cuts) > total(previous) {
				return cuts, nil
			}
			return b.full.Cuts(ctx, previous, every)
		}
	}},
	{"cuts anew when there is less", "Cuts/shrink", func(b *bent) {
		b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
			if cuts, _ := b.full.Cuts(ctx, nil, every); total(cuts) < total(previous) {
				return cuts, nil
			}
			return b.full.Cuts(ctx, previous, every)
		}
	}},
	{"hurries", "Cuts/newest", func(b *bent) {
		b.bendNewest(func(t time.Time) time.Time { return t.Add(time.Hour) })
	}},
	{"lags", "Cuts/newest", func(b *bent) {
		b.bendNewest(func(t time.Time) time.Time { return t.Add(-1) })
	}},
}

func (b *bent) bendNewest(bend func(time.Time) time.Time) {
	b.cuts = func(ctx context.Context, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
		cuts, err := b.full.Cuts(ctx, previous, every)
		for i := range cuts {
			cuts[i].Newest = bend(cuts[i].Newest)
		}
		return cuts, err
	}
}
