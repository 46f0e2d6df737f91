// Package linkheader reads and writes the Link header field (RFC 8288, which
// replaced the RFC 5988 that ResourceSync cites), and announces Capability
// Lists with it (core specification, section 6.3.3).
package linkheader

import (
	"iter"
	"strings"
)

// A Link is one link-value of a Link header field (RFC 8288, section 3).
//
// [Parse] yields Links in a normal form: Target, Rel and Anchor are in the
// alphabet of URIs, other bytes percent-encoded, and the values of Params are
// UTF-8 without control characters. [AppendLink] brings any Link into it.
type Link struct {
	// Target is the reference between < and >. It may be relative to the URI
	// of the answer that the header came with.
	Target string

	// Rel holds the relation types, separated by spaces, in the case they
	// were written in. A link has at least one.
	Rel string

	// Anchor is the reference of the link's context if that is not the
	// resource that the answer is about. If empty, it is that resource.
	Anchor string

	// Params are the target attributes in the order written: title, type and
	// so on. Most may be repeated.
	Params []Param
}

// A Param is a target attribute of a [Link] (RFC 8288, section 3.4).
type Param struct {
	// Name is a token, in lower case after [Parse] and without the asterisk
	// that marks the encoding of RFC 8187 in the header itself.
	Name string

	// Value is the text meant, with all quoting and encoding undone.
	Value string
}

// HasRel reports whether rel is among the relation types of l. As RFC 8288
// wants it of registered types and of URIs (section 2.1), case does not count.
func (l Link) HasRel(rel string) bool {
	for field := range strings.FieldsSeq(l.Rel) {
		if strings.EqualFold(field, rel) {
			return true
		}
	}
	return false
}

// Param returns the value of the first of l's Params that is called name in
// whatever case, and "" if there is none.
func (l Link) Param(name string) string {
	for _, p := range l.Params {
		if strings.EqualFold(p.Name, name) {
			return p.Value
		}
	}
	return ""
}

// String returns l as it is written in a header.
func (l Link) String() string { return string(AppendLink(nil, l)) }

// Find yields the links of relation type rel from the resource that the answer
// is about. Links with an Anchor are not among them: they lead from elsewhere.
func Find(links []Link, rel string) iter.Seq[Link] {
	return func(yield func(Link) bool) {
		for _, l := range links {
			if l.Anchor == "" && l.HasRel(rel) && !yield(l) {
				return
			}
		}
	}
}
