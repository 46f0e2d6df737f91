package rsxml

import (
	"encoding/xml"
	"strings"
)

// readEntry reads the next entry. At the end of the document the error is
// io.EOF.
func (d *Decoder) readEntry() (Entry, error) {
	for {
		start, err := d.nextEntry()
		if err != nil {
			return Entry{}, err
		}
		e, err := d.readURL(start)
		if err != nil {
			return Entry{}, err
		}
		if e.Loc != "" {
			return e, nil
		}
	}
}

// nextEntry reads as far as the start of the next entry.
func (d *Decoder) nextEntry() (start xml.StartElement, err error) {
	d.src.element = 0
	if d.first != nil {
		start, d.first = *d.first, nil
		d.entries++
		return start, nil
	}
	for !d.closed {
		start, name, err := d.child("the root")
		switch {
		case err != nil:
		case name == "":
			d.closed = true
		case name == "url" || name == "sitemap":
			if d.entries++; d.entries > MaxEntries {
				err = d.fail(core7, "the document has more than %d entries", MaxEntries)
			}
			return start, err
		case strings.HasPrefix(name, "rs:"):
			if err = d.breaks(core7, "%s comes after an entry", quote(name)); err == nil {
				err = d.skip()
			}
		default:
			err = d.strange("the root", name)
		}
		if err != nil {
			return start, err
		}
	}
	return start, d.readEnd()
}

// readURL reads the <url> or <sitemap> whose start has been read. Its Loc is
// empty if it is to be passed over.
func (d *Decoder) readURL(start xml.StartElement) (e Entry, err error) {
	pos := d.pos
	parent := "url"
	if d.head.Index {
		parent = "sitemap"
	}
	if start.Name.Local != parent {
		if err := d.breaks(core7, "an entry is a %s, not a %s", start.Name.Local, parent); err != nil {
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
		if err := d.checkPlace(name, previous, described); err != nil {
			return e, err
		}
		previous = name
		switch name {
		case "loc":
			e.Loc, err = d.loc(t)
		case "lastmod":
			e.LastMod, err = d.lastmod(t)
		case "changefreq":
			e.ChangeFreq, err = d.changefreq(t)
		case "priority":
			_, err = d.text(name, t)
		case "rs:md":
			described = true
			e.Metadata, have, err = d.readMetadata(t)
		case "rs:ln":
			e.Links, err = d.readLink(e.Links, t)
		default:
			err = d.strange(parent, name)
		}
		if err != nil {
			return e, err
		}
	}
	if d.lenient {
		return e, nil
	}
	d.pos = pos
	return e, d.checkEntry(&e, described, have)
}

// places orders the children of an entry (section 7, and the schema of the
// Sitemap protocol). Those in the last place have no order among them.
var places = map[string]int{
	"loc":        1,
	"lastmod":    2,
	"changefreq": 3,
	"priority":   4,
	"rs:md":      5,
	"rs:ln":      5,
}

// checkPlace checks whether an entry may have the child name after previous.
// described says whether it has had an rs:md.
func (d *Decoder) checkPlace(name, previous string, described bool) error {
	place, known := places[name]
	last := places[previous]
	switch {
	case !known:
		return nil // as strange says
	case place == places["rs:md"] && d.head.plain():
		return d.breaks(core7, "an entry has %s, but the document has no capability", name)
	case last == 0 && place > 1:
		return d.breaks(core7, "%s comes before loc", name)
	case name == previous && name != "rs:ln" || name == "rs:md" && described:
		return d.breaks(core7, "%s is repeated", name)
	case place < last:
		return d.breaks(sitemapProtocol, "%s comes after %s", name, previous)
	}
	return nil
}
