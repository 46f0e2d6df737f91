package oaipmh

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxDepth is the maximum depth of elements, and maxText the maximum length, in bytes,
	// of a text that is kept: resumption tokens are the longest.
	maxDepth = 256
	maxText  = 16 << 10

	// maxItems is the maximum number of errors, metadata formats and sets of a header
	// that are kept. Further ones are ignored.
	maxItems = 1000
)

// A response is the metadata of a response (section 3.2), without its records.
type response struct {
	verb      string // the name of the element with the answer; empty if there are errors
	date      string // responseDate
	errors    []protocolError
	identity  identity
	formats   []string // metadata prefixes
	token     string   // resumptionToken; empty at the end of a list
	size      int64    // completeListSize, or 0
	records   int64
	lastKnown string // identifier of the last complete record, for errors
}

// An identity is the answer to Identify (section 4.2).
type identity struct {
	Name          string `json:"name,omitempty"`
	Earliest      string `json:"earliest,omitempty"`
	DeletedRecord string `json:"deleted,omitempty"`
	Granularity   string `json:"granularity,omitempty"`
}

// A record is a record, or the header of one (section 2.5).
type record struct {
	identifier string
	datestamp  string
	deleted    bool
	sets       []string
	uri        string // the first identifier in the metadata that is wanted
}

// A protocolError is an error of the protocol (section 3.6).
type protocolError struct{ code, text string }

func (e protocolError) Error() string {
	if e.text == "" {
		return e.code
	}
	return e.code + ": " + e.text
}

// errNoOAI means that a document is not a response of the protocol.
var errNoOAI = errors.New("is not an OAI-PMH response")

// A parser reads a response in one pass, and holds one record at a time.
type parser struct {
	wants func(uri string) (string, bool) // may return another form of it
	each  func(record) error

	out      response
	begun    bool     // the root
	path     []string // names of the open elements, without their namespaces
	record   record
	inRecord int // depth of the record or header; 0 outside of one
	metadata int // depth of the metadata; 0 outside of them
	text     []byte
	keep     bool // the text of the open element
	now      protocolError
}

// parse reads a response, and calls each for every record or header in it. wants returns the
// URI that the text of an identifier in the metadata stands for, or false.
func parse(r io.Reader, wants func(string) (string, bool), each func(record) error) (*response, error) {
	text, err := newCleaner(r)
	if err != nil {
		return nil, err
	}
	d := xml.NewDecoder(text)
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is UTF-8 now
	p := parser{wants: wants, each: each}
	for {
		text.left = maxToken
		token, err := d.RawToken()
		switch {
		case err == nil:
			err = p.take(token)
		case err == io.EOF && p.begun && len(p.path) == 0:
			return &p.out, nil
		case err == io.EOF && p.begun:
			err = io.ErrUnexpectedEOF
		case err == io.EOF:
			err = errNoOAI
		}
		if err != nil {
			return &p.out, p.fail(err)
		}
	}
}

// fail adds to err where the response cannot be read.
func (p *parser) fail(err error) error {
	if p.out.lastKnown != "" {
		return fmt.Errorf("%w (after the record %.200q)", err, p.out.lastKnown)
	}
	return err
}

func (p *parser) take(token xml.Token) error {
	switch token := token.(type) {
	case xml.StartElement:
		return p.start(token)
	case xml.EndElement:
		return p.end(token.Name.Local)
	case xml.CharData:
		if p.keep {
			if len(p.text)+len(token) > maxText {
				return fmt.Errorf("has an element %s with more than %d bytes", p.path[len(p.path)-1], maxText)
			}
			p.text = append(p.text, token...)
		}
	}
	return nil
}

