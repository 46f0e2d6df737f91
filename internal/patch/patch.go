// Package patch knows which entries may link to patches (section 14.4).
package patch

import (
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Is reports whether l leads to a patch.
func Is(l resourcesync.Link) bool { return l.Rel == resourcesync.RelPatch }

// A Filter takes links to patches out of entries where they have no place. The
// zero value is ready. It is used by one goroutine.
type Filter struct{ links []resourcesync.Link }

// Apply takes links to patches out of e, whose Links are then good until the next
// call. A patch makes a version of a resource out of the one before: only what
// tells of an update may link to it, not the entries of Resource Lists and Resource
// Dumps, nor those of created and deleted resources. What has no type goes in any
// case, because nobody could apply it.
func (f *Filter) Apply(e *rsxml.Entry) {
	goes := func(l resourcesync.Link) bool {
		return Is(l) && (e.Metadata.Change != resourcesync.Updated || l.Type == "")
	}
	if !slices.ContainsFunc(e.Links, goes) {
		return
	}
	// The links are those of whoever provides the resource.
	f.links = slices.DeleteFunc(append(f.links[:0], e.Links...), goes)
	e.Links = f.links
}
