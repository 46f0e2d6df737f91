package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/paging"
)

// Pages returns a Partitioner that divides a set into pages of about every resources.
// cutter and stater may be nil. Without a cutter, the Partitioner reads the whole set.
func Pages(set string, provider resourcesync.Provider, cutter resourcesync.Cutter, stater resourcesync.Stater, every int) *Partitioner {
	d := &Partitioner{Set: set, Into: "pages", Stater: stater, Dated: cutter != nil}
	d.Cut = func(ctx context.Context, previous []resourcesync.Cut) ([]resourcesync.Cut, error) {
		if cutter != nil {
			return cutter.Cuts(ctx, previous, every)
		}
		return walk(ctx, provider, previous, every)
	}
	return d
}

// walk divides a set into pages by reading all of it.
func walk(ctx context.Context, provider resourcesync.Provider, previous []resourcesync.Cut, every int) ([]resourcesync.Cut, error) {
	b := paging.NewCuts(previous, every)
	started := time.Now()
	var builder entries.Builder
	for r, err := range checked.Resources(ctx, provider, Whole, nil) { // the page reports what it omits
		if err != nil {
			return nil, err
		}
		newest := r.LastModified
		if !newest.Before(started) {
			newest = time.Time{}
		}
		b.Add(r.Key, builder.ResourceSize(&r), newest)
	}
	return b.Done(), nil
}

func checkCuts(cuts []resourcesync.Cut) error {
	last := ""
	for i, c := range cuts {
		if (c.Key == "") != (i == len(cuts)-1) || c.Key != "" && c.Key <= last {
			return fmt.Errorf("cut %d of %d at key %q is out of order", i+1, len(cuts), c.Key)
		}
		last = c.Key
	}
	if len(cuts) == 0 {
		return errors.New("no cuts: a set without resources has one page")
	}
	return nil
}

// withLearned returns cuts with the learned ones added. Both are in order.
func withLearned(cuts []resourcesync.Cut, learned []string) []resourcesync.Cut {
	if len(learned) == 0 {
		return cuts
	}
	var out []resourcesync.Cut
	for _, c := range cuts {
		for len(learned) > 0 && (c.Key == "" || learned[0] <= c.Key) {
			if learned[0] != c.Key {
				out = append(out, resourcesync.Cut{Key: learned[0], Newest: c.Newest})
			}
			learned = learned[1:]
		}
		out = append(out, c)
	}
	return out
}
