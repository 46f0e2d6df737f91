package providertest

import (
	"context"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

var archiveRules = []rule{
	{"Archives/known", "Archiver.Archives", needs{archiver}, archivesKnown,
		"it returns archive capabilities, each at most once, and always the same"},
	{"Snapshots/order", "Archiver.Snapshots", needs{archiver}, snapshotsOrder,
		"snapshots have distinct URIs and the times of their archive, and are in chronological order"},
	{"Snapshots/restart", "Archiver.Snapshots", needs{archiver}, snapshotsRestart, "ranging again yields the same snapshots"},
	{"Snapshots/cancel", "Archiver.Snapshots", needs{archiver}, snapshotsCancel, "the iteration ends with the error of its context"},
}

var allArchives = []resourcesync.Capability{
	resourcesync.ResourceListArchive,
	resourcesync.ResourceDumpArchive,
	resourcesync.ChangeListArchive,
	resourcesync.ChangeDumpArchive,
}

func archivesKnown(_ context.Context, s *subject) {
	all := s.Archiver.Archives()
	for i, c := range all {
		if !slices.Contains(allArchives, c) || slices.Contains(all[:i], c) {
			fail("Archives returns %q, expected distinct archive capabilities", all)
		}
	}
	if again := s.Archiver.Archives(); !slices.Equal(again, all) {
		fail("Archives returns %q, and then %q", all, again)
	}
}

func (s *subject) snapshots(ctx context.Context, c resourcesync.Capability) []resourcesync.Snapshot {
	return must(collect(s.Archiver.Snapshots(ctx, c)))("Snapshots(%s)", c)
}

func snapshotsOrder(ctx context.Context, s *subject) {
	for _, c := range s.Archiver.Archives() {
		spans := c == resourcesync.ChangeListArchive || c == resourcesync.ChangeDumpArchive
		uris := map[string]bool{}
		var last resourcesync.Snapshot
		for _, v := range s.snapshots(ctx, c) {
			switch {
			case rsxml.CheckURI(v.URI) != nil:
				fail("Snapshots(%s): %q is not a URI for a document", c, v.URI)
			case uris[v.URI]:
				fail("Snapshots(%s): %v is yielded twice", c, v)
			case spans && (v.Interval.From.IsZero() || v.Interval.Until.Before(v.Interval.From)):
				fail("Snapshots(%s): %v covers %v, expected a closed interval", c, v, v.Interval)
			case !spans && v.At.IsZero():
				fail("Snapshots(%s): %v has no At", c, v)
			case v.At.Before(last.At) || v.Interval.From.Before(last.Interval.From):
				fail("Snapshots(%s): %v is older than the previous document, %v", c, v, last)
			}
			uris[v.URI], last = true, v
		}
	}
}

func snapshotsRestart(ctx context.Context, s *subject) {
	for _, c := range s.Archiver.Archives() {
		seq := s.Archiver.Snapshots(ctx, c)
		want := must(collect(seq))("Snapshots(%s)", c)
		equal(must(collect(seq))("Snapshots(%s)", c), want, "Snapshots(%s), the second time", c)
	}
}

func snapshotsCancel(ctx context.Context, s *subject) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range s.Archiver.Archives() {
		checkEnd(ctx, try(func() { s.snapshots(ctx, c) }), "after the end of the context")
	}
}

var changeArchiveRules = []rule{
	{"ArchivedWindows/contiguous", "ChangeArchiver.ArchivedWindows", needs{changeArchiver, changer}, archivedContiguous,
		"the first begins at the Since of the archive, each of the others where the previous one ends, and all end before the journal begins"},
	{"ArchivedWindows/size", "ChangeArchiver.ArchivedWindows", needs{changeArchiver}, sizeRule((*subject).archivedWindows, (*subject).archivedChanges),
		"no window has more than max changes"},
	{"ArchivedChanges/interval", "ChangeArchiver.ArchivedChanges", needs{changeArchiver}, archivedInterval,
		"archived changes are those in the interval, in chronological order"},
	{"ArchivedChanges/cancel", "ChangeArchiver.ArchivedChanges", needs{changeArchiver}, archivedCancel,
		"the iteration ends with the error of its context"},
}

func (s *subject) archivedWindows(ctx context.Context, max int) []resourcesync.Interval {
	return must(s.ChangeArchiver.ArchivedWindows(ctx, max))("ArchivedWindows(%d)", max)
}

func (s *subject) archivedChanges(ctx context.Context, iv resourcesync.Interval) []resourcesync.Change {
	return must(collect(s.ChangeArchiver.ArchivedChanges(ctx, iv)))("ArchivedChanges(%v)", iv)
}

func archivedContiguous(ctx context.Context, s *subject) {
	stat, since := must(s.ChangeArchiver.StatArchive(ctx))("StatArchive"), s.since(ctx)
	ensure(try(func() {
		for _, max := range windowSizes {
			checkWindows(max, s.archivedWindows(ctx, max), stat.Since, func(_ int, iv resourcesync.Interval) bool {
				return iv.Open() || iv.Until.After(since)
			})
		}
	}), "the journal begins at %v", since)
}

func archivedInterval(ctx context.Context, s *subject) {
	for _, iv := range s.archivedWindows(ctx, 10) {
		last := time.Time{}
		for _, c := range s.archivedChanges(ctx, iv) {
			if !iv.Contains(c.Datetime) || c.Datetime.Before(last) {
				fail("ArchivedChanges(%v) yields %v, after one at %v", iv, c, last)
			}
			last = c.Datetime
		}
	}
}

func archivedCancel(ctx context.Context, s *subject) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	checkEnd(ctx, try(func() { s.archivedChanges(ctx, resourcesync.Interval{}) }), "after the end of the context")
}
