package rsxml

import (
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
}

const (
	// elementEnd is space for the end of an entry after its last link.
	elementEnd = 64

	// maxValue is the maximum length, in bytes, of a value without a limit of its
	// own. It is small enough that all such values of an rs:md and the mandatory
	// attributes fit into maxElement.
	maxValue = 32 << 10
)

func (w *writer) metadata(m *Metadata) {
	before := len(w.b)
	w.b = append(w.b, "<rs:md"...)
	empty := len(w.b)
	w.text(` capability="`, string(m.Capability))
	w.datetime(` at="`, m.At)
	w.datetime(` completed="`, m.Completed)
	w.journalTime(` from="`, m.From)
	w.journalTime(` until="`, m.Until)
	w.text(` change="`, string(m.Change))
	w.journalTime(` datetime="`, m.Datetime)
	w.hashes(m.Hashes)
	w.length(m.Length)
	w.verbatim(` type="`, m.Type, isMediaType)
	w.verbatim(` encoding="`, m.Encoding, isCodings)
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
		if !isRelation(l.Rel) || !isHref(l.Href) {
			w.dropped++
			continue
		}
		before, dropped := len(w.b), w.dropped
		w.link(l)
		if len(w.b) > w.limit {
			w.b, w.dropped = w.b[:before], dropped+1
		}
	}
}

func (w *writer) link(l *resourcesync.Link) {
	w.b = append(w.b, `<rs:ln rel="`...)
	w.b = appendText(w.b, l.Rel)
	w.b = append(w.b, '"')
	switch {
	case 1 <= l.Pri && l.Pri <= maxPri:
		w.b = append(w.b, ` pri="`...)
		w.b = strconv.AppendInt(w.b, int64(l.Pri), 10)
		w.b = append(w.b, '"')
	case l.Pri != 0:
		w.dropped++
	}
	w.b = append(w.b, ` href="`...)
	w.b = appendText(w.b, l.Href)
	w.b = append(w.b, '"')
	w.datetime(` modified="`, l.Modified)
	w.hashes(l.Hashes)
	w.length(l.Length)
	w.verbatim(` type="`, l.Type, isMediaType)
	w.verbatim(` encoding="`, l.Encoding, isCodings)
	if l.Path == "" || w.manifest && isPath(l.Path) {
		w.text(` path="`, l.Path)
	} else {
		w.dropped++
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
	w.b = append(w.b, open...)
	w.b = appendText(w.b, value)
	w.b = append(w.b, '"')
}

// verbatim is text for a value that needs no escaping if it is valid.
func (w *writer) verbatim(open, value string, valid func(string) bool) {
	switch {
	case value == "":
	case valid(value):
		w.b = append(w.b, open...)
		w.b = append(w.b, value...)
		w.b = append(w.b, '"')
	default:
		w.dropped++
	}
}

func (w *writer) datetime(open string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.b = append(w.b, open...)
	w.b = appendTime(w.b, t)
	w.b = append(w.b, '"')
}

// journalTime appends a time of a journal. Such times have the same number of digits
// in all documents, so that they sort as text.
func (w *writer) journalTime(open string, t time.Time) {
	if t.IsZero() {
		return
	}
	w.b = append(w.b, open...)
	w.b = appendMicroTime(w.b, t)
	w.b = append(w.b, '"')
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
		if !ok || len(w.b)-begin > maxValue {
			w.b = w.b[:end]
			w.dropped++
		}
	}
	if len(w.b) == begin {
		w.b = w.b[:before]
		return
	}
	w.b = append(w.b, '"')
}

func (w *writer) length(l resourcesync.Length) {
	n, known := l.Bytes()
	if !known {
		return
	}
	w.b = append(w.b, ` length="`...)
	w.b = strconv.AppendInt(w.b, n, 10)
	w.b = append(w.b, '"')
}
