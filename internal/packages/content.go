package packages

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
)

// Content is the source of the bitstreams in a set's packages. A Resource Dump needs
// Provider and Opener. A Change Dump needs ChangeOpener and, for patches, PatchOpener.
// The other fields are nil.
type Content struct {
	Provider     resourcesync.Provider
	Opener       resourcesync.Opener
	ChangeOpener resourcesync.ChangeOpener
	PatchOpener  resourcesync.PatchOpener
	Checksummer  resourcesync.Checksummer // may be nil
}

// open opens an item. If a resource does not exist, its Stamp may have changed since it
// was listed: open then looks for the same bytes under the new Stamp.
func (c *Content) open(ctx context.Context, it *item) (io.ReadCloser, error) {
	switch {
	case it.patch != nil:
		return c.PatchOpener.OpenPatch(ctx, it.patch.of, it.patch.link)
	case it.Type != "":
		return c.ChangeOpener.OpenChange(ctx, it.Change)
	}
	r := it.Resource
	content, err := c.Opener.Open(ctx, r)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	for now, failed := range checked.Resources(ctx, c.Provider, resourcesync.Range{From: r.Key, To: r.Key + "\x00"}, nil) {
		if failed == nil && now.Stamp != r.Stamp && isSame(now, r) {
			return c.Opener.Open(ctx, now)
		}
	}
	return nil, err
}

// isSame reports whether a and b claim the same bytes.
func isSame(a, b resourcesync.Resource) bool {
	a.Links, a.Attrs = b.Links, b.Attrs
	return a.EqualEntry(b)
}
