package providertest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Archives implements [resourcesync.Archiver].
func (f full) Archives() []resourcesync.Capability {
	return []resourcesync.Capability{resourcesync.ResourceListArchive, resourcesync.ChangeDumpArchive}
}

// Snapshots yields two documents for each archive.
func (f full) Snapshots(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		for day := range 2 {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Snapshot{}, err)
				return
			}
			at := time.Date(2026, 1, 1+day, 0, 0, 0, 0, time.UTC)
			v := resourcesync.Snapshot{URI: "https://example.org/" + at.Format(time.DateOnly), At: at}
			if archive == resourcesync.ChangeDumpArchive {
				v.At, v.Interval = time.Time{}, resourcesync.Interval{From: at, Until: at.Add(time.Hour)}
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// badSnapshot bends the documents in each archive.
func badSnapshot(bend func(all []resourcesync.Snapshot) []resourcesync.Snapshot) func(*bent) {
	return func(b *bent) {
		b.snapshots = func(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
			return rewritten(ctx, b.full.Snapshots(ctx, archive), bend)
		}
	}
}

var badArchives = []bad{
	{"no archive", "Archives/known", func(b *bent) {
		b.archives = func() []resourcesync.Capability {
			return []resourcesync.Capability{resourcesync.ResourceListArchive, resourcesync.ResourceList}
		}
	}},
	{"backwards", "Snapshots/order", badSnapshot(func(all []resourcesync.Snapshot) []resourcesync.Snapshot { slices.Reverse(all); return all })},
	{"without a time", "Snapshots/order", badSnapshot(func(all []resourcesync.Snapshot) []resourcesync.Snapshot {
		for i := range all {
			all[i].At, all[i].Interval = time.Time{}, resourcesync.Interval{}
		}
		return all
	})},
	{"twice", "Snapshots/order", badSnapshot(func(all []resourcesync.Snapshot) []resourcesync.Snapshot {
		return append(all, all[max(0, len(all)-1):]...)
	})},
	{"goes on where it ended", "Snapshots/restart", func(b *bent) {
		b.snapshots = func(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
			return once(b.full.Snapshots(ctx, archive))
		}
	}},
	{"does not look at the context", "Snapshots/cancel", func(b *bent) {
		b.snapshots = func(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
			return b.full.Snapshots(context.WithoutCancel(ctx), archive)
		}
	}},
}
