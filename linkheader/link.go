// Package linkheader reads and writes the Link header field (RFC 8288, the successor
// of RFC 5988, which ResourceSync cites). Its middleware links resources to their
// Capability Lists (core specification, section 6.3.3).
package linkheader

import (
	"iter"
	"strings"
)

// A Link is one link-value of a Link header field (RFC 8288, section 3).
//
// [Parse] returns Links in a normal form: Target, Rel and Anchor contain only
// characters that URIs allow, with other bytes percent-encoded, and the values of
// Params are UTF-8 without control characters. [AppendLink] normalizes any Link.
type Link struct {
	// Target is the reference between < and >. It may be relative to the URI
	// of the response that has the header.
	Target string

	// Rel is the relation types, separated by spaces, in their original case.
	// A link has at least one.
	Rel string

	// Anchor is the link's context. If it is empty, the context is the requested
	// resource.
	Anchor string

	// Params are the target attributes, such as title and type, in their
	// original order. Most may be repeated.
	Params []Param
}

// A Param is a target attribute of a [Link] (RFC 8288, section 3.4).
type Param struct {
	// Name is a token. Parse returns it in lower case and without the asterisk
	// that marks the encoding of RFC 8187 in the header.
	Name string

	// Value is the decoded value, without quotation marks and escapes.
	Value string
}

// HasRel reports whether rel is among the relation types of l, ignoring case (RFC
// 8288, section 2.1).
func (l Link) HasRel(rel string) bool {
	for field := range strings.FieldsSeq(l.Rel) {
		if strings.EqualFold(field, rel) {
			return true
		}
	}
	return false
}

// Param returns the value of the first of l's Params with that name, ignoring case,
// and "" if there is none.
func (l Link) Param(name string) string {
	for _, p := range l.Params {
		if strings.EqualFold(p.Name, name) {
			return p.Value
		}
	}
	return ""
}

// String returns l as a link-value of a Link header field; see [AppendLink].
func (l Link) String() string { return string(AppendLink(nil, l)) }

// Find yields the links of relation type rel whose context is the requested resource:
// those without an Anchor.
func Find(links []Link, rel string) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for _, l := range links {
			if l.Anchor == "" && l.HasRel(rel) && !yield(l) {
				return
			}
		}
	}
}
