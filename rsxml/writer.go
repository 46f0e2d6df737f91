package rsxml

import (
	"fmt"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A writer appends the elements of ResourceSync to b, and omits values that a strict
// decoder would refuse.
type writer struct {
	b        []byte
	manifest bool // links may have a path
	limit    int  // the maximum of len(b)
	dropped  int  // omitted values

	explain bool    // collect errs
	errs    []error // one for each omitted value
	link    int     // number of the current link, from 1
}

const (
	// elementEnd is space for the end of an entry after its last link.
	elementEnd = 64

	// maxValue is the maximum length, in bytes, of a value without a specific limit. It is
	// small enough that all such values of an rs:md and the mandatory attributes fit into
	// maxElement.
	maxValue = 32 << 10
)

// drop counts the omission of a value, and explains it.
func (w *writer) drop(field, value, remedy string) {
	w.dropped++
	if !w.explain {
		return
	}
	if w.link > 0 {
		field = fmt.Sprintf("Links[%d].%s", w.link-1, field)
	}
	w.errs = append(w.errs, fmt.Errorf("rsxml: %s is %s: %s", field, quote(value), remedy))
}

// entry appends the <url> or <sitemap> of e.
func (w *writer) entry(h *Head, e *Entry) {
	begin, end := "<url>\n<loc>", "</url>\n"
	if h.Index {
		begin, end = "<sitemap>\n<loc>", "</sitemap>\n"
	}
	b := append(w.b, begin...)
	b = appendText(b, e.Loc)
	b = append(b, "</loc>\n"...)
	w.b = b
	switch {
	case e.LastMod.IsZero():
	case isTime(e.LastMod):
		w.b = append(appendTime(append(w.b, "<lastmod>"...), e.LastMod), "</lastmod>\n"...)
	default:
		w.drop("LastModified", e.LastMod.String(), noTime)
	}
	switch {
	case e.ChangeFreq == "":
	case isChangeFreq(e.ChangeFreq):
		w.b = append(w.b, "<changefreq>"...)
		w.b = append(w.b, e.ChangeFreq...)
		w.b = append(w.b, "</changefreq>\n"...)
	default:
		w.drop("ChangeFreq", e.ChangeFreq, "use always, hourly, daily, weekly, monthly, yearly or never")
	}
	if !h.plain() {
		w.metadata(&e.Metadata)
		w.links(e.Links)
	}
	w.b = append(w.b, end...)
}

func (w *writer) metadata(m *Metadata) {
	before := len(w.b)
	w.b = append(w.b, "<rs:md"...)
	empty := len(w.b)
	w.text(` capability="`, string(m.Capability))
	w.time(` at="`, m.At, appendTime)
	w.time(` completed="`, m.Completed, appendTime)
	w.time(` from="`, m.From, appendMicroTime)
	w.time(` until="`, m.Until, appendMicroTime)
	w.text(` change="`, string(m.Change))
	w.time(` datetime="`, m.Datetime, appendMicroTime)
	w.hashes(m.Hashes)
	w.length(m.Length)
	w.mediaType(m.Type)
	w.codings(m.Encoding)
	w.text(` path="`, m.Path)
	w.attrs(m.Attrs)
	if len(w.b) == empty {
		w.b = w.b[:before]
		return
	}
	w.b = append(w.b, "/>\n"...)
}

func (w *writer) links(links []resourcesync.Link) {
	for i := range links {
		l := &links[i]
		w.link = i + 1
		if !isRelation(l.Rel) {
			w.drop("Rel", l.Rel, "use a registered relation type in lower case, or a URI")
			continue
		}
		if err := checkHref(l.Href); err != nil {
			w.drop("Href", l.Href, "it "+err.Error())
			continue
		}
		before, dropped, errs := len(w.b), w.dropped, len(w.errs)
		w.appendLink(l)
		if len(w.b) > w.limit {
			w.b, w.dropped, w.errs = w.b[:before], dropped, w.errs[:errs]
			w.drop("Href", l.Href, longEntry)
		}
	}
	w.link = 0
}

const noTime = "use a time in the years 0000 to 9999"

const longEntry = "the entry would have more than 1 MiB, leave out links or attributes"

func (w *writer) appendLink(l *resourcesync.Link) {
	w.b = append(w.b, "<rs:ln"...)
	w.text(` rel="`, l.Rel)
	switch {
	case 1 <= l.Pri && l.Pri <= maxPri:
		w.number(` pri="`, int64(l.Pri))
	case l.Pri != 0:
		w.drop("Pri", strconv.Itoa(l.Pri), "use 1 to 999999, or 0 for none")
	}
	w.text(` href="`, l.Href)
	if l.Modified.IsZero() || isTime(l.Modified) {
		w.time(` modified="`, l.Modified, appendTime)
	} else {
		w.drop("Modified", l.Modified.String(), noTime)
	}
	w.hashes(l.Hashes)
	w.length(l.Length)
	w.mediaType(l.Type)
	w.codings(l.Encoding)
	switch {
	case l.Path == "" || w.manifest && isPath(l.Path):
		w.text(` path="`, l.Path)
	case !w.manifest:
		w.drop("Path", l.Path, "leave it empty, only manifests have paths")
	default:
		w.drop("Path", l.Path, "begin it with a slash")
	}
	w.attrs(l.Attrs)
	w.b = append(w.b, "/>\n"...)
}

// maxPri is the maximum of pri, and the default (section 7).
const maxPri = 999_999

// text appends an attribute unless its value is empty. open is the text before the
// value.
func (w *writer) text(open, value string) {
	if value == "" {
		return
	}
	w.b = append(appendText(append(w.b, open...), value), '"')
}

func (w *writer) mediaType(value string) {
	if value != "" && !isMediaType(value) {
		w.drop("Type", value, "use a media type such as text/html")
		return
	}
	w.text(` type="`, value)
}

func (w *writer) codings(value string) {
	if value != "" && !isCodings(value) {
		w.drop("Encoding", value, "use content codings such as gzip, separated by commas")
		return
	}
	w.text(` encoding="`, value)
}

// time appends a time in the form of appendTime or appendMicroTime.
func (w *writer) time(open string, t time.Time, form func([]byte, time.Time) []byte) {
	if !t.IsZero() {
		w.b = append(form(append(w.b, open...), t), '"')
	}
}

func (w *writer) hashes(hashes []resourcesync.Hash) {
	if len(hashes) == 0 {
		return
	}
	before := len(w.b)
	w.b = append(w.b, ` hash="`...)
	begin := len(w.b)
	for i := range hashes {
		h := &hashes[i]
		end := len(w.b)
		if end > begin {
			w.b = append(w.b, ' ')
		}
		ok := isAlgorithm(h.Algorithm)
		if ok {
			w.b = append(w.b, h.Algorithm...)
			w.b = append(w.b, ':')
			w.b, ok = appendHex(w.b, h.Digest)
		}
		switch {
		case !ok:
			w.drop("Hashes["+strconv.Itoa(i)+"]", h.String(), "use a token such as sha-256 and a digest in hexadecimal")
		case len(w.b)-begin > maxValue:
			w.drop("Hashes["+strconv.Itoa(i)+"]", h.String(), "the hashes would have more than 32 KiB")
		default:
			continue
		}
		w.b = w.b[:end]
	}
	if len(w.b) == begin {
		w.b = w.b[:before]
		return
	}
	w.b = append(w.b, '"')
}

func (w *writer) length(l resourcesync.Length) {
	if n, known := l.Bytes(); known {
		w.number(` length="`, n)
	}
}

func (w *writer) number(open string, n int64) {
	w.b = append(strconv.AppendInt(append(w.b, open...), n, 10), '"')
}
