package sitemap

import (
	"context"
	"errors"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

var (
	_ scan.Origin         = (*Site)(nil)
	_ scan.Binder         = (*Site)(nil)
	_ scan.Watcher        = (*Site)(nil)
	_ scan.Runner         = (*Site)(nil)
	_ scan.Observer       = (*Site)(nil)
	_ scan.Hider          = (*Site)(nil)
	_ scan.Progresser     = (*Site)(nil)
	_ scan.Identifier     = (*Site)(nil)
	_ resourcesync.Opener = (*Site)(nil)
)

var errUnbound = errors.New("sitemap: the Site has no set: call Bind first")

// Bind implements [scan.Binder]. A further set keeps the pages that do not qualify, and whether
// the set is hidden.
func (s *Site) Bind(ctx context.Context, set scan.Stored, open func(ctx context.Context, purpose string) (scan.Stored, error)) error {
	withheld, err := open(ctx, "withheld")
	if err != nil {
		return err
	}
	s.set, s.withheld = set, withheld
	if s.judges() {
		set.ApproveWithdrawn(s.approve)
	}
	return s.restoreRefusal(ctx)
}

// Identity implements [scan.Identifier].
func (s *Site) Identity() scan.Identity {
	return scan.Identity{Name: s.base.String(), URIs: s.base.String()}
}
