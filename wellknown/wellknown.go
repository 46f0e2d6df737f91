// Package wellknown serves the two entry points to the ResourceSync documents of a
// website: the Source Description at its well-known URI (core specification, sections
// 6.3.2 and 8), and the Sitemap directives in robots.txt (section 6.3.4).
//
// Package rshttp includes both. Use this package alone on a host that only links to
// Capability Lists that another server publishes.
package wellknown

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Path is the path of the Source Description's well-known URI (section 6.3.2).
const Path = "/.well-known/resourcesync"

// A Set is an entry of a Source Description (section 8).
type Set struct {
	// CapabilityList is the URI of the set's Capability List. It is
	// mandatory.
	CapabilityList string

	// DescribedBy is the URI of a document that describes the set. Section 8
	// recommends one. If empty, the entry has no such link.
	DescribedBy string
}

// Options are the optional arguments of [Description].
type Options struct {
	// DescribedBy is the URI of a document that describes the Source. Section 8
	// recommends one. If empty, the Source Description has no such link.
	DescribedBy string

	// URI is the URI of document: [Path] at the origin of the Source. Part
	// returns the URI of parts[k]. Both are mandatory if one document cannot hold
	// all sets, and unused otherwise.
	URI  string
	Part func(k int) string
}

// Description returns the Source Description of a Source with the given sets, in
// their order (section 8). opts may be nil.
//
// If one document can hold all sets, within [rsxml.MaxEntries] and [rsxml.MaxBytes],
// parts is nil. Otherwise document is a Source Description Index, and parts are the
// Source Descriptions that it lists, each with a link to the index (section 6.2).
//
// Equal arguments give equal bytes. Description fails if [rsxml.CheckURI] refuses a
// URI, or if the sets need parts and opts lacks their URIs.
func Description(sets []Set, opts *Options) (document []byte, parts [][]byte, err error) {
	return describe(sets, opts, limits{rsxml.MaxEntries, rsxml.MaxBytes})
}

// limits are the limits of one document. Tests use smaller ones.
type limits struct{ entries, bytes int }

func describe(sets []Set, opts *Options, most limits) (document []byte, parts [][]byte, err error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := check(sets, opts); err != nil {
		return nil, nil, fmt.Errorf("wellknown: %w", err)
	}
	head := rsxml.Head{
		Metadata: rsxml.Metadata{Capability: resourcesync.Description},
		Links:    describedBy(opts.DescribedBy),
	}
	entry := func(i int) rsxml.Entry {
		return rsxml.Entry{
			Loc:      sets[i].CapabilityList,
			Metadata: rsxml.Metadata{Capability: resourcesync.CapabilityList},
			Links:    describedBy(sets[i].DescribedBy),
		}
	}
	if parts = divide(&head, len(sets), entry, most); len(parts) == 1 {
		return parts[0], nil, nil
	}

	if opts.URI == "" || opts.Part == nil {
		return nil, nil, errors.New("wellknown: the sets do not fit into one document: set URI and Part of Options")
	}
	// Divide again: the link to the index takes space as well.
	inPart := head
	inPart.Links = append(inPart.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: opts.URI})
	parts = divide(&inPart, len(sets), entry, most)

	head.Index = true
	uris := make([]string, len(parts))
	for k := range parts {
		uris[k] = opts.Part(k)
		if err := rsxml.CheckURI(uris[k]); err != nil {
			return nil, nil, fmt.Errorf("wellknown: part %d: %w", k, err)
		}
	}
	indexes := divide(&head, len(uris), func(k int) rsxml.Entry {
		return rsxml.Entry{Loc: uris[k], Metadata: rsxml.Metadata{Capability: resourcesync.Description}}
	}, most)
	if len(indexes) > 1 {
		return nil, nil, errors.New("wellknown: the sets do not fit into one Source Description Index")
	}
	return indexes[0], parts, nil
}

// divide writes n entries into as few documents as the limits allow, and at least
// one. An entry is far smaller than a document.
func divide(head *rsxml.Head, n int, entry func(i int) rsxml.Entry, most limits) [][]byte {
	var (
		documents [][]byte
		start     = rsxml.AppendHead(nil, head)
		tail      = rsxml.AppendTail(nil, head)
		b         = slices.Clone(start)
		entries   int
	)
	for i := range n {
		e := entry(i)
		end := len(b)
		b, _ = rsxml.AppendEntry(b, head, &e)
		entries++
		if entries > most.entries || len(b)+len(tail) > most.bytes {
			documents = append(documents, append(b[:end], tail...))
			b, _ = rsxml.AppendEntry(slices.Clone(start), head, &e)
			entries = 1
		}
	}
	return append(documents, append(b, tail...))
}

// check reports the first URI that a document cannot contain.
func check(sets []Set, opts *Options) error {
	if err := checkOptional(opts.DescribedBy); err != nil {
		return fmt.Errorf("DescribedBy of the Source: %w", err)
	}
	if err := checkOptional(opts.URI); err != nil {
		return fmt.Errorf("URI of the Source Description: %w", err)
	}
	for i, s := range sets {
		if err := rsxml.CheckURI(s.CapabilityList); err != nil {
			return fmt.Errorf("CapabilityList of set %d: %w", i, err)
		}
		if err := checkOptional(s.DescribedBy); err != nil {
			return fmt.Errorf("DescribedBy of set %d: %w", i, err)
		}
	}
	return nil
}

func checkOptional(uri string) error {
	if uri == "" {
		return nil
	}
	return rsxml.CheckURI(uri)
}

// describedBy returns a link to the description at uri, or none if uri is empty.
func describedBy(uri string) []resourcesync.Link {
	if uri == "" {
		return nil
	}
	return []resourcesync.Link{{Rel: resourcesync.RelDescribedBy, Href: uri}}
}

// Handler serves document, a result of [Description], at any path:
//
//	mux.Handle(wellknown.Path, wellknown.Handler(document))
//
// It answers GET and HEAD, including conditional and Range requests, and answers 405
// to other methods. The caller must not modify document afterwards.
func Handler(document []byte) http.Handler {
	tag := entityTag(document)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if reqbody.Get(w, r) {
			w.Header().Set("Content-Type", "application/xml")
			serve(w, r, tag, document)
		}
	})
}

// serve answers r with body, whose entity tag is tag. The caller has set the
// Content-Type. There is no Last-Modified, because the age of body is unknown.
func serve(w http.ResponseWriter, r *http.Request, tag string, body []byte) {
	w.Header().Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// entityTag returns an entity tag of body. It is weak, so that the host's compressing
// middleware may keep it.
func entityTag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}
