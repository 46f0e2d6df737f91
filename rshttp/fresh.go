package rshttp

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// fresh reports whether d, which may be nil, still is the document of t. It asks
// the set as little as possible: for the version of the whole, and only if that
// has moved for that of the document's own range.
func (s *Source) fresh(ctx context.Context, t target, d *document) (bool, error) {
	if s.routes.kinds[t.kind].static {
		return d != nil, nil // whether or not the sets have content
	}
	if err := t.set.ready(ctx); err != nil || d == nil {
		return false, err
	}
	stater := d.stater()
	switch {
	case d.forever:
		// It never changes, but the journal may have dropped it.
		since, err := t.set.changesSince(ctx, t)
		if err != nil || !since.After(d.from) {
			return err == nil, err
		}
		return s.stillArchived(ctx, d)
	case t.kind == kindChangeDump || t.kind == kindChangeDumpPart:
		dump, err := s.changePackages(ctx, t.set)
		return err == nil && dump.covers() == d.packages, err
	case t.kind == kindResourceDump || t.kind == kindDumpPart:
		if fresh, known, err := s.freshDump(ctx, d); known || err != nil {
			return fresh, err
		}
	case d.division != 0:
		p, err := t.set.pages.Get(ctx)
		return err == nil && p.Number == d.division, err
	}
	if d.version == "" || stater == nil {
		return false, nil
	}
	whole, err := stater.Stat(ctx, partition.Whole)
	if err != nil || whole.Version == *d.setVersion.Load() {
		return err == nil, err
	}
	if d.keys == partition.Whole {
		return false, nil
	}
	stat, err := stater.Stat(ctx, d.keys)
	if err != nil || stat.Version != d.version {
		return false, err
	}
	d.setVersion.Store(&whole.Version)
	return true, nil
}

// take takes down the state of what d is about to show: of the whole set, and of d's
// own range of keys.
func (d *document) take(ctx context.Context) error {
	stater := d.stater()
	if stater == nil {
		return nil
	}
	whole, err := stater.Stat(ctx, partition.Whole)
	if err != nil {
		return err
	}
	stat := whole
	if d.keys != partition.Whole {
		if stat, err = stater.Stat(ctx, d.keys); err != nil {
			return err
		}
	}
	d.version, d.lastModified = stat.Version, stat.LastModified
	d.setVersion.Store(&whole.Version)
	return nil
}

// stater returns what knows the versions that d was made of.
func (d *document) stater() resourcesync.Stater {
	switch d.target.kind {
	case kindDescription, kindDescriptionPart:
		return nil
	case kindChangeList, kindChangeWindow, kindRecentChanges, kindChangeDump, kindChangeDumpPart, kindChangeManifest, kindChangePackage:
		return d.target.set.changeStater
	}
	return d.target.set.stater
}

// allReady reports whether all sets are ready.
func (s *Source) allReady(ctx context.Context) bool {
	if s.ready.Load() {
		return true
	}
	for _, st := range s.order {
		if st.ready(ctx) != nil {
			return false
		}
	}
	s.ready.Store(true)
	return true
}
