// Package patch decides which entries may link to patches (core specification,
// section 14.4).
package patch

import (
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Is reports whether l is a link to a patch.
func Is(l resourcesync.Link) bool { return l.Rel == resourcesync.RelPatch }

// A Filter removes links to patches from entries that must not have them. The zero
// value is ready for use. It is not safe for concurrent use.
type Filter struct{ links []resourcesync.Link }

// Apply removes links to patches from e. The Links of e are then valid until the next
// call. A patch turns the previous version of a resource into the current one, so only
// entries of updated resources may link to it: not those of Resource Lists and
// Resource Dumps, nor those of created and deleted resources. Apply always removes a
// link without a type, because no Destination could apply the patch.
func (f *Filter) Apply(e *rsxml.Entry) {
	remove := func(l resourcesync.Link) bool {
		return Is(l) && (e.Metadata.Change != resourcesync.Updated || l.Type == "")
	}
	if !slices.ContainsFunc(e.Links, remove) {
		return
	}
	// Copy: the provider owns the slice.
	f.links = slices.DeleteFunc(append(f.links[:0], e.Links...), remove)
	e.Links = f.links
}
