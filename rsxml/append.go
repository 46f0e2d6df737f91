package rsxml

import (
	"errors"
	"sync"

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
// slice. It does not allocate if b has enough capacity and no value is omitted. In an
// index, e becomes a <sitemap>; in a plain sitemap, its metadata and links are omitted.
//
// Loc must pass [CheckURI]. AppendEntry omits values of other fields that no document
// can hold; dropped is their number. [CheckEntry] explains them.
func AppendEntry(b []byte, h *Head, e *Entry) (_ []byte, dropped int) {
	w := writer{b: b, manifest: h.isManifest(), limit: len(b) + maxElement - elementEnd}
	w.entry(h, e)
	return w.b, w.dropped
}

// CheckResource reports why r cannot be published in full: [CheckURI] refuses its URI,
// or [CheckEntry] refuses other values of its entry. Stores call it before they accept
// a resource.
func CheckResource(r *resourcesync.Resource) error {
	if err := CheckURI(r.URI); err != nil {
		return err
	}
	var e Entry
	e.SetResource(r)
	return CheckEntry(&listHead, &e)
}

var listHead = Head{Metadata: Metadata{Capability: resourcesync.ResourceList}}

// CheckEntry reports which values of e [AppendEntry] omits from the document of h, and
// why. It joins one error per value, which names the field. It does not check Loc.
func CheckEntry(h *Head, e *Entry) error {
	b := scratch.Get().(*[]byte)
	w := writer{b: (*b)[:0], manifest: h.isManifest(), limit: maxElement - elementEnd, explain: true}
	w.entry(h, e)
	if *b = w.b; cap(w.b) <= maxValue {
		scratch.Put(b)
	}
	return errors.Join(w.errs...)
}

// scratch has buffers for the entries that CheckEntry writes.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

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
	c := h.Metadata.Capability
	return c == resourcesync.ResourceDumpManifest || c == resourcesync.ChangeDumpManifest
}
