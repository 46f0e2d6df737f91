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

// An Entry is a <url> or <sitemap> element. Loc is mandatory.
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
