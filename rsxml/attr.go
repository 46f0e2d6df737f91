package rsxml

import (
	"strconv"
	"strings"

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

// isNCName reports whether s is an XML name without a colon that every parser accepts:
// one of the letters of Latin-1 and ASCII. Parsers differ about other letters, because
// those of Go and Java follow the fourth edition of XML 1.0.
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
