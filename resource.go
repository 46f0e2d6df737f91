package resourcesync

import (
	"math"
	"slices"
	"strings"
	"time"
)

// MaxKeyLength is the maximum length of a [Resource] Key, in bytes. The URLs of pages
// contain keys; the limit keeps them short.
const MaxKeyLength = 720

// A Resource is a member of a set, with the fields of its entry in a Resource List
// (sections 7 and 10.1). Only Key and URI are mandatory; the zero value of every other
// field means "not stated".
//
// Strings in a Resource that a Provider yields stay valid for ever. The Provider may
// reuse the slices for its next yield; see [Resource.Clone].
type Resource struct {
	// Key identifies the resource within its set and determines its position:
	// sets are ordered by the bytes of their keys. It has 1 to MaxKeyLength
	// bytes. Keys are not published, except that the URLs of pages contain
	// prefixes of them.
	Key string

	// URI is the absolute URI of the resource, the <loc> of its entry: at most
	// 2,048 characters, all of them allowed by RFC 3986.
	URI string

	// LastModified is the <lastmod> of the entry: the time that the HTTP header
	// of that name would have. It should not be in the future; stores record
	// such a time as unknown. Entries of resources state whole milliseconds; they omit a time
	// before the year 0 or after the year 9999.
	LastModified time.Time

	// ChangeFreq is a hint: always, hourly, daily, weekly, monthly, yearly
	// or never.
	ChangeFreq string

	// Length is the number of bytes of the representation that a GET of URI
	// returns.
	Length Length

	// Type is the media type of that representation, without parameters.
	Type string

	// Encoding is the content codings of the representation, in the syntax of
	// Content-Encoding.
	Encoding string

	// Hashes are digests of that representation.
	Hashes []Hash

	// Links lead to related resources (section 14).
	Links []Link

	// Attrs are community-defined attributes of the entry's rs:md element, each
	// in a namespace of its own (section 7).
	Attrs []Attr

	// Stamp is an opaque mark of the version that a scanner saw, for example an
	// entity tag. Scanners compare it to recognize unchanged resources. Stores
	// keep it and never publish it. A new Stamp alone is not a change.
	Stamp string
}

// Clone returns a copy of r that shares no slice with it.
func (r Resource) Clone() Resource {
	r.Hashes = slices.Clone(r.Hashes)
	r.Links = slices.Clone(r.Links)
	for i := range r.Links {
		r.Links[i].Hashes = slices.Clone(r.Links[i].Hashes)
		r.Links[i].Attrs = slices.Clone(r.Links[i].Attrs)
	}
	r.Attrs = slices.Clone(r.Attrs)
	return r
}

// Equal reports whether all fields of r and o are equal. Times are equal if they are
// the same instant; nil and empty slices are equal.
func (r Resource) Equal(o Resource) bool {
	return r.Key == o.Key && r.Stamp == o.Stamp && r.EqualEntry(o)
}

// EqualEntry reports whether r and o have the same entry in a Resource List: whether
// all fields but Key and Stamp are equal.
func (r Resource) EqualEntry(o Resource) bool {
	return r.URI == o.URI &&
		r.LastModified.Equal(o.LastModified) && r.ChangeFreq == o.ChangeFreq &&
		r.Length == o.Length && r.Type == o.Type && r.Encoding == o.Encoding &&
		slices.Equal(r.Hashes, o.Hashes) &&
		slices.EqualFunc(r.Links, o.Links, Link.Equal) &&
		slices.Equal(r.Attrs, o.Attrs)
}

// A Length is a number of bytes that may be unknown, for example for a generated page.
// The zero value is unknown, so that a host that sets no Length does not claim that its
// resources are empty.
type Length struct{ plusOne int64 }

// Bytes returns a Length of n bytes. If n is negative, the Length is unknown.
func Bytes(n int64) Length { return Length{min(max(n, -1), math.MaxInt64-1) + 1} }

// Bytes returns the number of bytes, and whether it is known.
func (l Length) Bytes() (n int64, known bool) { return l.plusOne - 1, l.plusOne > 0 }

// A Hash is a digest of a bitstream (section 7, attribute hash).
type Hash struct {
	// Algorithm is the token before the colon. Existing Destinations know
	// "md5", "sha-1" and "sha-256".
	Algorithm string

	// Digest is the digest in lower-case hexadecimal.
	Digest string
}

// String returns h as documents state it: "sha-256:854f…".
func (h Hash) String() string { return h.Algorithm + ":" + h.Digest }

// AppendHashes parses s, the value of a hash attribute, and appends its hashes to
// dst. s is a list separated by white space. If an element is not an algorithm and a
// digest joined by a colon, AppendHashes returns dst unchanged and false.
func AppendHashes(dst []Hash, s string) (_ []Hash, ok bool) {
	out := dst
	for field := range strings.FieldsSeq(s) {
		algorithm, digest, found := strings.Cut(field, ":")
		if !found || algorithm == "" || digest == "" {
			return dst, false
		}
		out = append(out, Hash{algorithm, digest})
	}
	return out, true
}

// An Attr is an attribute that a community defines beside those of
// ResourceSync (section 7). Space is its namespace URI and must not be empty. Name
// begins with a letter of ASCII or Latin-1 or with '_'; digits, '-' and '.' may follow.
type Attr struct {
	Space, Name, Value string
}

// A ChangeType is the value of the change attribute (section 7).
type ChangeType string

// The types of changes.
const (
	Created ChangeType = "created"
	Updated ChangeType = "updated"
	Deleted ChangeType = "deleted"
)

// A Change is an entry of a Change List (section 12.1): the creation, update or
// deletion of a resource.
type Change struct {
	// Type says what happened.
	Type ChangeType

	// Datetime is when the change happened, or became known: the datetime
	// attribute of its entry. It is mandatory, because Destinations continue
	// from the last one they have seen. The journals of this module assign
	// strictly increasing datetimes, at least a microsecond apart.
	Datetime time.Time

	// Resource is the resource after the change. A deleted resource needs only
	// its Key and URI.
	Resource Resource
}

// An Interval is a span of time that excludes From and includes Until, as from and
// until do in documents (sections 7 and 12.1). The From of an interval is the Until of
// the previous one, so each change is in exactly one interval. The zero value is all
// of time.
type Interval struct {
	From  time.Time // zero: no beginning
	Until time.Time // zero: open
}

// Contains reports whether t is in iv.
func (iv Interval) Contains(t time.Time) bool {
	return (iv.From.IsZero() || t.After(iv.From)) && (iv.Until.IsZero() || !t.After(iv.Until))
}

// Open reports whether iv has no end yet.
func (iv Interval) Open() bool { return iv.Until.IsZero() }

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
