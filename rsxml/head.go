package rsxml

import (
	"encoding/xml"
	"io"
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
				return d.fail(core7, "rs:md is repeated")
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
	err := d.checkHead(described, have)
	d.pos = pos
	return err
}

// readRoot reads the start tag of the root.
func (d *Decoder) readRoot() error {
	for {
		t, err := d.token()
		if err == io.EOF {
			return d.fail(xmlSpec, "the document is empty")
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			if trim(t) != "" {
				return d.fail(xmlSpec, "there is text before the root")
			}
		case xml.StartElement:
			return d.root(t)
		}
	}
}

func (d *Decoder) root(t xml.StartElement) error {
	switch t.Name.Local {
	case "urlset":
	case "sitemapindex":
		d.head.Index = true
	default:
		return d.fail(core7, "the root is %s, not urlset or sitemapindex", quote(t.Name.Local))
	}
	if t.Name.Space != SitemapNS {
		return d.fail(core4, "the namespace of the root is %s, not %s", quote(t.Name.Space), SitemapNS)
	}
	return d.noAttributes(t)
}

// readEnd reads to the end of the document. It returns io.EOF if nothing but white
// space follows the root.
func (d *Decoder) readEnd() error {
	for {
		t, err := d.token()
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.CharData:
			if trim(t) != "" {
				return d.fail(xmlSpec, "there is text after the root")
			}
		case xml.StartElement:
			return d.fail(xmlSpec, "the document has a second root")
		}
	}
}
