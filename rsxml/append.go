package rsxml

import (
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// AppendHead appends the beginning of a document to b and returns the extended
// slice: the XML declaration, the start tag of the root, and what h says of the
// document, links first, as the examples of the specification have it (section
// 7). Entries and the tail follow.
//
// The encoder writes what it is given and reports no errors; whatever the
// strings hold, the result is well-formed XML of the same text. Characters that
// XML cannot express become U+FFFD, times outside the years 0000 to 9999 the
// nearest that is inside, and a Pri outside 1 to 999,999 is left out. A
// [resourcesync.Attr] is left out if its name is not an XML name without a
// colon, if its namespace is no absolute URI, one of SitemapNS and TermsNS, or
// the one that XML reserves, or if the element has an attribute of that name and
// namespace already.
func AppendHead(b []byte, h *Head) []byte {
	b = append(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"...)
	if h.Index {
		b = append(b, `<sitemapindex xmlns="`+SitemapNS+`"`...)
	} else {
		b = append(b, `<urlset xmlns="`+SitemapNS+`"`...)
	}
	if h.plain() {
		return append(b, ">\n"...)
	}
	b = append(b, ` xmlns:rs="`+TermsNS+"\">\n"...)
	b = appendLinks(b, h.Links)
	return appendMetadata(b, &h.Metadata)
}

// AppendEntry appends e to b and returns the extended slice. It allocates
// nothing when b has room. The document is that of h: in an index, e is a
// <sitemap>, and in a plain sitemap its metadata and links are left out.
func AppendEntry(b []byte, h *Head, e *Entry) []byte {
	if h.Index {
		b = append(b, "<sitemap>\n<loc>"...)
	} else {
		b = append(b, "<url>\n<loc>"...)
	}
	b = appendText(b, e.Loc)
	b = append(b, "</loc>\n"...)
	if !e.LastMod.IsZero() {
		b = append(b, "<lastmod>"...)
		b = appendTime(b, e.LastMod)
		b = append(b, "</lastmod>\n"...)
	}
	if e.ChangeFreq != "" {
		b = append(b, "<changefreq>"...)
		b = appendText(b, e.ChangeFreq)
		b = append(b, "</changefreq>\n"...)
	}
	if !h.plain() {
		b = appendMetadata(b, &e.Metadata)
		b = appendLinks(b, e.Links)
	}
	if h.Index {
		return append(b, "</sitemap>\n"...)
	}
	return append(b, "</url>\n"...)
}

// AppendTail appends the end of the document of h to b and returns the extended
// slice.
func AppendTail(b []byte, h *Head) []byte {
	if h.Index {
		return append(b, "</sitemapindex>\n"...)
	}
	return append(b, "</urlset>\n"...)
}

// plain reports whether h is the head of a plain sitemap.
func (h *Head) plain() bool {
	return h.Metadata.Capability == "" && len(h.Links) == 0
}

func appendMetadata(b []byte, m *Metadata) []byte {
	before := len(b)
	b = append(b, "<rs:md"...)
	empty := len(b)
	b = appendString(b, ` capability="`, string(m.Capability))
	b = appendDatetime(b, ` at="`, m.At)
	b = appendDatetime(b, ` completed="`, m.Completed)
	b = appendDatetime(b, ` from="`, m.From)
	b = appendDatetime(b, ` until="`, m.Until)
	b = appendString(b, ` change="`, string(m.Change))
	b = appendDatetime(b, ` datetime="`, m.Datetime)
	b = appendHashes(b, m.Hashes)
	b = appendLength(b, m.Length)
	b = appendString(b, ` type="`, m.Type)
	b = appendString(b, ` encoding="`, m.Encoding)
	b = appendString(b, ` path="`, m.Path)
	b = appendAttrs(b, m.Attrs)
	if len(b) == empty {
		return b[:before]
	}
	return append(b, "/>\n"...)
}

func appendLinks(b []byte, links []resourcesync.Link) []byte {
	for i := range links {
		l := &links[i]
		b = append(b, `<rs:ln rel="`...)
		b = appendText(b, l.Rel)
		b = append(b, '"')
		if 1 <= l.Pri && l.Pri <= maxPri {
			b = append(b, ` pri="`...)
			b = strconv.AppendInt(b, int64(l.Pri), 10)
			b = append(b, '"')
		}
		b = append(b, ` href="`...)
		b = appendText(b, l.Href)
		b = append(b, '"')
		b = appendDatetime(b, ` modified="`, l.Modified)
		b = appendHashes(b, l.Hashes)
		b = appendLength(b, l.Length)
		b = appendString(b, ` type="`, l.Type)
		b = appendString(b, ` encoding="`, l.Encoding)
		b = appendString(b, ` path="`, l.Path)
		b = appendAttrs(b, l.Attrs)
		b = append(b, "/>\n"...)
	}
	return b
}

// maxPri is the greatest pri, which is also what a link without one has
// (section 7).
const maxPri = 999_999

// appendString appends an attribute. open is all that comes before its value;
// an empty value says nothing and is not written.
func appendString(b []byte, open, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, open...)
	b = appendText(b, value)
	return append(b, '"')
}

func appendDatetime(b []byte, open string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	b = append(b, open...)
	b = appendTime(b, t)
	return append(b, '"')
}

func appendHashes(b []byte, hashes []resourcesync.Hash) []byte {
	if len(hashes) == 0 {
		return b
	}
	b = append(b, ` hash="`...)
	for i := range hashes {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendText(b, hashes[i].Algorithm)
		b = append(b, ':')
		b = appendText(b, hashes[i].Digest)
	}
	return append(b, '"')
}

func appendLength(b []byte, l resourcesync.Length) []byte {
	n, known := l.Bytes()
	if !known {
		return b
	}
	b = append(b, ` length="`...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, '"')
}
