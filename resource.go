package resourcesync

import (
	"math"
	"slices"
	"strings"
	"time"
)

// MaxKeyLength is the greatest length of a [Resource] Key, in bytes. Pages of a
// Resource List are addressed by key ranges; the bound keeps their URLs short.
const MaxKeyLength = 720

// A Resource is one member of a set of resources: what an entry of a Resource
// List says about it (core specification, sections 7 and 10.1). Only Key and
// URI are mandatory; the zero value of every other field means "not stated".
//
// Strings in a Resource that a Provider yields stay valid for ever. The slices
// may be reused by the Provider for its next yield; see [Resource.Clone].
type Resource struct {
	// Key identifies the resource within its set and gives it its place:
	// sets are ordered by the bytes of their keys. 1 to MaxKeyLength bytes.
	// It is never published except, shortened, in the URLs of pages.
	Key string

	// URI is the absolute URI of the resource, at most 2,048 characters of
	// the alphabet of RFC 3986: the <loc> of its entry.
	URI string

	// LastModified is when the resource was last modified, as its HTTP
	// header of that name would say: the <lastmod> of its entry. It should
	// not be in the future; stores record such a time as unknown.
	LastModified time.Time

	// ChangeFreq is a hint: always, hourly, daily, weekly, monthly, yearly
	// or never.
	ChangeFreq string

	// Length is the content length of the representation that a GET of URI
	// returns, in bytes.
	Length Length

	// Type is the media type of that representation, without parameters.
	Type string

	// Encoding names the content codings applied to the representation, as
	// Content-Encoding would.
	Encoding string

	// Hashes are digests of that representation.
	Hashes []Hash

	// Links lead to related resources (section 14).
	Links []Link

	// Attrs are community-defined attributes of the entry's rs:md, each in
	// a namespace of its own (section 7).
	Attrs []Attr

	// Stamp is an opaque mark of the version seen, for example an entity
	// tag. A scanner compares it to find what has not changed; it is kept
	// by stores and never published. A new Stamp alone is no change.
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

// Equal reports whether r and o are the same in all fields. Times are equal when
// they are the same instant; nil and empty slices are equal.
func (r Resource) Equal(o Resource) bool {
	return r.Key == o.Key && r.Stamp == o.Stamp && r.EqualEntry(o)
}

// EqualEntry reports whether the entries of r and o in a Resource List are the
// same. A resource that differs in Stamp alone has not changed: what is listed
// of it is what was listed before.
func (r Resource) EqualEntry(o Resource) bool {
	return r.URI == o.URI &&
		r.LastModified.Equal(o.LastModified) && r.ChangeFreq == o.ChangeFreq &&
		r.Length == o.Length && r.Type == o.Type && r.Encoding == o.Encoding &&
		slices.Equal(r.Hashes, o.Hashes) &&
		slices.EqualFunc(r.Links, o.Links, Link.Equal) &&
		slices.Equal(r.Attrs, o.Attrs)
}

// A Length is a number of bytes that may be unknown, as that of a page made
// anew for each request is. The zero value is unknown, so that a host that
// says nothing does not claim that its resources are empty.
type Length struct{ plusOne int64 }

// Bytes returns a known Length of n bytes. A negative n is unknown.
func Bytes(n int64) Length { return Length{min(max(n, -1), math.MaxInt64-1) + 1} }

// Bytes returns the number of bytes, and whether it is known.
func (l Length) Bytes() (n int64, known bool) { return l.plusOne - 1, l.plusOne > 0 }

// A Hash is a digest of a bitstream (section 7, attribute hash).
type Hash struct {
	// Algorithm is the token before the colon: "md5", "sha-1", "sha-256".
	// Destinations in the field know these three.
	Algorithm string

	// Digest is the digest in lower-case hexadecimal.
	Digest string
}

// String returns h as it is written in a document: "sha-256:854f…".
func (h Hash) String() string { return h.Algorithm + ":" + h.Digest }

// AppendHashes parses s, a list of hashes separated by white space as the hash
// attribute holds it, and appends them to dst. It returns false, and dst as it
// was, if a token of s is not an algorithm and a digest joined by a colon.
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
// ResourceSync (section 7). Space is its namespace URI and must not be empty.
type Attr struct {
	Space, Name, Value string
}
