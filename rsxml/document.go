package rsxml

import (
	"encoding/xml"
	"io"
	"strings"
)

// readHead reads up to the start tag of the first entry, or the end of the root.
func (d *Decoder) readHead() error {
	d.src.skipBOM()
	if err := d.readRoot(); err != nil {
		return err
	}
	pos := d.pos
	var have attrSet
	described := false
	for d.first == nil && !d.closed {
		t, name, err := d.child("the root")
		if err != nil {
			return err
		}
		switch name {
		case "":
			d.closed = true
		case "url", "sitemap":
			d.first = &t
		case "rs:md":
			if described {
				err = d.skipAfter(d.deviate(core7, "element-repeated", "rs:md is repeated"))
				break
			}
			described = true
			pos = d.pos
			d.head.Metadata, have, err = d.readMetadata(t)
		case "rs:ln":
			d.head.Links, err = d.readLink(d.head.Links, t)
		default:
			err = d.unexpected("the root", name)
		}
		if err != nil {
			return err
		}
	}
	d.pos, pos = pos, d.pos
	d.place = d.pos
	err := d.checkHead(described, have)
	d.pos = pos
	return err
}

// readRoot reads the start tag of the root.
func (d *Decoder) readRoot() error {
	t, err := d.outermost("before")
	if err == io.EOF {
		return d.fail(xmlSpec, "xml", "the document is empty")
	}
	if err != nil {
		return err
	}
	switch t.Name.Local {
	case "urlset":
	case "sitemapindex":
		d.head.Index = true
	default:
		return d.fail(core7, "root-element", "the root is %s, not urlset or sitemapindex", quote(t.Name.Local))
	}
	if d.space = t.Name.Space; isOtherTerms(d.space) {
		return d.otherTerms(d.space)
	}
	if d.space != SitemapNS {
		if err := d.deviate(core4, "namespace", "the namespace of the root is %s, not %s", quote(d.space), SitemapNS); err != nil {
			return err
		}
	}
	d.common = !d.head.Index && hasCommonPrefixes(t)
	return d.noAttributes(t)
}

// readEnd reads to the end of the document. It returns io.EOF if only white space follows the root.
func (d *Decoder) readEnd() error {
	_, err := d.outermost("after")
	d.countBytes()
	if err == nil {
		if err = d.deviate(xmlSpec, "xml", "the document has a second root"); err == nil {
			err = io.EOF
		}
	}
	return err
}

// outermost returns the next start tag outside the root.
func (d *Decoder) outermost(where string) (xml.StartElement, error) {
	for {
		t, err := d.token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := t.(type) {
		case xml.CharData:
			if trim(t) != "" {
				if err := d.deviate(xmlSpec, "xml", "there is text %s the root", where); err != nil {
					return xml.StartElement{}, err
				}
			}
		case xml.StartElement:
			return t, nil
		}
	}
}

// nextEntry reads up to the start tag of the next entry.
func (d *Decoder) nextEntry() (start xml.StartElement, err error) {
	d.src.element = 0
	d.entry = 0
	if d.first != nil {
		start, d.first = *d.first, nil
		d.entries++
		return start, nil
	}
	if d.closed {
		return start, d.readEnd()
	}
	for {
		start, name, err := d.child("the root")
		switch {
		case err != nil:
		case name == "":
			d.closed = true
			err = d.readEnd()
		case name == "url" || name == "sitemap":
			return start, d.countEntry()
		case strings.HasPrefix(name, "rs:"):
			err = d.skipAfter(d.deviate(core7, "element-order", "%s comes after an entry", quote(name)))
		default:
			err = d.unexpected("the root", name)
		}
		if err != nil {
			return start, err
		}
	}
}

// countEntry counts an entry, and checks the limits of documents. A tolerant decoder
// reports each of them once.
func (d *Decoder) countEntry() error {
	d.countBytes()
	if d.entries++; d.entries == MaxEntries+1 {
		return d.deviate(core7, "document-entries", "the document has more than %d entries", MaxEntries)
	}
	return nil
}

// countBytes checks the limit of the bytes of a document for a tolerant decoder. For others, reading
// fails there.
func (d *Decoder) countBytes() {
	if d.src.document > MaxBytes && d.countedBytes <= MaxBytes {
		d.deviate(core7, "document-size", "the document has more than %d bytes", MaxBytes)
	}
	d.countedBytes = d.src.document
}

// readEntry reads the next <url> or <sitemap>. At the end of the document the error is
// io.EOF.
func (d *Decoder) readEntry() (e Entry, err error) {
	if e, ok, err := d.readCommon(); ok {
		return e, err
	}
	start, err := d.nextEntry()
	if err != nil {
		return e, err
	}
	pos := d.pos
	d.entry = d.entries
	parent := "url"
	if d.head.Index {
		parent = "sitemap"
	}
	if start.Name.Local != parent {
		if err := d.deviate(core7, "entry-element", "an entry is a %s, not a %s", start.Name.Local, parent); err != nil {
			return e, err
		}
	}
	if err := d.noAttributes(start); err != nil {
		return e, err
	}
	var have attrSet
	described := false
	previous := ""
	for {
		t, name, err := d.child(parent)
		if err != nil {
			return e, err
		}
		if name == "" {
			break
		}
		if err := d.checkChildOrder(name, previous, described); err != nil {
			return e, err
		}
		if childOrder(name) > 0 {
			previous = name
		}
		if name == "rs:md" && described {
			if err := d.skip(); err != nil {
				return e, err
			}
			continue
		}
		switch name {
		case "loc", "lastmod", "changefreq", "priority":
			var text string
			if text, err = d.text(name, t); err == nil {
				err = d.setText(&e, name, text)
			}
		case "rs:md":
			described = true
			e.Metadata, have, err = d.readMetadata(t)
		case "rs:ln":
			e.Links, err = d.readLink(e.Links, t)
		default:
			err = d.unexpected(parent, name)
		}
		if err != nil {
			return e, err
		}
	}
	d.pos, d.place = pos, pos
	return e, d.checkEntry(&e, described, have)
}

// childOrder returns the place of an entry's child among the others (section 7, and the
// schema of the Sitemap protocol), or 0 if an entry has no such child. Children with the same
// place may be in any order.
func childOrder(name string) int {
	switch name {
	case "loc":
		return 1
	case "lastmod":
		return 2
	case "changefreq":
		return 3
	case "priority":
		return 4
	case "rs:md", "rs:ln":
		return 5
	}
	return 0
}

// checkChildOrder checks whether an entry may have the child name after previous.
// described reports whether it already has an rs:md.
func (d *Decoder) checkChildOrder(name, previous string, described bool) error {
	place, last := childOrder(name), childOrder(previous)
	switch {
	case place == 0:
		return nil // see unexpected
	case place == childOrder("rs:md") && d.head.plain():
		return d.deviate(core7, "capability-missing", "an entry has %s, but the document has no capability", name)
	case last == 0 && place > 1:
		return d.deviate(core7, "element-order", "%s comes before loc", name)
	case name == previous && name != "rs:ln" || name == "rs:md" && described:
		return d.deviate(core7, "element-repeated", "%s is repeated", name)
	case place < last:
		return d.deviate(sitemapProtocol, "element-order", "%s comes after %s", name, previous)
	}
	return nil
}
