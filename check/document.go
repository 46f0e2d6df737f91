package check

import (
	"errors"
	"hash/maphash"
	"io"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// largeDocument is the size in bytes from which a document should be divided. Some
	// Destinations build a tree of it in memory.
	largeDocument = 10_000_000

	// clockSkew is how far times may be in the future, because clocks differ.
	clockSkew = 5 * time.Minute
)

// An expectation is the metadata of a document in the document that links to it. Fields are zero if
// they are not known.
type expectation struct {
	at         place // of the entry
	capability resourcesync.Capability
	up, index  string // URLs of the documents above
	metadata   rsxml.Metadata
	nested     bool      // it is listed by an index
	paged      bool      // a link with rel="next" leads to it
	read       time.Time // when the entry was read
	child      *content  // the entry of a part; nil for other documents
}

// A document is a document that has been read.
type document struct {
	name       string // URL or file name
	head       rsxml.Head
	capability resourcesync.Capability // in the words of the current specification
	place      place                   // of the rs:md
	entries    int64
	bytes      int64
	complete   bool   // it has been read completely
	next       string // the document that continues it, or ""
	elsewhere  bool   // the next document is at another host

	// sum is a hash of the bytes. ordered and unordered are hashes of the entries, with
	// and without their order.
	sum, ordered, unordered uint64
}

// section returns the section of the specification for a kind of document.
func section(c resourcesync.Capability, index bool) string {
	switch c {
	case resourcesync.Description:
		return "Core 8"
	case resourcesync.CapabilityList:
		return "Core 9"
	case resourcesync.ResourceList:
		if index {
			return "Core 10.2"
		}
		return "Core 10.1"
	case resourcesync.ResourceDump:
		return "Core 11.1"
	case resourcesync.ResourceDumpManifest:
		return "Core 11.2"
	case resourcesync.ChangeList:
		if index {
			return "Core 12.2"
		}
		return "Core 12.1"
	case resourcesync.ChangeDump:
		return "Core 13.1"
	case resourcesync.ChangeDumpManifest:
		return "Core 13.2"
	case resourcesync.ChangeNotification:
		return "Change Notification 3"
	case resourcesync.FrameworkNotification:
		return "Framework Notification 3"
	}
	return "Core 7"
}

func (d *document) section() string { return section(d.capability, d.head.Index) }

// seed is the seed for the sums of documents.
var seed = maphash.MakeSeed()

// A reading is the reading of one document.
type reading struct {
	*document
	*findings
	expect expectation
	now    time.Time
	base   *url.URL // of the document; nil for a file
	rules  entryRules
	each   func(d *document, e *rsxml.Entry, at place)

	// pending are violations of the syntax in the head, or in the entry that is being read.
	pending []*rsxml.SyntaxError
}

// maxPending is the maximum number of violations that are held back.
const maxPending = 1000

// syntax receives a violation of the syntax. It is held back, because the rules for an
// entry depend on its kind, which is not known before its end.
func (rd *reading) syntax(e *rsxml.SyntaxError) {
	if rd.pending = append(rd.pending, e); len(rd.pending) >= maxPending {
		rd.flush(false)
	}
}

// flush adds the violations that have been held back. An entry that belongs in an index may
// have the attributes of an index entry.
func (rd *reading) flush(part bool) {
	for _, e := range rd.pending {
		if !part || e.ID != "entry-change-missing" && e.ID != "attribute-misplaced" {
			rd.add(e.ID, place{rd.name, e.Line, e.Column, e.Entry}, e.Section, "%s", e.Rule)
		}
	}
	rd.pending = rd.pending[:0]
}

// read reads a complete document, checks it, and calls each, which may be nil, for each
// entry, with the absolute URI. An error means that r has failed; syntax errors are findings.
func (f *findings) read(name string, base *url.URL, r io.Reader, x expectation, now time.Time, each func(*document, *rsxml.Entry, place)) (*document, error) {
	d := &document{name: name}
	var sum maphash.Hash
	sum.SetSeed(seed)
	counted := &counter{r: r}
	decoder := rsxml.NewDecoder(io.TeeReader(counted, &sum))
	rd := &reading{document: d, findings: f, expect: x, now: now, base: base, each: each}
	decoder.Tolerate(rd.syntax)
	rd.rules = entryRules{reading: rd}
	if base != nil {
		rd.rules.origin = base.Scheme + "://" + base.Host + "/"
	}
	err := rd.all(decoder)
	rd.flush(false)
	if err == nil {
		_, err = io.Copy(io.Discard, io.TeeReader(counted, &sum))
	}
	d.bytes, d.sum = counted.n, sum.Sum64()
	if syntax, ok := errors.AsType[*rsxml.SyntaxError](err); ok {
		f.add(syntax.ID, place{name, syntax.Line, syntax.Column, syntax.Entry}, syntax.Section, "%s", syntax.Rule)
		return d, nil
	}
	if err != nil {
		return d, err
	}
	d.complete = true
	if d.bytes > largeDocument && d.bytes <= rsxml.MaxBytes {
		f.add("document-large", place{document: name}, "", "the document has %d bytes", d.bytes)
	}
	rd.rules.end()
	return d, nil
}

func (rd *reading) all(decoder *rsxml.Decoder) (err error) {
	d := rd.document
	if d.head, err = decoder.Head(); err != nil {
		return err
	}
	d.capability = tree.Today(d.head.Metadata.Capability)
	d.place = place{document: d.name}
	d.place.line, d.place.column = decoder.Position()
	rd.flush(false)
	rd.checkHead()
	var e rsxml.Entry // one for all entries; each must copy it to keep it
	for next, err := range decoder.Entries() {
		if err != nil {
			return err
		}
		e = next
		at := place{document: d.name, entry: decoder.Entry()}
		at.line, at.column = decoder.Position()
		if len(rd.pending) > 0 {
			rd.flush(d.isPart(&e))
		}
		d.entries++
		rd.rules.check(&e, at)
		if loc, ok := tree.Resolve(rd.base, e.Loc); ok {
			e.Loc = loc
		}
		if rd.each != nil {
			rd.each(d, &e, at)
		}
	}
	return nil
}

// A counter counts the bytes that are read.
type counter struct {
	r io.Reader
	n int64
}

// Read implements [io.Reader].
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}
