// Package entries makes the entries of documents from resources and changes.
package entries

import (
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// IsPatch reports whether l leads to a patch (section 14.4).
func IsPatch(l resourcesync.Link) bool { return l.Rel == resourcesync.RelPatch }

// A Builder makes one entry after the other, reusing the memory of the last. It removes
// links to patches from entries that must not have them. The zero value is ready. A
// Builder is not safe for concurrent use.
type Builder struct {
	entry rsxml.Entry
	links []resourcesync.Link
	text  []byte
}

// Resource returns the entry of r. It is valid until the next call of a method.
func (b *Builder) Resource(r *resourcesync.Resource) *rsxml.Entry {
	b.entry.SetResource(r)
	return b.withoutPatches()
}

// Change returns the entry of c. It is valid until the next call of a method.
func (b *Builder) Change(c *resourcesync.Change) *rsxml.Entry {
	b.entry.SetChange(c)
	return b.withoutPatches()
}

// Size returns the bytes of e in a document with the head h.
func (b *Builder) Size(h *rsxml.Head, e *rsxml.Entry) int {
	b.text, _ = rsxml.AppendEntry(b.text[:0], h, e)
	return len(b.text)
}

// full is the head of a document whose entries are written in full.
var full = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}

// ResourceSize returns the bytes of the entry of r in a Resource List.
func (b *Builder) ResourceSize(r *resourcesync.Resource) int { return b.Size(&full, b.Resource(r)) }

// ChangeSize returns the bytes of the entry of c in a Change List.
func (b *Builder) ChangeSize(c *resourcesync.Change) int { return b.Size(&full, b.Change(c)) }

// withoutPatches removes misplaced links to patches. A patch turns the previous version
// of a resource into this one, so only the entry of an update may link to it. Nobody
// could apply a patch without a type.
func (b *Builder) withoutPatches() *rsxml.Entry {
	e := &b.entry
	misplaced := func(l resourcesync.Link) bool {
		return IsPatch(l) && (e.Metadata.Change != resourcesync.Updated || l.Type == "")
	}
	if slices.ContainsFunc(e.Links, misplaced) {
		b.links = slices.DeleteFunc(append(b.links[:0], e.Links...), misplaced) // e.Links is the provider's
		e.Links = b.links
	}
	return e
}
