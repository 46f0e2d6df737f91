package rsxml

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A Decoder reads one document from beginning to end, in memory that does not depend
// on the number of entries.
//
// It is strict unless [Decoder.Tolerate] is called: the document must keep the rules of
// section 7, of the section of its capability (8 to 13, or section 3 of a notification
// specification), of Appendix A and of the Sitemap protocol, as far as the document alone
// shows. Only section 7 applies to links, because the mandatory link with the relation up
// is missing in the specification's own walkthrough. An unknown capability has no rules.
//
// The decoder skips elements of other namespaces. It keeps attributes of
// other namespaces on rs:md and rs:ln, as [resourcesync.Attr], and ignores them
// elsewhere. It accepts and ignores <priority>, which ResourceSync does not use. It
// expands no entities except the five of XML. A document has at most MaxBytes bytes and
// MaxEntries entries; its head and each entry have at most 1 MiB.
//
// Errors are of type [*SyntaxError], unless reading fails.
//
// A Decoder is not safe for concurrent use.
type Decoder struct {
	src *source
	xml *xml.Decoder

	// report receives the violations that the decoder tolerates. If nil, it
	// tolerates none.
	report func(*SyntaxError)

	pos   position   // of the last token
	place position   // of the last entry, or of the rs:md of the head
	names []xml.Name // scratch of checkNames

	common  bool // entries can have the common form; see readCommon
	trying  bool // readCommon tries to read an entry
	skipped skipped
	block   []resourcesync.Hash // room for the hashes of further entries

	head    Head
	headErr error
	begun   bool   // the head has been read
	space   string // the namespace of the root
	foreign string // the last unknown namespace
	rules   *rules // nil if none apply

	first  *xml.StartElement // of the first entry, which ends the head
	closed bool              // the root has ended
	err    error             // ends the entries; io.EOF at the end of the document

	entries      int
	entry        int       // the number of the one that is being read, or 0
	countedBytes int       // of the document, before the last entry
	last         time.Time // of the latest entry, by the attribute rules.inOrder
	listed       map[resourcesync.Capability]bool
}

// NewDecoder returns a Decoder that reads from r. It buffers its input and may read
// beyond the end of the document.
func NewDecoder(r io.Reader) *Decoder {
	src := &source{Reader: bufio.NewReaderSize(r, bufferSize), limit: maxElement}
	d := &Decoder{src: src, xml: xml.NewDecoder(src)}
	d.xml.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errCharset }
	return d
}

var errCharset = errors.New("not UTF-8")

// Tolerate makes d tolerant. Call it before the document is read.
//
// A tolerant Decoder calls report for each rule that the document breaks, in the order of
// the document, and reads on; the first call has the error of a strict Decoder. It keeps
// what it understands: it omits an invalid value, link or element, and an entry without
// <loc>. It reads times in similar formats, and a time without an offset as UTC. It
// keeps a <loc> or href that is not a valid absolute URI unchanged, so callers
// must check and resolve them. A document may have any number of bytes and entries, so
// callers limit what they read and how many reports they keep.
//
// A document still fails if it is not well-formed XML in UTF-8, ends before its root does,
// has a root other than <urlset> or <sitemapindex>, has elements in an unknown namespace of
// ResourceSync, or exceeds a limit of an entry.
func (d *Decoder) Tolerate(report func(*SyntaxError)) {
	d.report = report
	d.src.unlimited = true
}

// A position in a document, as in SyntaxError.
type position struct{ line, column int }

// Decode reads a complete document.
func Decode(r io.Reader) (Head, []Entry, error) {
	d := NewDecoder(r)
	h, err := d.Head()
	if err != nil {
		return Head{}, nil, err
	}
	var entries []Entry
	for e, err := range d.Entries() {
		if err != nil {
			return Head{}, nil, err
		}
		entries = append(entries, e)
	}
	return h, entries, nil
}

// Head reads and returns the head of the document. Later calls return the same result.
func (d *Decoder) Head() (Head, error) {
	if !d.begun {
		d.begun = true
		if d.headErr = d.readHead(); d.headErr != nil {
			d.head = Head{}
			d.err = d.headErr
		}
	}
	return d.head, d.headErr
}

