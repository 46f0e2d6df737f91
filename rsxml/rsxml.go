// Package rsxml turns ResourceSync documents into bytes and bytes into
// ResourceSync documents: Sitemaps and Sitemap indexes with the elements rs:md
// and rs:ln (core specification 1.1, section 7). It knows nothing of HTTP.
//
// A document is a [Head] and entries of type [Entry]. Writing one is appending
// to a byte slice, [AppendHead], then [AppendEntry] for each entry, then
// [AppendTail]; the writer may hand on what it has and reuse the slice at any
// point between. Reading one is ranging over [Decoder.Entries], or [Decode] for
// small ones.
//
// The encoder is quick, and leaves out values that a strict decoder would refuse.
// The decoder is strict by default, and is meant for checking documents as much as
// for harvesting them.
package rsxml

import (
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// The namespaces of ResourceSync documents (section 4). They are names, not
// addresses: "https" would be another namespace.
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

// A Head is what a document says about itself: everything before its first
// entry. A Head without a capability and without links is that of a plain
// sitemap, which has nothing of ResourceSync in it.
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

// Metadata is an rs:md element, of a document or of an entry (section 7). The
// zero value is no element at all.
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
