package rsxml

import (
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/resourcesync-go/resourcesync"
)

// readMetadata reads the rs:md element t, and returns which attributes it has.
func (d *Decoder) readMetadata(t xml.StartElement) (m Metadata, have attrSet, err error) {
	m.Attrs, err = d.attributes(t, func(name, value string) error {
		i := slices.Index(attrNames[:], name)
		if i < 0 {
			return d.deviate(core7, "attribute-unknown", "rs:md has no attribute %s", quote(name))
		}
		have |= 1 << i
		return d.setMetadata(&m, 1<<i, value)
	})
	if err == nil {
		err = d.checkMetadata(&m)
	}
	if err == nil {
		err = d.empty("rs:md")
	}
	return m, have, err
}

// checkMetadata checks the times of an rs:md against each other.
func (d *Decoder) checkMetadata(m *Metadata) error {
	switch {
	case !m.Completed.IsZero() && m.Completed.Before(m.At):
		return d.deviate(core7, "completed-before-at", "completed is before at")
	case !m.Until.IsZero() && m.Until.Before(m.From):
		return d.deviate(core7, "until-before-from", "until is before from")
	}
	return nil
}

func (d *Decoder) setMetadata(m *Metadata, attr attrSet, value string) (err error) {
	switch attr {
	case at:
		m.At, err = d.datetime("at", value)
	case capability:
		m.Capability = resourcesync.Capability(value)
		if value == "" {
			err = d.deviate(core7, "capability-missing", "capability is empty")
		}
	case change:
		m.Change, err = d.change(value)
	case completed:
		m.Completed, err = d.datetime("completed", value)
	case datetime:
		m.Datetime, err = d.datetime("datetime", value)
	case encoding:
		m.Encoding = value
	case from:
		m.From, err = d.datetime("from", value)
	case hash:
		m.Hashes, err = d.hashes(value)
	case length:
		m.Length, err = d.length(value)
	case path:
		m.Path = value
	case mediaType:
		m.Type = value
	case until:
		m.Until, err = d.datetime("until", value)
	}
	return err
}

// readLink reads the rs:ln element t and appends its link to links.
func (d *Decoder) readLink(links []resourcesync.Link, t xml.StartElement) ([]resourcesync.Link, error) {
	var l resourcesync.Link
	var err error
	l.Attrs, err = d.attributes(t, func(name, value string) error {
		return d.setLink(&l, name, value)
	})
	if err != nil {
		return nil, err
	}
	if links, err = d.addLink(links, &l); err != nil {
		return nil, err
	}
	return links, d.empty("rs:ln")
}

// addLink appends l to links, unless it lacks what a link must have.
func (d *Decoder) addLink(links []resourcesync.Link, l *resourcesync.Link) ([]resourcesync.Link, error) {
	switch {
	case l.Rel == "":
		return links, d.deviate(core7, "link-rel-missing", "rs:ln has no rel")
	case l.Href == "":
		return links, d.deviate(core7, "link-href-missing", "rs:ln has no href")
	}
	return append(links, *l), nil
}

func (d *Decoder) setLink(l *resourcesync.Link, name, value string) (err error) {
	switch name {
	case "encoding":
		l.Encoding = value
	case "hash":
		l.Hashes, err = d.hashes(value)
	case "href":
		l.Href = trim(value)
		err = d.uri(l.Href)
	case "length":
		l.Length, err = d.length(value)
	case "modified":
		l.Modified, err = d.datetime("modified", value)
	case "path":
		l.Path = value
	case "pri":
		l.Pri, err = d.pri(value)
	case "rel":
		l.Rel = value
	case "type":
		l.Type = value
	default:
		err = d.deviate(core7, "attribute-unknown", "rs:ln has no attribute %s", quote(name))
	}
	return err
}

// empty reads to the end of the named element, whose start tag has been read. The
// element must not have children.
func (d *Decoder) empty(name string) error {
	for {
		_, child, err := d.child(name)
		if err == nil && child != "" {
			err = d.unexpected(name, child)
		}
		if err != nil || child == "" {
			return err
		}
	}
}

// The methods below parse the texts and attributes of a document.

// setText sets the field of e that is an element with text.
func (d *Decoder) setText(e *Entry, name, text string) (err error) {
	switch name {
	case "loc":
		e.Loc = text
		if len(text) > MaxURI {
			if err = d.deviate(sitemapProtocol, "loc-length", "loc has %d characters, more than %d", len(text), MaxURI); err != nil {
				return err
			}
		}
		err = d.uri(text)
	case "lastmod":
		e.LastMod, err = d.datetime(name, text)
	case "changefreq":
		if !isChangeFreq(text) {
			return d.deviate(core7, "changefreq-value", "changefreq is %s, not one of its seven values", quote(text))
		}
		e.ChangeFreq = text
	}
	return err
}

