package rsxml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// DecodeOptions are the optional arguments of [NewDecoder] and [Decode].
type DecodeOptions struct {
	// Lenient makes the decoder take whatever can be made use of, as
	// harvesting the sitemaps of the world needs it. If false, a document
	// that breaks a rule is an error.
	//
	// A lenient decoder takes whatever namespace the root is in, or none, for
	// that of sitemaps. It overlooks a wrong scheme, a missing www, the case
	// of letters and slashes at the end in both namespaces, and a prefix on
	// the attributes of rs:md and rs:ln. Elements may stand in any order, and
	// where there are several but should be one, the last counts. Text,
	// elements and attributes that belong nowhere are passed over, and so are
	// entries without a <loc>, links without rel or href, and any rs:md and
	// rs:ln of the document that come after its first entry. A <loc> and an
	// href may be any text. Times may lack their zone, which is then UTC, and
	// have a space for the T. Other values that are not of their kind count
	// as not stated. The rules of capabilities, Appendix A among them, do not
	// apply.
	//
	// What is not well-formed XML in UTF-8, has a document type declaration
	// or another root than <urlset> or <sitemapindex>, or exceeds a limit is
	// an error all the same.
	Lenient bool
}

// A Decoder reads one document, from its beginning to its end, in memory that
// does not depend on the number of entries.
//
// It is strict unless told otherwise: the document must keep the rules of section
// 7, of the section of its capability (8 to 13, or section 3 of a notification
// specification), of Appendix A and of the Sitemap protocol, as far as they can
// be checked by looking at it alone. Links are held to the rules of section 7
// only: the link with the relation up is mandatory and yet missing in the
// specification's own walkthrough. A capability that the package does not know
// brings no rules with it.
//
// In either mode elements of other namespaces are skipped; attributes of other
// namespaces are kept on rs:md and rs:ln, as [resourcesync.Attr], and ignored
// elsewhere; <priority> is accepted and ignored, because ResourceSync has no use
// for it. No entity is expanded but the five of XML, a document has at most
// MaxBytes bytes and MaxEntries entries, and its head and each entry at most 1
// MiB.
//
// Errors are of type [*SyntaxError], unless reading fails.
//
// A Decoder is not safe for concurrent use.
type Decoder struct {
	src     *source
	xml     *xml.Decoder
	lenient bool

	pos   position   // where the last token begins
	names []xml.Name // scratch of checkNames

	head    Head
	headErr error
	begun   bool // the head has been read
	rootNS  string
	rules   *rules // nil if none apply

	first  *xml.StartElement // of the first entry, which ends the head
	closed bool              // the root has ended
	err    error             // why there are no more entries, io.EOF at the end

	entries int
	last    time.Time // of the latest entry, by the attribute rules.inOrder
	listed  map[resourcesync.Capability]bool
}

// NewDecoder returns a Decoder that reads from r. It buffers, and so may read
// more of r than the document.
func NewDecoder(r io.Reader, opts *DecodeOptions) *Decoder {
	if opts == nil {
		opts = &DecodeOptions{}
	}
	src := newSource(r)
	d := &Decoder{src: src, xml: xml.NewDecoder(src), lenient: opts.Lenient}
	d.xml.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errCharset }
	return d
}

var errCharset = errors.New("not UTF-8")

// A position in a document, as in SyntaxError.
type position struct{ line, column int }

// Decode reads a whole document.
func Decode(r io.Reader, opts *DecodeOptions) (Head, []Entry, error) {
	d := NewDecoder(r, opts)
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

// Head returns what the document says about itself. It reads as far as the first
// entry, once: later calls return the same.
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

// Entries yields the entries of the document, in its order. The head need not
// have been asked for. Reading happens while ranging. An error, of the head too,
// is yielded once and last, with a zero Entry; the entries before it may be good,
// but the document is not. Ranging again goes on where the last range has
// stopped, or yields the error again. Nothing in an Entry is used again.
func (d *Decoder) Entries() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		d.Head()
		for d.err == nil {
			e, err := d.readEntry()
			if err != nil {
				d.err = err
			} else if !yield(e, nil) {
				return
			}
		}
		if d.err != io.EOF {
			yield(Entry{}, d.err)
		}
	}
}

// fail returns the error that the rule in section is broken where the last token
// begins.
func (d *Decoder) fail(section, format string, args ...any) error {
	return &SyntaxError{d.pos.line, d.pos.column, fmt.Sprintf(format, args...), section}
}

// breaks is fail for rules that a lenient decoder does not insist on.
func (d *Decoder) breaks(section, format string, args ...any) error {
	if d.lenient {
		return nil
	}
	return d.fail(section, format, args...)
}

// token returns the next start, end or text. At the end of the document the error
// is io.EOF.
func (d *Decoder) token() (xml.Token, error) {
	for {
		d.pos.line, d.pos.column = d.xml.InputPos()
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
			return nil, d.fail(ownLimit, "document type declarations are refused")
		}
	}
}

// explain makes an error of the XML parser one of ours.
func (d *Decoder) explain(err error) error {
	if err == io.EOF {
		return err
	}
	d.pos.line, d.pos.column = d.xml.InputPos()
	switch {
	case d.src.err != nil:
		return fmt.Errorf("rsxml: reading the document: %w", d.src.err)
	case err == errLongDocument:
		return d.fail(core7, "the document has more than %d bytes", MaxBytes)
	case err == errLongElement:
		return d.fail(ownLimit, "a head or an entry has more than %d bytes", maxElement)
	case errors.Is(err, errCharset):
		return d.fail(sitemapProtocol, "the encoding is not UTF-8")
	}
	msg := err.Error()
	if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
		msg = syntax.Msg
	}
	return d.fail(xmlSpec, "%.200s", strings.TrimPrefix(msg, "xml: "))
}

// child returns the start of the next child, and its name as elementName has it,
// of the element parent whose start has been read. At the end of parent the name
// is empty. Elements of foreign namespaces are skipped.
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
				err = d.breaks(sitemapProtocol, "%s has text", parent)
			}
		case xml.StartElement:
			if name, err = d.elementName(t.Name); name != "" {
				return t, name, nil
			}
			if err == nil {
				err = d.skip()
			}
		}
		if err != nil {
			return start, "", err
		}
	}
}

// strange deals with a child that parent should not have: it is an error or
// skipped.
func (d *Decoder) strange(parent, name string) error {
	if err := d.breaks(sitemapProtocol, "%s has no child %s", parent, quote(name)); err != nil {
		return err
	}
	return d.skip()
}

// skip reads to the end of the element whose start has been read.
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
