package rsxml

import "github.com/resourcesync-go/resourcesync"

// SetResource makes e the Resource List entry of r (section 10.1). It borrows
// the slices of r and resets every other field of e.
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

// SetChange makes e the Change List entry of c (section 12.1). It borrows the
// slices of c and resets every other field of e. What describes a
// representation is left out of the entry of a deleted resource, which has
// none any more.
//
// Every entry has a <lastmod>: if the resource states none, it is the datetime of
// the change. Destinations of version 1.0 of the specification read the time of a
// change only there, and abort without it.
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
