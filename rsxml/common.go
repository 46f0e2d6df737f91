package rsxml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"slices"

	"github.com/resourcesync-go/resourcesync"
)

// Nearly all entries of large documents have one form, in which encoding/xml takes most of the
// time of a decoder: a <url> whose elements have the usual prefixes, in order, with text and
// attributes of ASCII. readCommon reads such an entry from the buffer. Everything else is left to
// encoding/xml, and so is each entry that breaks a rule. So the form is narrow, and readCommon
// accepts nothing that encoding/xml refuses.

// errDoubt is the result of deviate while readCommon tries to read an entry.
var errDoubt = errors.New("not in the common form")

// hasCommonPrefixes reports whether the start tag of a root declares the usual prefixes, so that
// entries can have the common form.
func hasCommonPrefixes(root xml.StartElement) bool {
	sitemap, terms := 0, 0
	for _, a := range root.Attr {
		switch a.Name {
		case xml.Name{Local: "xmlns"}:
			sitemap++
			if a.Value != SitemapNS {
				return false
			}
		case xml.Name{Space: "xmlns", Local: "rs"}:
			terms++
			if a.Value != TermsNS {
				return false
			}
		}
	}
	return sitemap == 1 && terms == 1
}

// readCommon reads the next entry if it has the common form. Otherwise ok is false, and nothing
// has been read. It is called where the last token was an end tag: encoding/xml then holds back
// no byte.
func (d *Decoder) readCommon() (e Entry, ok bool, err error) {
	if !d.common || d.first != nil || d.closed || d.entries == MaxEntries || d.src.misses == maxMisses {
		return e, false, nil
	}
	text, start, ok := d.src.entry()
	n := len(text)
	if !ok || n > d.src.limit || d.src.document+n > MaxBytes && d.countedBytes <= MaxBytes {
		return e, false, nil
	}
	// One copy has all strings of the entry, which keep no other text alive.
	s := scanner{rest: string(text[start:])}
	d.trying = true
	have, described, ok := d.scanEntry(&e, &s)
	d.trying = false
	if !ok {
		return Entry{}, false, nil
	}
	d.skipped.add(d.xml, text[:start])
	d.pos = d.inputPos()
	d.place = d.pos
	d.skipped.add(d.xml, text[start:n])
	d.src.skip(n)
	d.entries++
	d.entry = d.entries
	d.countedBytes = d.src.document
	return e, true, d.checkEntry(&e, described, have)
}

// The first and the last tag of an entry of the common form.
const (
	entryTag    = "<url>"
	entryEndTag = "</url>"
)

// maxMisses is the number of entries without an end in the buffer after which the decoder stops
// searching for ends. Otherwise, a hostile document of short entries with other end tags would
// cost a search of the whole buffer for each.
const maxMisses = 100

// entry returns the text that has been read ahead, up to the end of the next entry, and where
// that entry begins. It reads ahead as far as the buffer has room. If something else comes next,
// ok is false.
func (s *source) entry() (text []byte, start int, ok bool) {
	for {
		text = s.buffered()
		for start < len(text) && isSpace(text[start]) {
			start++
		}
		if next := text[start:]; len(next) >= len(entryTag) {
			if string(next[:len(entryTag)]) != entryTag {
				return nil, 0, false
			}
			if n := bytes.Index(next, []byte(entryEndTag)); n >= 0 {
				return text[:start+n+len(entryEndTag)], start, true
			}
		}
		if !s.more() {
			s.misses++
			return nil, 0, false
		}
	}
}

// scanEntry reads an entry of the common form.
func (d *Decoder) scanEntry(e *Entry, s *scanner) (have attrSet, described, ok bool) {
	s.cut(entryTag)
	for previous := ""; ; {
		s.space()
		name := s.startTag()
		if name == "" {
			return have, described, previous != "" && s.cut(entryEndTag)
		}
		if d.checkChildOrder(name, previous, described) != nil {
			return 0, false, false
		}
		previous = name
		switch name {
		case "rs:md":
			have, ok = d.scanMetadata(&e.Metadata, s)
			described = true
		case "rs:ln":
			e.Links, ok = d.scanLink(e.Links, s)
		default:
			var text string
			text, ok = s.text(name)
			ok = ok && d.setText(e, name, text) == nil
		}
		if !ok {
			return 0, false, false
		}
	}
}

func (d *Decoder) scanMetadata(m *Metadata, s *scanner) (have attrSet, ok bool) {
	for {
		name, raw, more := s.attribute()
		if !more {
			return have, s.cut("/>") && d.checkMetadata(m) == nil
		}
		i := attrIndex(name)
		if i < 0 || have&(1<<i) != 0 {
			return 0, false
		}
		value, ok := plainText(raw)
		if have |= 1 << i; !ok || d.setMetadata(m, 1<<i, value) != nil {
			return 0, false
		}
	}
}

func (d *Decoder) scanLink(links []resourcesync.Link, s *scanner) (_ []resourcesync.Link, ok bool) {
	var l resourcesync.Link
	var have [16]string
	for n := 0; ; n++ {
		name, raw, more := s.attribute()
		if !more {
			links, err := d.addLink(links, &l)
			return links, s.cut("/>") && err == nil
		}
		if slices.Contains(have[:min(n, len(have))], name) {
			return nil, false
		}
		value, ok := plainText(raw)
		if !ok || n == len(have) || d.setLink(&l, name, value) != nil {
			return nil, false
		}
		have[n] = name
	}
}

// skipped is the part of a document that encoding/xml has not seen, for positions.
type skipped struct {
	lines   int
	line    int // of encoding/xml, at the end of the part
	columns int // of the line there
}

// add adds the next part of the document.
func (k *skipped) add(x *xml.Decoder, text []byte) {
	line, column := x.InputPos()
	if k.line != line {
		k.line, k.columns = line, 0
	}
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
		k.lines += bytes.Count(text, []byte("\n"))
		k.columns = 1 - column
		text = text[last+1:]
	}
	k.columns += len(text)
}

// inputPos returns the position of the next token.
func (d *Decoder) inputPos() position {
	line, column := d.xml.InputPos()
	if line == d.skipped.line {
		column += d.skipped.columns
	}
	return position{line + d.skipped.lines, column}
}
