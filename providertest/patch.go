package providertest

import (
	"context"
	"fmt"
	"io"

	"github.com/resourcesync-go/resourcesync"
)

var patchRules = []rule{
	{"OpenPatch/bytes", patchOpener | changer, openPatchBytes},
	{"OpenPatch/unknown", patchOpener, openPatchUnknown},
}

// Patch returns the content of the patch to which a link with RelPatch leads, in a resource
// that the suite has created. The Length and Hashes of the link describe it. PatchOpeners
// need it.
func Patch(l resourcesync.Link) []byte { return []byte("What " + l.Href + " changes.\n") }

// newPatch returns a link to a patch of the resource.
func newPatch(r resourcesync.Resource) resourcesync.Link {
	l := resourcesync.Link{Rel: resourcesync.RelPatch, Href: r.URI + ".patch", Type: "text/x-diff", Modified: r.LastModified}
	l.Length, l.Hashes = described(Patch(l))
	return l
}

// bytes: the content has the Length and the Hashes of the link, as long as the change is in
// the journal.
func openPatchBytes(ctx context.Context, s *subject) error {
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes {
		for _, l := range c.Resource.Links {
			if l.Rel != resourcesync.RelPatch || c.Type == resourcesync.Deleted {
				continue
			}
			patch := resourcesync.Resource{Key: l.Href, Length: l.Length, Hashes: l.Hashes}
			err := checkBytes(patch, func() (io.ReadCloser, error) { return s.patchOpener.OpenPatch(ctx, withoutLinks(c), l) })
			if err != nil {
				return fmt.Errorf("%s: the patch %w", changeTitle(c), err)
			}
		}
	}
	return nil
}

// withoutLinks returns c as a Source passes it to openers.
func withoutLinks(c resourcesync.Change) resourcesync.Change {
	c.Resource.Links, c.Resource.Attrs = nil, nil
	return c
}

// unknown: for a patch that never existed, the error is io/fs.ErrNotExist.
func openPatchUnknown(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	r := newResource(keys[0], 0)
	l := newPatch(r)
	r.Links = []resourcesync.Link{l}
	content, err := s.patchOpener.OpenPatch(ctx, resourcesync.Change{
		Type: resourcesync.Updated, Datetime: r.LastModified, Resource: r,
	}, l)
	return checkNotExist(l.Href, content, err)
}