func (p *parser) start(e xml.StartElement) error {
	name := e.Name.Local
	if len(p.path) == 0 && name != "OAI-PMH" {
		return fmt.Errorf("begins with <%.40s> and %w", name, errNoOAI)
	}
	p.begun = true
	if len(p.path) == maxDepth {
		return errors.New("has elements nested too deeply")
	}
	p.path = append(p.path, name)
	p.keep, p.text = false, p.text[:0]
	switch depth := len(p.path); {
	case p.metadata > 0:
		p.keep = name == "identifier" && p.record.uri == ""
	case p.inRecord > 0:
		p.startInRecord(e)
	case depth == 2:
		p.keep = name == "responseDate" || name == "error"
		switch name {
		case "error":
			p.now = protocolError{code: attr(e, "code")}
		case "responseDate", "request":
		default:
			p.out.verb = name
		}
	case depth == 3:
		p.startAnswer(e)
	case depth == 4:
		p.keep = name == "metadataPrefix" && p.path[2] == "metadataFormat"
	}
	return nil
}

// startAnswer begins a part of the answer.
func (p *parser) startAnswer(e xml.StartElement) {
	switch e.Name.Local {
	case "record":
		p.inRecord, p.record = len(p.path), record{}
	case "header":
		p.inRecord, p.record = len(p.path), record{deleted: attr(e, "status") == "deleted"}
	case "resumptionToken":
		p.keep = true
		p.out.size, _ = strconv.ParseInt(attr(e, "completeListSize"), 10, 64)
	case "repositoryName", "earliestDatestamp", "deletedRecord", "granularity":
		p.keep = true
	}
}

func (p *parser) startInRecord(e xml.StartElement) {
	switch parent := p.path[len(p.path)-2]; e.Name.Local {
	case "header":
		p.record.deleted = attr(e, "status") == "deleted"
	case "identifier", "datestamp", "setSpec":
		p.keep = parent == "header"
	case "metadata":
		if parent == "record" {
			p.metadata = len(p.path)
		}
	}
}

func (p *parser) end(name string) error {
	depth := len(p.path)
	if depth == 0 || p.path[depth-1] != name {
		return fmt.Errorf("has a </%.40s> in the wrong place", name)
	}
	text := ""
	if p.keep {
		text = strings.TrimSpace(string(p.text))
	}
	p.path, p.keep = p.path[:depth-1], false
	switch {
	case p.metadata > 0:
		if depth == p.metadata {
			p.metadata = 0
		} else if text != "" {
			if uri, ok := p.wants(text); ok {
				p.record.uri = uri
			}
		}
	case p.inRecord == depth:
		p.inRecord = 0
		p.out.records++
		p.out.lastKnown = p.record.identifier
		return p.each(p.record)
	case p.inRecord > 0:
		p.endInRecord(name, text)
	default:
		p.endAnswer(depth, name, text)
	}
	return nil
}

func (p *parser) endInRecord(name, text string) {
	switch {
	case text == "":
	case name == "identifier":
		p.record.identifier = text
	case name == "datestamp":
		p.record.datestamp = text
	case name == "setSpec" && len(p.record.sets) < maxItems:
		p.record.sets = append(p.record.sets, text)
	}
}

func (p *parser) endAnswer(depth int, name, text string) {
	switch {
	case depth == 2 && name == "responseDate":
		p.out.date = text
	case depth == 2 && name == "error" && len(p.out.errors) < maxItems:
		p.now.text = text
		p.out.errors = append(p.out.errors, p.now)
	case depth == 3 && name == "resumptionToken":
		p.out.token = text
	case depth == 3 && name == "repositoryName":
		p.out.identity.Name = text
	case depth == 3 && name == "earliestDatestamp":
		p.out.identity.Earliest = text
	case depth == 3 && name == "deletedRecord":
		p.out.identity.DeletedRecord = text
	case depth == 3 && name == "granularity":
		p.out.identity.Granularity = text
	case depth == 4 && name == "metadataPrefix" && text != "" && len(p.out.formats) < maxItems:
		p.out.formats = append(p.out.formats, text)
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
