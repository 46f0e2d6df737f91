package rsxml

import (
	"encoding/xml"
	"slices"

	"github.com/resourcesync-go/resourcesync"
)

// readMetadata reads the rs:md element t, and returns which attributes it has.
func (d *Decoder) readMetadata(t xml.StartElement) (m Metadata, have attrSet, err error) {
	m.Attrs, err = d.attributes(t, func(name, value string) error {
		i := slices.Index(attrNames[:], name)
		if i < 0 {
			return d.fail(core7, "rs:md has no attribute %s", quote(name))
		}
		have |= 1 << i
		return d.setMetadata(&m, 1<<i, value)
	})
	switch {
	case err != nil:
	case !m.Completed.IsZero() && m.Completed.Before(m.At):
		err = d.fail(core7, "completed is before at")
	case !m.Until.IsZero() && m.Until.Before(m.From):
		err = d.fail(core7, "until is before from")
	}
	if err == nil {
		err = d.empty("rs:md")
	}
	return m, have, err
}

func (d *Decoder) setMetadata(m *Metadata, attr attrSet, value string) (err error) {
	switch attr {
	case at:
		m.At, err = d.datetime("at", value)
	case capability:
		m.Capability = resourcesync.Capability(value)
		if value == "" {
			err = d.fail(core7, "capability is empty")
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
	switch {
	case l.Rel == "":
		return nil, d.fail(core7, "rs:ln has no rel")
	case l.Href == "":
		return nil, d.fail(core7, "rs:ln has no href")
	}
	return append(links, l), d.empty("rs:ln")
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
		err = d.fail(core7, "rs:ln has no attribute %s", quote(name))
	}
	return err
}

// empty reads to the end of the named element, whose start tag has been read. The
// element must not have children.
func (d *Decoder) empty(name string) error {
	_, child, err := d.child(name)
	if err == nil && child != "" {
		err = d.unexpected(name, child)
	}
	return err
}
