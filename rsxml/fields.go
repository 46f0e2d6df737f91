package rsxml

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
)

// The functions below are the only ones that decide which values the encoder writes:
// [AppendEntry] omits the values that they refuse, and [CheckEntry] explains them. None
// accepts more than a [Decoder] does.

func isChangeFreq(s string) bool {
	return slices.Contains([]string{"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}, s)
}

// isMediaType reports whether s is a media type (RFC 9110, section 8.3.1):
// "type/subtype", and parameters after a semicolon.
func isMediaType(s string) bool {
	slash := tokenEnd(s)
	if slash == 0 || slash == len(s) || s[slash] != '/' || len(s) > maxValue {
		return false
	}
	rest := s[slash+1:]
	end := tokenEnd(rest)
	if end == 0 {
		return false
	}
	return end == len(rest) || isParameters(rest[end:])
}

// isParameters reports whether s begins with a semicolon, after optional spaces, and
// needs no escaping in an XML attribute.
func isParameters(s string) bool {
	return strings.HasPrefix(strings.TrimLeft(s, " "), ";") && !hasSpecial(s)
}

// isCodings reports whether s is a list of content codings in the syntax of
// Content-Encoding (RFC 9110, section 8.4).
func isCodings(s string) bool {
	if len(s) > maxValue {
		return false
	}
	for s != "" {
		n := tokenEnd(s)
		if n == 0 {
			return false
		}
		if n == len(s) {
			return true
		}
		next, ok := strings.CutPrefix(strings.TrimLeft(s[n:], " "), ",")
		if !ok {
			return false
		}
		s = strings.TrimLeft(next, " ")
	}
	return false
}

// isRelation reports whether s is a relation type: a registered name or a URI
// (section 7, and RFC 8288, section 2.1).
func isRelation(s string) bool {
	if s == "" || len(s) > MaxURI {
		return false
	}
	if c := s[0]; c < 'a' || 'z' < c {
		return checkURI(s) == nil
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || 'z' < c) && !isDigit(c) && c != '.' && c != '-' {
			return checkURI(s) == nil
		}
	}
	return true
}

// checkHref is checkURI for the href of a link.
func checkHref(s string) error {
	if len(s) > maxValue {
		return errors.New("is too long")
	}
	return checkURI(s)
}

// isPath reports whether s can be the path of a bitstream in a package.
func isPath(s string) bool { return strings.HasPrefix(s, "/") && len(s) <= maxValue }

// isAttr reports whether the encoder can write a. It refuses a namespace with
// characters that XML cannot express, because that would become another namespace.
func isAttr(a *resourcesync.Attr) bool {
	return len(a.Space) <= MaxURI && len(a.Name) <= MaxURI && expressible(a) && isText(a.Space)
}

// The reserved namespaces of XML. The first has a fixed prefix; the second cannot have
// attributes.
const (
	xmlNS   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNS = "http://www.w3.org/2000/xmlns/"
)

// expressible reports whether XML can express a as a community-defined attribute. Its
// namespace must be an absolute URI, so it has a colon, and must not be a namespace of
// ResourceSync documents or a misspelling of one.
func expressible(a *resourcesync.Attr) bool {
	return a.Space != xmlnsNS && strings.Contains(a.Space, ":") && isNCName(a.Name) &&
		!sameNS(a.Space, SitemapNS) && !sameNS(a.Space, TermsNS) && !isOtherTerms(a.Space)
}

// isNCName reports whether s is an XML name without a colon that every parser accepts:
// one of the letters of Latin-1 and ASCII. Parsers differ about other letters, because
// parsers of Go and Java follow the fourth edition of XML 1.0.
func isNCName(s string) bool {
	for i, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', r == '_':
		case '\u00c0' <= r && r <= '\u00ff' && r != '\u00d7' && r != '\u00f7':
		case i > 0 && ('0' <= r && r <= '9' || r == '-' || r == '.' || r == '\u00b7'):
		default:
			return false
		}
	}
	return s != ""
}

// isText reports whether XML can express s unchanged.
func isText(s string) bool {
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return false
		}
	}
	return utf8.ValidString(s)
}

// isAlgorithm reports whether s names a hash algorithm.
func isAlgorithm(s string) bool {
	switch s {
	case "sha-256", "md5", "sha-1":
		return true
	}
	return s != "" && len(s) <= maxValue && tokenEnd(s) == len(s)
}

// tokenEnd returns the length of the token at the beginning of s: a token of RFC 9110,
// section 5.6.2, without the characters that XML escapes.
func tokenEnd(s string) int {
	for i := range len(s) {
		if !tokenChars[s[i]] {
			return i
		}
	}
	return len(s)
}

var tokenChars = alphanumericOr("!#$%*+-.^_`|~")

// appendHex appends s, and reports whether s consists of hexadecimal digits. If not,
// the caller must discard the appended bytes. Digests are a third of the bytes of a
// list, so it works on eight bytes at a time.
func appendHex(b []byte, s string) (_ []byte, ok bool) {
	n := len(b)
	b = slices.Grow(b, len(s))[:n+len(s)]
	dst := b[n:]
	i := 0
	for ; i <= len(s)-8; i += 8 {
		w := word(s[i : i+8])
		if !allHex(w) {
			return b, false
		}
		binary.LittleEndian.PutUint64(dst[i:i+8], w)
	}
	for ; i < len(s); i++ {
		if !isHex(s[i]) {
			return b, false
		}
		dst[i] = s[i]
	}
	return b, s != ""
}

// allHex reports whether each byte of w is a hexadecimal digit. Adding 0x80-c to a byte
// of ASCII sets its highest bit if the byte is at least c.
func allHex(w uint64) bool {
	digit := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones)
	l := w | ' '*ones
	letter := (l + (0x80-'a')*ones) &^ (l + (0x80-'f'-1)*ones)
	return w&highs == 0 && (digit|letter)&highs == highs
}
