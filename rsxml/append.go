package rsxml

import (
	"github.com/resourcesync-go/resourcesync"
)

// AppendHead appends the beginning of a document to b and returns the extended slice:
// the XML declaration, the start tag of the root, and the links and metadata of h
// (section 7). Entries and the tail follow.
//
// The encoder writes only values that a strict decoder accepts; see [AppendEntry] for
// the links and attributes that it omits. Characters that XML cannot express become
// U+FFFD, and times outside the years 0000 to 9999 become the nearest time inside.
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

// AppendEntry appends e, an entry of the document of h, to b and returns the extended
// slice. It does not allocate if b has enough capacity. In an index, e becomes a
// <sitemap>; in a plain sitemap, its metadata and links are omitted.
//
// Loc must pass [CheckURI]. AppendEntry omits values of other fields that no document
// can hold; dropped is their number. [CheckEntry] explains them.
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
