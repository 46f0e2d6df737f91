package rsxml

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/resourcesync-go/resourcesync"
)

// The reserved namespaces of XML. The first has a fixed prefix; the second cannot have
// attributes.
const (
	xmlNS   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNS = "http://www.w3.org/2000/xmlns/"
)

// attrs appends community-defined attributes (section 7). They are rare, so each
// element declares their namespaces itself, and an entry does not depend on the head
// of its document. Elements have a handful of attributes, so a linear search for
// repeated ones is cheap and needs no memory.
func (w *writer) attrs(attrs []resourcesync.Attr) {
	for i := range attrs {
		if !isAttr(&attrs[i]) || repeated(attrs[:i], &attrs[i]) {
			w.dropped++
			continue
		}
		before := len(w.b)
		w.attr(attrs, i)
		if len(w.b) > w.limit {
			// The following attributes may need the prefix of this one.
			w.b = w.b[:before]
			w.dropped += len(attrs) - i
			return
		}
	}
}

// attr appends attrs[i].
func (w *writer) attr(attrs []resourcesync.Attr, i int) {
	a := &attrs[i]
	b := append(w.b, ' ')
	if a.Space == xmlNS {
		b = append(b, "xml"...)
	} else {
		// A prefix has the number of the first attribute that needs it.
		first := 0
		for !(attrs[first].Space == a.Space && isAttr(&attrs[first])) {
			first++
		}
		if first == i {
			b = append(b, "xmlns:"...)
			b = appendPrefix(b, first)
			b = append(b, `="`...)
			b = appendText(b, a.Space)
			b = append(b, `" `...)
		}
		b = appendPrefix(b, first)
	}
	b = append(b, ':')
	b = append(b, a.Name...)
	b = append(b, `="`...)
	b = appendText(b, a.Value)
	w.b = append(b, '"')
}

func appendPrefix(b []byte, n int) []byte {
	return strconv.AppendInt(append(b, "ns"...), int64(n)+1, 10)
}

func repeated(before []resourcesync.Attr, a *resourcesync.Attr) bool {
	for i := range before {
		if before[i].Name == a.Name && before[i].Space == a.Space {
			return true
		}
	}
	return false
}

// expressible reports whether XML can express a as a community-defined attribute. Its
// namespace must be an absolute URI, so it has a colon, and must not be a namespace of
// ResourceSync documents or a misspelling of one.
func expressible(a *resourcesync.Attr) bool {
	return a.Space != xmlnsNS && strings.Contains(a.Space, ":") && isNCName(a.Name) &&
		!sameNS(a.Space, SitemapNS) && !sameNS(a.Space, TermsNS)
}

// isNCName reports whether s is an XML name without a colon, by the fifth
// edition of XML 1.0.
func isNCName(s string) bool {
	for i, r := range s {
		if !unicode.Is(nameStart, r) && (i == 0 || !unicode.Is(nameInner, r)) {
			return false
		}
	}
	return s != ""
}

// nameStart is NameStartChar of XML 1.0, section 2.3, without the colon. nameInner is
// the rest of NameChar.
var (
	nameStart = &unicode.RangeTable{
		R16: []unicode.Range16{
			{'A', 'Z', 1},
			{'_', '_', 1},
			{'a', 'z', 1},
			{0x00C0, 0x00D6, 1},
			{0x00D8, 0x00F6, 1},
			{0x00F8, 0x02FF, 1},
			{0x0370, 0x037D, 1},
			{0x037F, 0x1FFF, 1},
			{0x200C, 0x200D, 1},
			{0x2070, 0x218F, 1},
			{0x2C00, 0x2FEF, 1},
			{0x3001, 0xD7FF, 1},
			{0xF900, 0xFDCF, 1},
			{0xFDF0, 0xFFFC, 1}, // without U+FFFD, to which invalid UTF-8 decodes
		},
		R32:         []unicode.Range32{{0x10000, 0xEFFFF, 1}},
		LatinOffset: 5,
	}
	nameInner = &unicode.RangeTable{
		R16: []unicode.Range16{
			{'-', '.', 1},
			{'0', '9', 1},
			{0x00B7, 0x00B7, 1},
			{0x0300, 0x036F, 1},
			{0x203F, 0x2040, 1},
		},
		LatinOffset: 3,
	}
)
