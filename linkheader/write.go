package linkheader

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// AppendLink appends l to b as a link-value, one element of a Link header
// field. Whatever l holds, the result is a single well-formed element in
// visible ASCII, spaces and tabs, so that neither a header nor a link can be
// smuggled in:
//
//   - bytes of Target, Rel and Anchor that no URI contains are percent-encoded;
//   - control characters in the values of Params become spaces, as RFC 9110
//     has it (section 5.5), and bytes that are not UTF-8 become U+FFFD;
//   - values beyond ASCII are encoded by RFC 8187, under the name with an
//     asterisk;
//   - Params whose name is no token, or is rel or anchor, are left out.
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

// extended reports whether the parameters called name need the encoding of
// RFC 8187. Once one does they all must have it, because a reader drops the
// plain ones beside it.
func extended(params []Param, name string) bool {
	return slices.ContainsFunc(params, func(p Param) bool {
		return strings.EqualFold(p.Name, name) && strings.ContainsFunc(p.Value, beyondASCII)
	})
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

// validName reports whether a parameter may be called name: it is a token, does
// not end like an encoded one, and is not one of those that Link has fields for.
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

// appendRel appends the relation types in s, one space between each two.
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

// cleanText returns s as UTF-8 without control characters of ASCII but tabs.
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

// isSpace reports whether r separates words in a header. Line ends do because
// RFC 9110 reads them as spaces.
func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' }

// isURIChar reports whether c may stand in a URI reference (RFC 3986, section
// 2), the percent sign of an encoded byte included.
func isURIChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("-._~:/?#[]@!$&'()*+,;=%", c) >= 0
}

// isTokenChar reports whether c may stand in a token (RFC 9110, section 5.6.2).
func isTokenChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// isAttrChar reports whether RFC 8187 (section 3.2.1) leaves c as it is.
func isAttrChar(c byte) bool {
	return isAlphanumeric(c) || strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
