// Package tree reads the documents of a Source, however it has been found, and however
// many rules its documents break.
package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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

// Open requests a document and reads its head, unless it is not modified since known.
func (r *Reader) Open(ctx context.Context, uri string, known fetch.Validators) (*Document, error) {
	return r.OpenTo(ctx, uri, known, nil)
}

// OpenTo is like Open, and writes the text that is read of the document to copy, unless that is
// nil.
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
// Sources give indexes their own capabilities.
func Today(c resourcesync.Capability) resourcesync.Capability {
	switch c = resourcesync.Capability(strings.ToLower(strings.TrimSpace(string(c)))); c {
	case "resourcesync":
		return resourcesync.Description
	case "changeset":
		return resourcesync.ChangeList
	}
	return resourcesync.Capability(strings.TrimSuffix(string(c), "index"))
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
