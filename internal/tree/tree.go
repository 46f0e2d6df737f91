// Package tree reads the documents of a Source, however it has been found, and however
// many rules its documents break.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Reader reads documents. Report receives the rules that they break, by the URL of the
// document.
type Reader struct {
	Client *fetch.Client
	Report func(document string, e *rsxml.SyntaxError)

	budget *budget // of Discover, or nil
}

// A Document is an open document. Callers close it.
type Document struct {
	*fetch.Document
	Head       rsxml.Head
	Capability resourcesync.Capability // of the head, in today's words

	decoder *rsxml.Decoder
	base    *url.URL
	report  func(*rsxml.SyntaxError)

	nameless []int // the lines of entries without a URI
	urlset   bool  // it has been reported that the urlset is an index
}

// Open requests a document and reads its head, unless it is not modified since known.
func (r *Reader) Open(ctx context.Context, uri string, known fetch.Validators) (*Document, error) {
	return r.OpenTo(ctx, uri, known, nil)
}

// OpenTo is Open, and writes what is read of the document to copy, unless that is nil.
func (r *Reader) OpenTo(ctx context.Context, uri string, known fetch.Validators, copy io.Writer) (*Document, error) {
	if IsUnreadable(uri) {
		return nil, fmt.Errorf("%s: %w", uri, ErrUnreadable)
	}
	res, err := r.document(ctx, uri, known)
	if err != nil || res.NotModified {
		return &Document{Document: res}, err
	}
	if copy != nil {
		res.Reader = io.TeeReader(res.Reader, copy)
	}
	d, err := r.decode(res)
	if err != nil {
		res.Close()
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	return d, nil
}

// Decode reads the head of a document that is not requested: the manifest of a package at
// uri. The caller closes text.
func (r *Reader) Decode(uri string, text io.Reader) (*Document, error) {
	d, err := r.decode(&fetch.Document{Reader: text, Closer: io.NopCloser(nil), URL: uri, Header: http.Header{}})
	if err != nil {
		return nil, fmt.Errorf("the manifest of %s: %w", uri, err)
	}
	return d, nil
}

func (r *Reader) decode(res *fetch.Document) (*Document, error) {
	base, err := url.Parse(res.URL)
	if err != nil {
		return nil, err
	}
	d := &Document{Document: res, decoder: rsxml.NewDecoder(res), base: base}
	d.report = func(e *rsxml.SyntaxError) {
		if e.ID == "loc-missing" && len(d.nameless) < maxNameless {
			d.nameless = append(d.nameless, e.Line)
		}
		r.Report(res.URL, e)
	}
	d.decoder.Tolerate(d.report)
	if d.Head, err = d.decoder.Head(); err != nil {
		return nil, err
	}
	d.Capability = Today(d.Head.Metadata.Capability)
	return d, nil
}

// Today returns the current word for a capability. Drafts before 1.0 had others, and some
// Sources give indexes a capability of their own.
func Today(c resourcesync.Capability) resourcesync.Capability {
	switch c = resourcesync.Capability(strings.ToLower(strings.TrimSpace(string(c)))); c {
	case "resourcesync":
		return resourcesync.Description
	case "changeset":
		return resourcesync.ChangeList
	}
	return resourcesync.Capability(strings.TrimSuffix(string(c), "index"))
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
		if fetch.IsDigest(h) {
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

// A Set has the documents of a set of resources, by their capabilities. A Source should
// have one of each.
type Set struct {
	URI      string // of its Capability List, or of the document that was given instead
	Lists    map[resourcesync.Capability][]string
	Channels []Channel

	// Named is the URI of the document that leads to the set. If Described, that is a Source
	// Description, which names all sets of the Source.
	Named     string
	Described bool
}

// walk appends the sets that the document at uri leads to.
func (r *Reader) walk(ctx context.Context, uri string, depth int) ([]Set, error) {
	if !r.budget.visit(uri) {
		return nil, nil
	}
	if err := CheckDepth(depth); err != nil {
		return nil, err
	}
	d, err := r.Open(ctx, uri, fetch.Validators{})
	if err != nil {
		return nil, err
	}
	return r.sets(ctx, uri, d, depth)
}

// sets returns the sets that d leads to, and closes d.
func (r *Reader) sets(ctx context.Context, uri string, d *Document, depth int) ([]Set, error) {
	defer d.Close()
	switch d.Capability {
	case resourcesync.Description:
		if err := r.budget.Description(); err != nil {
			return nil, err
		}
		sets, err := r.described(ctx, d, depth)
		for i := range sets {
			sets[i].Named, sets[i].Described = uri, true
		}
		return sets, err
	case resourcesync.CapabilityList:
		if err := r.budget.Sets(1); err != nil {
			return nil, err
		}
		set, err := capabilities(uri, d)
		return []Set{set}, err
	}
	if up, ok := d.Up(); ok && depth == 0 {
		d.Close() // an open document takes one of the requests that its host allows
		if sets, err := r.walk(ctx, up, maxDepth); err == nil && len(sets) == 1 && len(sets[0].Lists) > 0 && sets[0].URI == up {
			return sets, nil
		}
	}
	capability := d.Capability
	switch capability {
	case resourcesync.ChangeList, resourcesync.ResourceDump, resourcesync.ChangeDump:
	default:
		capability = resourcesync.ResourceList
	}
	if err := r.budget.Sets(1); err != nil {
		return nil, err
	}
	return []Set{{URI: uri, Lists: map[resourcesync.Capability][]string{capability: {uri}}}}, nil
}

// described returns the sets of a Source Description, or of an index of them.
func (r *Reader) described(ctx context.Context, d *Document, depth int) ([]Set, error) {
	var uris []string
	for e, err := range d.Entries() {
		if err != nil {
			return nil, err
		}
		if uris = append(uris, e.Loc); len(uris) > maxSets {
			return nil, errManySets
		}
	}
	d.Close()
	var out []Set
	for _, uri := range uris {
		sets, err := r.walk(ctx, uri, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return out, nil
}

// maxLists is the maximum number of entries of a Capability List that are used.
const maxLists = 1000

// capabilities returns the set of a Capability List.
func capabilities(uri string, d *Document) (Set, error) {
	set := Set{URI: uri, Lists: make(map[resourcesync.Capability][]string)}
	n := 0
	for e, err := range d.entries(isAddress) {
		if err != nil {
			return set, err
		}
		c := Today(e.Metadata.Capability)
		if c == "" || n >= maxLists {
			continue
		}
		n++
		if c == resourcesync.ChangeNotification || c == resourcesync.FrameworkNotification {
			set.Channels = append(set.Channels, d.channel(c, &e))
		} else {
			set.Lists[c] = append(set.Lists[c], e.Loc)
		}
	}
	if n == 0 {
		return set, fmt.Errorf("%s: the Capability List has no entry with a capability", uri)
	}
	return set, nil
}

// IsInvalid reports whether err means that something was read that is not a document.
func IsInvalid(err error) bool {
	_, ok := errors.AsType[*rsxml.SyntaxError](err)
	return ok
}
