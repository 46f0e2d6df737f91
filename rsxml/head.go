package rsxml

import (
	"encoding/xml"
	"io"
)

// readHead reads as far as the start of the first entry, or the end of the root.
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
				err = d.breaks(core7, "rs:md is repeated")
			}
			if err == nil {
				described = true
				pos = d.pos
				d.head.Metadata, have, err = d.readMetadata(t)
			}
		case "rs:ln":
			d.head.Links, err = d.readLink(d.head.Links, t)
		default:
			err = d.strange("the root", name)
		}
		if err != nil {
			return err
		}
	}
	if d.lenient {
		return nil
	}
	d.pos, pos = pos, d.pos
	err := d.checkHead(described, have)
	d.pos = pos
	return err
}

// readRoot reads the start of the root.
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
	d.rootNS = t.Name.Space
	if t.Name.Space != SitemapNS {
		if err := d.breaks(core4, "the namespace of the root is %s, not %s", quote(t.Name.Space), SitemapNS); err != nil {
			return err
		}
	}
	return d.noAttributes(t)
}

// readEnd reads what follows the root, and returns io.EOF if that is nothing.
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
			return d.fail(xmlSpec, "there is a second root")
		}
	}
}
