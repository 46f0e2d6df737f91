// Package rsxml encodes and decodes ResourceSync documents: Sitemaps and Sitemap
// indexes with the elements rs:md and rs:ln (core specification 1.1, section 7). It
// does not use HTTP.
//
// A document is a [Head] and entries of type [Entry]. To write one, append to a byte
// slice with [AppendHead], then with [AppendEntry] for each entry, then with
// [AppendTail]. Between these calls the writer may send the bytes and reuse the slice.
// To read one, range over [Decoder.Entries], or call [Decode] for a small document.
//
// The encoder is fast, and omits values that the decoder would refuse. The decoder is
// strict: it validates documents. With [Decoder.Tolerate] it reports violations and reads
// what it can, as a Destination must.
//
// Section numbers without a document refer to the core specification.
package rsxml

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// The namespaces of ResourceSync documents (section 4). They are names, not addresses:
// with "https" they would be other namespaces.
const (
	SitemapNS = "http://www.sitemaps.org/schemas/sitemap/0.9"
	TermsNS   = "http://www.openarchives.org/rs/terms/"
)

// The limits of the formats (section 7 and the Sitemap protocol).
const (
	MaxEntries = 50_000     // <url> or <sitemap> elements in a document
	MaxBytes   = 52_428_800 // bytes in a document, before compression: 50 MB
	MaxURI     = 2_048      // characters in a <loc>
)

// A Head is the part of a document before its first entry. A Head without a capability and
// without links belongs to a plain sitemap, without elements of ResourceSync.
type Head struct {
	Index    bool // <sitemapindex> with <sitemap> entries, else <urlset> with <url> entries
	Metadata Metadata
	Links    []resourcesync.Link
}

// An Entry is a <url> or <sitemap> element. Loc is mandatory; the zero values of
// the other fields mean "not stated".
type Entry struct {
	Loc        string
	LastMod    time.Time
	ChangeFreq string
	Metadata   Metadata
	Links      []resourcesync.Link
}

// Metadata is an rs:md element, of a document or of an entry (section 7). The zero
// value means that there is no element.
type Metadata struct {
	Capability resourcesync.Capability
	Change     resourcesync.ChangeType
	At         time.Time
	Completed  time.Time
	Datetime   time.Time
	From       time.Time
	Until      time.Time
	Encoding   string
	Hashes     []resourcesync.Hash
	Length     resourcesync.Length
	Path       string
	Type       string
	Attrs      []resourcesync.Attr
}

// SetResource sets e to the Resource List entry of r (section 10.1). e shares the slices
// of r. Its <lastmod> is LastModified of r in whole milliseconds: a host may keep more
// digits in one place than in another, and a time with other digits would be a different
// version.
func (e *Entry) SetResource(r *resourcesync.Resource) {
	*e = Entry{
		Loc:        r.URI,
		LastMod:    lastMod(r.LastModified),
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
// Every entry has a <lastmod>: if the resource has none that a document can state, it is the datetime of the
// change. Destinations of version 1.0 read the time of a change only there, and abort
// without it.
func (e *Entry) SetChange(c *resourcesync.Change) {
	if c.Type == resourcesync.Deleted {
		*e = Entry{Loc: c.Resource.URI, LastMod: lastMod(c.Resource.LastModified), Links: c.Resource.Links}
	} else {
		e.SetResource(&c.Resource)
	}
	if e.LastMod.IsZero() || !isTime(e.LastMod) {
		e.LastMod = c.Datetime
	}
	e.Metadata.Change = c.Type
	e.Metadata.Datetime = c.Datetime
}

// lastMod returns a LastModified in the precision of documents.
func lastMod(t time.Time) time.Time { return t.Truncate(time.Millisecond) }