func (d *Decoder) uri(s string) error {
	if err := checkURI(s); err != nil {
		return d.deviate(core7, "uri-syntax", "the URI %s %v", quote(s), err)
	}
	return nil
}

func (d *Decoder) datetime(name, value string) (time.Time, error) {
	if t, ok := parseDatetime(trim(value)); ok {
		return t, nil
	}
	err := d.deviate(core7, "datetime-syntax", "%s is %s, not a W3C Datetime in the years 0000 to 9999", name, quote(value))
	if err != nil {
		return time.Time{}, err
	}
	return similarDatetime(trim(value)), nil
}

func (d *Decoder) change(value string) (resourcesync.ChangeType, error) {
	switch c := resourcesync.ChangeType(value); c {
	case resourcesync.Created, resourcesync.Updated, resourcesync.Deleted:
		return c, nil
	}
	return "", d.deviate(core7, "change-value", "change is %s, not created, updated or deleted", quote(value))
}

func (d *Decoder) hashes(value string) ([]resourcesync.Hash, error) {
	if !strings.Contains(value, ",") {
		read := resourcesync.AppendHashes
		if d.trying {
			read = appendPlainHashes
		}
		if h, ok := read(d.room(), value); ok && len(h) > 0 {
			return d.take(h), nil
		}
	}
	if err := d.deviate(core7, "hash-syntax", "hash is %s, not a list of algorithm:digest separated by spaces", quote(value)); err != nil {
		return nil, err
	}
	var valid []resourcesync.Hash
	for field := range strings.FieldsFuncSeq(value, isHashSeparator) {
		valid, _ = resourcesync.AppendHashes(valid, field)
	}
	return valid, nil
}

// hashBlock is the number of hashes for which room is made at a time. Entries whose hashes share a
// block keep each other's text in memory, so it is small.
const hashBlock = 16

// room returns an empty slice for the hashes of an entry, with room for some.
func (d *Decoder) room() []resourcesync.Hash {
	if cap(d.block) < 2 {
		d.block = make([]resourcesync.Hash, 0, hashBlock)
	}
	return d.block[:0]
}

// take returns hashes that have been appended to room. Callers can append to them.
func (d *Decoder) take(h []resourcesync.Hash) []resourcesync.Hash {
	if len(h) <= cap(d.block) {
		d.block = d.block[len(h):cap(d.block)][:0]
	}
	return h[:len(h):len(h)]
}

// isHashSeparator reports whether r separates hashes: white space, or the comma that some Sources
// write instead.
func isHashSeparator(r rune) bool { return r == ',' || unicode.IsSpace(r) }

func (d *Decoder) length(value string) (resourcesync.Length, error) {
	if n, err := strconv.ParseUint(trim(value), 10, 63); err == nil {
		l := resourcesync.Bytes(int64(n))
		if _, known := l.Bytes(); known {
			return l, nil
		}
	}
	return resourcesync.Length{}, d.deviate(core7, "length-value", "length is %s, not a number of bytes", quote(value))
}

func (d *Decoder) pri(value string) (int, error) {
	if n, err := strconv.ParseUint(trim(value), 10, 0); err == nil && 1 <= n && n <= maxPri {
		return int(n), nil
	}
	return 0, d.deviate(core7, "pri-value", "pri is %s, not a number from 1 to %d", quote(value), maxPri)
}

// text reads to the end of the element t, which errors call name, and returns its text
// without surrounding white space. Afterwards, the current position is the beginning
// of the element.
func (d *Decoder) text(name string, t xml.StartElement) (string, error) {
	pos := d.pos
	if err := d.noAttributes(t); err != nil {
		return "", err
	}
	var text []byte
	for {
		t, err := d.token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.EndElement:
			d.pos = pos
			return trim(text), nil
		case xml.CharData:
			text = append(text, t...)
		case xml.StartElement:
			child, err := d.elementName(t.Name)
			switch {
			case err != nil:
			case child == "":
				err = d.skip()
			default:
				err = d.unexpected(name, child)
			}
			if err != nil {
				return "", err
			}
		}
	}
}

// trim returns text without surrounding white space, as XML defines it.
func trim[T ~string | ~[]byte](text T) string {
	return strings.Trim(string(text), " \t\r\n")
}
