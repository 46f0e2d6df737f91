package rsxml

import (
	"github.com/resourcesync-go/resourcesync"
)

// AppendHead appends the beginning of a document to b and returns the extended
// slice: the XML declaration, the start tag of the root, and what h says of the
// document, links first, as the examples of the specification have it (section
// 7). Entries and the tail follow.
//
// The encoder writes only what a strict decoder accepts: see [AppendEntry] for
// what it leaves out of links and attributes. Characters that XML cannot express
// become U+FFFD, and times outside the years 0000 to 9999 the nearest that is
// inside.
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
	w := writer{b: b, manifest: h.isManifest(), limit: len(b) + maxElement/2}
	w.links(h.Links)
	w.metadata(&h.Metadata)
	return w.b
}

// AppendEntry appends e to b and returns the extended slice. It allocates
// nothing when b has room. The document is that of h: in an index, e is a
// <sitemap>, and in a plain sitemap its metadata and links are left out.
//
// Loc must pass [CheckURI]. Any other field may hold anything: a value that a
// document cannot hold is left out, and dropped counts those values.
// [CheckEntry] says which they are, and why.
func AppendEntry(b []byte, h *Head, e *Entry) (_ []byte, dropped int) {
	w := writer{b: b, manifest: h.isManifest(), limit: len(b) + maxElement - elementEnd}
	if h.Index {
		w.b = append(w.b, "<sitemap>\n<loc>"...)
	} else {
		w.b = append(w.b, "<url>\n<loc>"...)
	}
	w.b = appendText(w.b, e.Loc)
	w.b = append(w.b, "</loc>\n"...)
	if !e.LastMod.IsZero() {
		w.b = append(w.b, "<lastmod>"...)
		w.b = appendTime(w.b, e.LastMod)
		w.b = append(w.b, "</lastmod>\n"...)
	}
	switch {
	case e.ChangeFreq == "":
	case isChangeFreq(e.ChangeFreq):
		w.b = append(w.b, "<changefreq>"...)
		w.b = append(w.b, e.ChangeFreq...)
		w.b = append(w.b, "</changefreq>\n"...)
	default:
		w.dropped++
	}
	if !h.plain() {
		w.metadata(&e.Metadata)
		w.links(e.Links)
	}
	if h.Index {
		w.b = append(w.b, "</sitemap>\n"...)
	} else {
		w.b = append(w.b, "</url>\n"...)
	}
	return w.b, w.dropped
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

// isManifest reports whether links in the document of h may have a path.
func (h *Head) isManifest() bool {
	switch h.Metadata.Capability {
	case resourcesync.ResourceDumpManifest, resourcesync.ChangeDumpManifest:
		return true
	}
	return false
}
