package tree

import (
	"fmt"
	"iter"
	"net/url"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/digest"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Document is an open document. Callers close it.
type Document struct {
	*fetch.Document
	Head       rsxml.Head
	Capability resourcesync.Capability // of the head, in the words of the current specification

	decoder *rsxml.Decoder
	base    *url.URL
	report  func(*rsxml.SyntaxError)

	nameless []int // the lines of entries without a URI
	urlset   bool  // it has been reported that the urlset is an index
}

// Entries yields the entries with absolute URIs. For an entry whose URI cannot be requested,
// and for one without a URI, IsUnreadable reports true.
func (d *Document) Entries() iter.Seq2[rsxml.Entry, error] { return d.entries(isHTTP) }

// entries yields the entries. The URIs of those that are readable are valid.
func (d *Document) entries(valid func(uri string) bool) iter.Seq2[rsxml.Entry, error] {
	return func(yield func(rsxml.Entry, error) bool) {
		for e, err := range d.decoder.Entries() {
			if !d.yieldNameless(yield) {
				return
			}
			if err != nil {
				yield(rsxml.Entry{}, fmt.Errorf("%s: %w", d.URL, err))
				return
			}
			if uri, ok := d.resolve(e.Loc, valid); ok {
				e.Loc = uri
			} else {
				e.Loc = unreadable(e.Loc)
			}
			d.checkHashes(&e)
			if !yield(e, nil) {
				return
			}
		}
		d.yieldNameless(yield)
	}
}

// yieldNameless yields the entries without a URI that the decoder has omitted.
func (d *Document) yieldNameless(yield func(rsxml.Entry, error) bool) bool {
	for len(d.nameless) > 0 {
		line := d.nameless[0]
		d.nameless = d.nameless[1:]
		if !yield(rsxml.Entry{Loc: unreadable(fmt.Sprintf("line %d of %s", line, d.URL))}, nil) {
			return false
		}
	}
	return true
}

// checkHashes removes the hashes of e that cannot be compared with any content.
func (d *Document) checkHashes(e *rsxml.Entry) {
	e.Metadata.Hashes = slices.DeleteFunc(e.Metadata.Hashes, func(h resourcesync.Hash) bool {
		if digest.Is(h) {
			return false
		}
		d.deviate("hash-digest", "Core 7", fmt.Sprintf("the digest of %.100s is %.100q, and is ignored", h.Algorithm, h.Digest))
		return true
	})
}

// deviate reports a rule that the last entry breaks.
func (d *Document) deviate(id, section, rule string) {
	line, column := d.decoder.Position()
	d.report(&rsxml.SyntaxError{Line: line, Column: column, ID: id, Rule: rule, Section: section})
}

func (d *Document) resolve(ref string, valid func(uri string) bool) (string, bool) {
	return resolve(d.base, ref, valid)
}

// link returns the target of the first link of d with a relation.
func (d *Document) link(rel string) (string, bool) {
	for _, l := range d.Head.Links {
		if l.Rel == rel {
			return d.resolve(l.Href, isHTTP)
		}
	}
	return "", false
}

// Next returns the URL of the document that continues d, or "".
func (d *Document) Next() (string, error) {
	uri, err := Next(d.Head.Links, d.base)
	if err != nil {
		err = fmt.Errorf("%s: %w", d.URL, err)
	}
	return uri, err
}

// Continues reports whether d may continue at the URL next.
func (d *Document) Continues(next string) bool { return Continues(d.base, next) }

// IsPart reports whether an entry of d leads to a part of the same list, and reports an index that is
// written as a urlset.
func (d *Document) IsPart(e *rsxml.Entry) bool {
	if !IsPart(&d.Head, e) {
		return false
	}
	if !d.Head.Index && !d.urlset {
		d.urlset = true
		d.deviate("index-root", "Core 7", "an entry leads to a part of the list, but the root of an index is sitemapindex")
	}
	return true
}

// Up returns the URI of the parent of d, if d names it.
func (d *Document) Up() (string, bool) { return d.link(resourcesync.RelUp) }

// Target returns the target of the first link of an entry with a relation.
func (d *Document) Target(e *rsxml.Entry, rel string) (string, bool) {
	for _, l := range e.Links {
		if l.Rel == rel {
			return d.resolve(l.Href, isHTTP)
		}
	}
	return "", false
}
