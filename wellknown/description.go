package wellknown

import (
	"errors"
	"fmt"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Set is what a Source Description says about a set of resources.
type Set struct {
	// CapabilityList is the URI of the set's Capability List. It is
	// mandatory.
	CapabilityList string

	// DescribedBy is the URI of a document that describes the set. If empty,
	// there is none, although section 8 recommends one.
	DescribedBy string
}

// Options are the optional arguments of [Description].
type Options struct {
	// DescribedBy is the URI of a document about the Source. If empty, there
	// is none, although section 8 recommends one.
	DescribedBy string

	// URI is the URI that document is served at: that of [Path] at the
	// origin of the Source. Part returns the URI that parts[k] is served at.
	// Both are needed only when one document cannot hold all sets.
	URI  string
	Part func(k int) string
}

// Description returns the Source Description of a Source that has the given
// sets, in their order (section 8). opts may be nil.
//
// As long as document can hold them all, within [rsxml.MaxEntries] and
// [rsxml.MaxBytes], parts is nil. Beyond that document is a Source Description
// Index, and parts are the Source Descriptions that it groups, each with a link
// back to it (section 6.2).
//
// The same arguments give the same bytes. There is an error if a URI is not one
// that a document may hold, see [rsxml.CheckURI], or if there must be parts and
// opts does not say where they are.
func Description(sets []Set, opts *Options) (document []byte, parts [][]byte, err error) {
	return describe(sets, opts, limits{rsxml.MaxEntries, rsxml.MaxBytes})
}

// limits are those of one document. Tests have smaller ones.
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
	// Divided again, because the link to the index takes room as well.
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
		return nil, nil, errors.New("wellknown: more sets than a Source Description Index can lead to")
	}
	return indexes[0], parts, nil
}

// divide writes n entries into as few documents as the limits allow, one at
// least. An entry is far smaller than a document.
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

// check reports the first URI that is not fit for a document.
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

// describedBy returns the link to a description at uri, if there is one.
func describedBy(uri string) []resourcesync.Link {
	if uri == "" {
		return nil
	}
	return []resourcesync.Link{{Rel: resourcesync.RelDescribedBy, Href: uri}}
}
