// Package linkheader reads and writes the Link header field (RFC 8288, the successor
// of RFC 5988, which ResourceSync cites). Its middleware links resources to their
// Capability Lists (core specification, section 6.3.3).
package linkheader

import (
	"iter"
	"strings"
)

// A Link is one link-value of a Link header field (RFC 8288, section 3), without target
// attributes such as title and type, which ResourceSync does not use.
//
// [Parse] returns Links in a normal form: their fields contain only characters that URIs
// allow, with other bytes percent-encoded. [AppendLink] normalizes any Link.
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

// String returns l as a link-value of a Link header field; see [AppendLink].
func (l Link) String() string { return string(AppendLink(nil, l)) }

// AppendLink appends l to b as a link-value, one element of a Link header field. For
// any l, the result is a single well-formed element of visible ASCII and spaces, so l
// cannot inject a header or a link: bytes that URIs do not allow are percent-encoded.
func AppendLink(b []byte, l Link) []byte {
	b = append(b, '<')
	b = appendURI(b, l.Target)
	b = append(b, `>; rel="`...)
	b = appendRel(b, l.Rel)
	b = append(b, '"')
	if l.Anchor != "" {
		b = append(b, `; anchor="`...)
		b = appendURI(b, l.Anchor)
		b = append(b, '"')
	}
	return b
}

func appendURI(b []byte, s string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; isURIChar(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}

// appendRel appends the relation types in s, separated by single spaces.
func appendRel(b []byte, s string) []byte {
	start := len(b)
	for field := range strings.FieldsFuncSeq(s, isSpace) {
		if len(b) > start {
			b = append(b, ' ')
		}
		b = appendURI(b, field)
	}
	return b
}

// isSpace reports whether r separates words in a header. RFC 9110 treats line ends as
// spaces.
func isSpace(r rune) bool { return strings.ContainsRune(space, r) }

const space = " \t\r\n"

// isURIChar reports whether a URI reference may contain c (RFC 3986, section 2). The
// percent sign of an encoded byte is included.
func isURIChar(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' ||
		strings.IndexByte("-._~:/?#[]@!$&'()*+,;=%", c) >= 0
}

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
