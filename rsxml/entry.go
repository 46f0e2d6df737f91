package rsxml

import "github.com/resourcesync-go/resourcesync"

// SetResource sets e to the Resource List entry of r (section 10.1). e shares the
// slices of r.
func (e *Entry) SetResource(r *resourcesync.Resource) {
	*e = Entry{
		Loc:        r.URI,
		LastMod:    r.LastModified,
		ChangeFreq: r.ChangeFreq,
		Metadata: Metadata{
			Encoding: r.Encoding,
			Hashes:   r.Hashes,
			Length:   r.Length,
			Type:     r.Type,
			Attrs:    r.Attrs,
		},
		Links: r.Links,
	}
}

// SetChange sets e to the Change List entry of c (section 12.1). e shares the slices
// of c. The entry of a deleted resource does not describe a representation, because
// there is none.
//
// Every entry has a <lastmod>: if the resource has none, it is the datetime of the
// change. Destinations of version 1.0 read the time of a change only there, and abort
// without it.
func (e *Entry) SetChange(c *resourcesync.Change) {
	if c.Type == resourcesync.Deleted {
		*e = Entry{Loc: c.Resource.URI, LastMod: c.Resource.LastModified, Links: c.Resource.Links}
	} else {
		e.SetResource(&c.Resource)
	}
	if e.LastMod.IsZero() {
		e.LastMod = c.Datetime
	}
	e.Metadata.Change = c.Type
	e.Metadata.Datetime = c.Datetime
}
