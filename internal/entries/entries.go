// Package entries converts resources and changes to the entries of documents. It also
// computes the sizes of entries, by which sets and journals are divided into documents.
package entries

import (
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// IsPatch reports whether l leads to a patch (section 14.4).
func IsPatch(l resourcesync.Link) bool { return l.Rel == resourcesync.RelPatch }

// A Builder builds one entry at a time, and reuses its memory for the next. It removes
// links to patches from entries that must not have them. The zero value is ready for use.
// A Builder is not safe for concurrent use.
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

// Size returns the size of e, in bytes, in a document with the head h.
func (b *Builder) Size(h *rsxml.Head, e *rsxml.Entry) int {
	b.text, _ = rsxml.AppendEntry(b.text[:0], h, e)
	return len(b.text)
}

// full is the head of a document whose entries are written in full.
var full = rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList}}

// ResourceSize returns the size of the entry of r in a Resource List, in bytes.
func (b *Builder) ResourceSize(r *resourcesync.Resource) int { return b.Size(&full, b.Resource(r)) }

// ChangeSize returns the size of the entry of c in a Change List, in bytes.
func (b *Builder) ChangeSize(c *resourcesync.Change) int { return b.Size(&full, b.Change(c)) }

// withoutPatches removes misplaced links to patches. A patch turns the previous version
// of a resource into this one, so only the entry of an update may link to it. A
// Destination cannot apply a patch whose type is unknown.
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
