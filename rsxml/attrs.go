package rsxml

import (
	"slices"
	"strconv"

	"github.com/resourcesync-go/resourcesync"
)

// attrs appends community-defined attributes (section 7). They are rare, so each
// element declares their namespaces itself, and an entry does not depend on the head
// of its document. Elements have a handful of attributes, so a linear search for
// repeated ones is cheap and needs no memory.
func (w *writer) attrs(attrs []resourcesync.Attr) {
	full := false
	for i := range attrs {
		a := &attrs[i]
		remedy := ""
		before := len(w.b)
		switch {
		case !isAttr(a):
			remedy = "use an absolute URI of your own as Space, and an XML name without a colon as Name"
		case slices.ContainsFunc(attrs[:i], func(b resourcesync.Attr) bool { return b.Name == a.Name && b.Space == a.Space }):
			remedy = "there is another one with this name"
		case full:
			remedy = longEntry
		default:
			w.attr(attrs, i)
			if len(w.b) <= w.limit {
				continue
			}
			// The following attributes may need the prefix of this one.
			w.b, full, remedy = w.b[:before], true, longEntry
		}
		w.drop("Attrs["+strconv.Itoa(i)+"]", a.Space+" "+a.Name, remedy)
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
