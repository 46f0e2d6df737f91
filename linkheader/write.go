package linkheader

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// AppendLink appends l to b as a link-value, one element of a Link header field. For
// any l, the result is a single well-formed element of visible ASCII, spaces and
// tabs, so l cannot inject a header or a link:
//
//   - bytes of Target, Rel and Anchor that URIs do not allow are percent-encoded;
//   - control characters in the values of Params become spaces (RFC 9110, section
//     5.5), and invalid UTF-8 becomes U+FFFD;
//   - values with other than ASCII characters are encoded by RFC 8187, and their
//     names get an asterisk;
//   - Params whose name is not a token, or is rel or anchor, are omitted.
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
	for _, p := range l.Params {
		if !validName(p.Name) {
			continue
		}
		b = append(b, "; "...)
		b = append(b, p.Name...)
		if extended(l.Params, p.Name) {
			b = append(b, "*=UTF-8''"...)
			b = appendPercent(b, cleanText(p.Value), isAttrChar)
		} else {
			b = append(b, `="`...)
			b = appendQuoted(b, cleanText(p.Value))
			b = append(b, '"')
		}
	}
	return b
}

// extended reports whether the parameters called name need the encoding of RFC 8187.
// If one does, all must have it, because a reader drops the plain ones.
func extended(params []Param, name string) bool {
	return slices.ContainsFunc(params, func(p Param) bool {
		return strings.EqualFold(p.Name, name) && strings.ContainsFunc(p.Value, beyondASCII)
	})
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

// validName reports whether a parameter may be called name: a token that does not end
// in an asterisk and is not rel or anchor, which are fields of Link.
func validName(name string) bool {
	if name == "" || name[len(name)-1] == '*' ||
		strings.EqualFold(name, "rel") || strings.EqualFold(name, "anchor") {
		return false
	}
	for i := range len(name) {
		if !isTokenChar(name[i]) {
			return false
		}
	}
	return true
}

func appendURI(b []byte, s string) []byte { return appendPercent(b, s, isURIChar) }

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

func appendPercent(b []byte, s string, keep func(byte) bool) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; keep(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return b
}

func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return b
}

// cleanText returns s as valid UTF-8 without ASCII control characters except tabs.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, s)
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }

// isSpace reports whether r separates words in a header. RFC 9110 treats line ends as
// spaces.
func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }

// isURIChar reports whether a URI reference may contain c (RFC 3986, section 2). The
// percent sign of an encoded byte is included.
func isURIChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("-._~:/?#[]@!$&'()*+,;=%", c) >= 0
}

// isTokenChar reports whether a token may contain c (RFC 9110, section 5.6.2).
func isTokenChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// isAttrChar reports whether RFC 8187 (section 3.2.1) leaves c unencoded.
func isAttrChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