// Entries yields the entries of the document in order, and reads while the caller
// ranges. Calling Head first is optional. An error, including one of the head, is
// yielded once and last, with a zero Entry; the document is then invalid even if the
// entries before the error are not. Ranging again continues where the last range
// stopped, or yields the error again.
//
// The caller owns each Entry, and can keep it or parts of it. A string of an entry keeps at most the
// text of that entry in memory, never that of another one or the document. Hashes can share
// an array with the hashes of a few other entries; their capacity ends at their length.
func (d *Decoder) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		d.Head()
		for d.err == nil {
			e, err := d.readEntry()
			if err != nil {
				d.err = err
			} else if e.Loc != "" && !yield(e, nil) {
				return
			}
		}
		if d.err != io.EOF {
			yield(Entry{}, d.err)
		}
	}
}

// Position returns the line and the column, both from 1 and the latter in bytes, of the
// last entry that was yielded. Before the first, it is the position of the rs:md of the
// document, or of the root without one.
func (d *Decoder) Position() (line, column int) { return d.place.line, d.place.column }

// Entry returns the number of the last entry that was yielded, from 1. Before the first, it is 0.
// Entries without <loc> are counted, although a tolerant Decoder omits them.
func (d *Decoder) Entry() int { return d.entry }

// fail returns a SyntaxError at the last token, for the rule id in section without which the
// document cannot be read.
func (d *Decoder) fail(section, id, format string, args ...any) error {
	return d.violation(section, id, format, args...)
}

// deviate is like fail for a rule without which the document can be read. A tolerant
// decoder reports the violation, and deviate returns nil.
func (d *Decoder) deviate(section, id, format string, args ...any) error {
	if d.trying {
		return errDoubt
	}
	v := d.violation(section, id, format, args...)
	if d.report == nil {
		return v
	}
	d.report(v)
	return nil
}

func (d *Decoder) violation(section, id, format string, args ...any) *SyntaxError {
	return &SyntaxError{d.pos.line, d.pos.column, d.entry, id, fmt.Sprintf(format, args...), section}
}

// token returns the next start tag, end tag or text. At the end of the document the
// error is io.EOF.
func (d *Decoder) token() (xml.Token, error) {
	for {
		d.pos = d.inputPos()
		t, err := d.xml.Token()
		if err != nil {
			return nil, d.explain(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			return t, d.checkNames(t)
		case xml.EndElement, xml.CharData:
			return t, nil
		case xml.Directive:
			if err := d.deviate(ownLimit, "doctype", "document type declarations are refused"); err != nil {
				return nil, err
			}
		}
	}
}

// explain converts an error of the XML parser.
func (d *Decoder) explain(err error) error {
	if err == io.EOF {
		return err
	}
	d.pos = d.inputPos()
	switch {
	case d.src.err != nil:
		return fmt.Errorf("rsxml: reading the document: %w", d.src.err)
	case err == errLongDocument:
		return d.fail(core7, "document-size", "the document has more than %d bytes", MaxBytes)
	case err == errLongElement:
		return d.fail(ownLimit, "element-size", "a head or an entry has more than %d bytes", maxElement)
	case errors.Is(err, errCharset):
		return d.fail(sitemapProtocol, "encoding-utf8", "the encoding is not UTF-8")
	}
	msg := err.Error()
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		msg = syntax.Msg
	}
	return d.fail(xmlSpec, "xml", "%.200s", strings.TrimPrefix(msg, "xml: "))
}

// child returns the start tag of the next child of parent, whose start tag has been
// read, and the name of the child as elementName returns it. At the end of parent the
// name is empty. It skips elements of foreign namespaces.
func (d *Decoder) child(parent string) (start xml.StartElement, name string, err error) {
	for {
		t, err := d.token()
		if err != nil {
			return start, "", err
		}
		switch t := t.(type) {
		case xml.EndElement:
			return start, "", nil
		case xml.CharData:
			if trim(t) != "" {
				if err := d.deviate(sitemapProtocol, "unexpected-text", "%s has text", parent); err != nil {
					return start, "", err
				}
			}
		case xml.StartElement:
			if name, err = d.elementName(t.Name); name != "" || err != nil {
				return t, name, err
			}
			if err = d.skip(); err != nil {
				return start, "", err
			}
		}
	}
}

// unexpected handles a child that parent must not have, and whose start tag has been
// read.
func (d *Decoder) unexpected(parent, name string) error {
	return d.skipAfter(d.deviate(sitemapProtocol, "unexpected-element", "%s has no child %s", parent, quote(name)))
}

// skipAfter skips an element whose start tag breaks a rule, if err, the result of deviate,
// is nil.
func (d *Decoder) skipAfter(err error) error {
	if err != nil {
		return err
	}
	return d.skip()
}

// skip reads to the end of the element whose start tag has been read.
func (d *Decoder) skip() error {
	for depth := 1; depth > 0; {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	return nil
}
