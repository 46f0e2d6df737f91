package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

var archiveRules = []rule{
	{"Archives/known", archiver, archivesKnown},
	{"Snapshots/order", archiver, snapshotsOrder},
	{"Snapshots/restart", archiver, snapshotsRestart},
	{"Snapshots/cancel", archiver, snapshotsCancel},
}

var allArchives = []resourcesync.Capability{
	resourcesync.ResourceListArchive,
	resourcesync.ResourceDumpArchive,
	resourcesync.ChangeListArchive,
	resourcesync.ChangeDumpArchive,
}

// known: Archives returns archive capabilities, each at most once, and always the same.
func archivesKnown(_ context.Context, s *subject) error {
	all := s.archiver.Archives()
	for i, c := range all {
		if !slices.Contains(allArchives, c) || slices.Contains(all[:i], c) {
			return fmt.Errorf("Archives returns %q, expected distinct archive capabilities", all)
		}
	}
	if again := s.archiver.Archives(); !slices.Equal(again, all) {
		return fmt.Errorf("Archives returns %q, and then %q", all, again)
	}
	return nil
}

func (s *subject) snapshots(ctx context.Context, c resourcesync.Capability) ([]resourcesync.Snapshot, error) {
	all, err := collect(s.archiver.Snapshots(ctx, c), func(v resourcesync.Snapshot) resourcesync.Snapshot { return v })
	if err != nil {
		return nil, fmt.Errorf("Snapshots(%s): %w", c, err)
	}
	return all, nil
}

// order: snapshots have distinct URIs and the times of their archive, and are in
// chronological order.
func snapshotsOrder(ctx context.Context, s *subject) error {
	for _, c := range s.archiver.Archives() {
		all, err := s.snapshots(ctx, c)
		if err != nil {
			return err
		}
		spans := c == resourcesync.ChangeListArchive || c == resourcesync.ChangeDumpArchive
		uris := map[string]bool{}
		var last resourcesync.Snapshot
		for _, v := range all {
			switch {
			case rsxml.CheckURI(v.URI) != nil:
				return fmt.Errorf("Snapshots(%s): %q is not a URI for a document", c, v.URI)
			case uris[v.URI]:
				return fmt.Errorf("Snapshots(%s): %s is yielded twice", c, v.URI)
			case spans && (v.Interval.From.IsZero() || v.Interval.Until.Before(v.Interval.From)):
				return fmt.Errorf("Snapshots(%s): %s covers %s, expected a closed interval", c, v.URI, intervalText(v.Interval))
			case !spans && v.At.IsZero():
				return fmt.Errorf("Snapshots(%s): %s has no At", c, v.URI)
			case v.At.Before(last.At) || v.Interval.From.Before(last.Interval.From):
				return fmt.Errorf("Snapshots(%s): %s is older than the previous document", c, v.URI)
			}
			uris[v.URI], last = true, v
		}
	}
	return nil
}

// restart: ranging again yields the same snapshots.
func snapshotsRestart(ctx context.Context, s *subject) error {
	for _, c := range s.archiver.Archives() {
		seq := s.archiver.Snapshots(ctx, c)
		var lists [2][]resourcesync.Snapshot
		for i := range lists {
			var err error
			if lists[i], err = collect(seq, func(v resourcesync.Snapshot) resourcesync.Snapshot { return v }); err != nil {
				return fmt.Errorf("Snapshots(%s): %w", c, err)
			}
		}
		same := func(a, b resourcesync.Snapshot) bool { return a == b }
		if err := difference(lists[1], lists[0], same, func(v resourcesync.Snapshot) string { return v.URI }); err != nil {
			return fmt.Errorf("Snapshots(%s), the second time: %w", c, err)
		}
	}
	return nil
}

// cancel: the iteration ends with the error of its context.
func snapshotsCancel(ctx context.Context, s *subject) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range s.archiver.Archives() {
		if _, err := s.snapshots(ctx, c); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("after the end of the context: %v, expected its error", err)
		}
	}
	return nil
}
