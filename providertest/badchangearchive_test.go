package providertest

import (
	"context"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// archiveBegin is when the archive of a full provider begins.
var archiveBegin = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)

// StatArchive implements [resourcesync.ChangeArchiver].
func (f full) StatArchive(context.Context) (resourcesync.ArchiveStat, error) {
	return resourcesync.ArchiveStat{Since: archiveBegin}, nil
}

// ArchivedWindows returns two windows of an hour.
func (f full) ArchivedWindows(context.Context, int) (windows []resourcesync.Interval, err error) {
	for i := range time.Duration(2) {
		from := archiveBegin.Add(i * time.Hour)
		windows = append(windows, resourcesync.Interval{From: from, Until: from.Add(time.Hour)})
	}
	return windows, nil
}

// ArchivedChanges yields a change at the end of each hour.
func (f full) ArchivedChanges(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		for i := range time.Duration(2) {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			c := resourcesync.Change{Type: resourcesync.Updated, Datetime: archiveBegin.Add((i + 1) * time.Hour), Resource: newResource("archived", 1)}
			if iv.Contains(c.Datetime) && !yield(c, nil) {
				return
			}
		}
	}
}

// badArchivedWindow bends the archived windows of ten.
func badArchivedWindow(bend func(windows []resourcesync.Interval) []resourcesync.Interval) func(*bent) {
	return func(b *bent) {
		b.archivedWindows = func(ctx context.Context, max int) ([]resourcesync.Interval, error) {
			windows, err := b.full.ArchivedWindows(ctx, max)
			if max == 10 {
				windows = bend(windows)
			}
			return windows, err
		}
	}
}

var badChangeArchives = []bad{
	{"a gap", "ArchivedWindows/contiguous", badArchivedWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		w[1].From = w[1].From.Add(time.Minute)
		return w
	})},
	{"open", "ArchivedWindows/contiguous", badArchivedWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		w[1].Until = time.Time{}
		return w
	})},
	{"of the journal", "ArchivedWindows/contiguous", badArchivedWindow(func(w []resourcesync.Interval) []resourcesync.Interval {
		w[1].Until = time.Now().AddDate(1, 0, 0)
		return w
	})},
	{"too long", "ArchivedWindows/size", func(b *bent) {
		b.archivedWindows = func(context.Context, int) ([]resourcesync.Interval, error) {
			return []resourcesync.Interval{{From: archiveBegin, Until: archiveBegin.Add(2 * time.Hour)}}, nil
		}
	}},
	{"from before", "ArchivedChanges/interval", func(b *bent) {
		b.archivedChanges = func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
			iv.From, iv.Until = iv.From.Add(-time.Hour), iv.Until.Add(-time.Hour)
			return b.full.ArchivedChanges(ctx, iv)
		}
	}},
	{"does not look at the context", "ArchivedChanges/cancel", func(b *bent) {
		b.archivedChanges = func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
			return b.full.ArchivedChanges(context.WithoutCancel(ctx), iv)
		}
	}},
}
