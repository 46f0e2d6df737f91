package rshttp

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
)

// fresh reports whether d, which may be nil, still is the document of t. It asks
// the set as little as possible: for the version of the whole, and only if that
// has moved for that of the document's own range.
func (s *Source) fresh(ctx context.Context, t target, d *document) (bool, error) {
	if err := s.readyFor(ctx, t); err != nil || d == nil {
		return false, err
	}
	stater := d.stater()
	switch {
	case d.static:
		return true, nil
	case d.forever:
		// It never changes, but the journal may have dropped it.
		since, err := t.set.changer.Since(ctx)
		return err == nil && !since.After(d.from), err
	case t.kind == kindResourceDump:
		return s.freshDump(ctx, d)
	case d.division != 0:
		p, err := s.division(ctx, &t.set.pages)
		return err == nil && p.number == d.division, err
	case d.version == "" || stater == nil:
		return false, nil
	}
	whole, err := stater.Stat(ctx, wholeSet)
	if err != nil || whole.Version == *d.setVersion.Load() {
		return err == nil, err
	}
	if d.keys == wholeSet {
		return false, nil
	}
	stat, err := stater.Stat(ctx, d.keys)
	if err != nil || stat.Version != d.version {
		return false, err
	}
	d.setVersion.Store(&whole.Version)
	return true, nil
}

// stater returns what knows the versions that d was made of.
func (d *document) stater() resourcesync.Stater {
	switch d.target.kind {
	case kindDescription, kindDescriptionPart:
		return nil
	case kindChangeList, kindChangeWindow, kindChangeDump, kindChangeManifest, kindChangePackage:
		return d.target.set.changeStater
	}
	return d.target.set.stater
}

// readyFor returns ErrNotReady until all sets of which t speaks have something
// to show.
func (s *Source) readyFor(ctx context.Context, t target) error {
	if t.set != nil {
		return t.set.ready(ctx)
	}
	if s.ready.Load() {
		return nil
	}
	for _, st := range s.order {
		if err := st.ready(ctx); err != nil {
			return err
		}
	}
	s.ready.Store(true)
	return nil
}
