package resourcesync

import (
	"slices"
	"time"
)

// A Link is an rs:ln element: a typed link from a resource or a document (sections 7
// and 14). Rel and Href are mandatory. The other fields describe the target, and
// their zero values mean "not stated".
type Link struct {
	Rel  string // a Rel constant, another registered relation type, or a URI
	Href string // an absolute URI

	Encoding string
	Hashes   []Hash
	Length   Length
	Modified time.Time // when the target was last modified
	Path     string    // the target's path in the package, in manifests only
	Pri      int       // 1 (first) to 999,999 among links of one Rel
	Type     string    // the target's media type
	Attrs    []Attr
}

// Equal reports whether l and o are equal. Times are equal if they are the same
// instant; nil and empty slices are equal.
func (l Link) Equal(o Link) bool {
	return l.Rel == o.Rel && l.Href == o.Href && l.Encoding == o.Encoding &&
		l.Length == o.Length && l.Modified.Equal(o.Modified) &&
		l.Path == o.Path && l.Pri == o.Pri && l.Type == o.Type &&
		slices.Equal(l.Hashes, o.Hashes) && slices.Equal(l.Attrs, o.Attrs)
}

// The relation types of the specification. Others must be registered with IANA or be
// URIs (section 7).
const (
	RelArchives     = "archives"     // the archive of a list or dump (Archives, 2)
	RelAlternate    = "alternate"    // another representation (14.3)
	RelCanonical    = "canonical"    // the generic URI of a specific one (14.3)
	RelCollection   = "collection"   // a collection that contains the resource (14.7)
	RelContents     = "contents"     // the manifest of a package (11.1, 13.1)
	RelDescribedBy  = "describedby"  // a description, or metadata (8, 9, 14.5)
	RelDescribes    = "describes"    // the subject of a metadata record (14.5)
	RelDuplicate    = "duplicate"    // a mirror (14.2)
	RelHub          = "hub"          // a WebSub hub (Change Notification, 5)
	RelIndex        = "index"        // the index that lists a document (6.2)
	RelMemento      = "memento"      // a version of the resource (14.6)
	RelProfile      = "profile"      // the format of a metadata record (14.5)
	RelResourceSync = "resourcesync" // a Capability List, in HTTP and HTML (6.3.3)
	RelSelf         = "self"         // a topic's own URI (Change Notification, 4.1)
	RelTimeGate     = "timegate"     // a Memento TimeGate (14.6)
	RelTimeMap      = "timemap"      // a Memento TimeMap (14.6)
	RelUp           = "up"           // one level up in the document tree (6.2)
	RelVia          = "via"          // the original of a republished resource (14.8)

	// RelPatch is the type of a link to a patch: the difference between the previous
	// and the current version of a resource (14.4).
	RelPatch = "http://www.openarchives.org/rs/terms/patch"
)
