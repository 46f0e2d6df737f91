package check

import (
	"context"
	"hash/maphash"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// maxDocuments is the maximum number of documents that are read, maxChildren the maximum
	// number of entries of a document that are followed, and maxLevels the maximum depth.
	maxDocuments = 200_000
	maxChildren  = rsxml.MaxEntries
	maxLevels    = 8

	// smallDocument is the size in bytes from which compression pays.
	smallDocument = 4096
)

// A walker reads the documents of a Source.
type walker struct {
	*checker
	seen   map[uint64]struct{} // hashes of the URLs of documents
	pages  []page              // that links with rel="next" lead to
	level  int
	hubs   map[string]bool    // that have been tried
	parts  map[uint64]indexed // parts of indexes, and indexes, by the hashes of their URLs
	topics map[string]string  // capabilities, by the URLs of topics
	first  []*once            // the documents that are read again

	identityTried bool

	budget tree.Budget // of documents above the lists
	spent  bool
}

// An indexed document is a part of an index, or an index.
type indexed struct {
	index string    // that lists the part
	at    time.Time // of the index
}

// A child is an entry that leads to another document or package.
type child struct {
	uri   string
	entry rsxml.Entry
	at    place
}

// content returns the entry in a form that can be compared with a later one.
func (ch *child) content() *content {
	c := contentOf(&ch.entry, ch.at)
	return &c
}

// walk reads the document at uri and those that it links to. Their resources belong to st.
func (w *walker) walk(ctx context.Context, uri string, x expectation, st *set) error {
	if err := w.visit(ctx, uri, x, st); err != nil || x.nested {
		return err
	}
	return w.readUnlisted(ctx, st)
}

// isSeen reports whether the document at uri has been read.
func (w *walker) isSeen(uri string) bool {
	_, seen := w.seen[maphash.String(seed, uri)]
	return seen
}

// visit is walk without the pages that only links with rel="next" lead to.
func (w *walker) visit(ctx context.Context, uri string, x expectation, st *set) error {
	if w.isSeen(uri) || w.spent {
		return nil
	}
	if above(x.capability) {
		if err := tree.CheckDepth(w.level); err != nil {
			w.stopEndless(x.at, err)
			return nil
		}
	}
	if len(w.seen) >= maxDocuments || w.level >= maxLevels {
		w.skip("%s and further documents were not read: there are more than %d documents or %d levels", uri, maxDocuments, maxLevels)
		return nil
	}
	w.seen[maphash.String(seed, uri)] = struct{}{}
	w.level++
	defer func() { w.level-- }()

	var children []child
	began, waits := time.Now(), new(fetch.Waits)
	d, at, err := w.get(fetch.WithWaits(ctx, waits), uri, x, func(d *document, e *rsxml.Entry, at place) {
		st.entry(d, e, at)
		if (leads(d) || d.isPart(e)) && len(children) < maxChildren {
			children = append(children, child{e.Loc, *e, at})
		}
	})
	if d == nil || !d.complete {
		st.missed()
	}
	if d == nil || err != nil {
		return err
	}
	if err := w.spend(d, time.Since(began)-waits.Total()); err != nil {
		w.stopEndless(place{document: uri}, err)
		return nil
	}
	if err := st.document(ctx, d, x); err != nil {
		return err
	}
	if d.next != "" {
		w.pages = append(w.pages, page{d.next, d.elsewhere, expectation{at: d.place, capability: d.capability, up: x.up, paged: true}, x})
	}
	return w.follow(ctx, d, at, children, x, st)
}

// spend takes a document above the lists, which has taken some time, from the budget that a Destination
// has for all of them.
func (w *walker) spend(d *document, took time.Duration) error {
	switch d.capability {
	case resourcesync.Description:
		if err := w.budget.Description(); err != nil {
			return err
		}
	case resourcesync.CapabilityList:
		if err := w.budget.Sets(1); err != nil {
			return err
		}
	default:
		return nil
	}
	return w.budget.Read(d.bytes, took)
}

// above reports whether documents of a capability are above the lists.
func above(c resourcesync.Capability) bool {
	return c == resourcesync.Description || c == resourcesync.CapabilityList
}

// stopEndless reports that a Destination stops here, and ends the walk.
func (w *walker) stopEndless(at place, err error) {
	w.spent = true
	w.add("discovery-endless", at, "", "%v: nothing more was read", err)
}

// leads reports whether the entries of a document are documents or packages.
func leads(d *document) bool {
	switch d.capability {
	case resourcesync.Description, resourcesync.CapabilityList, resourcesync.ResourceDump, resourcesync.ChangeDump:
		return true
	}
	return d.head.Index || strings.HasSuffix(string(d.capability), "-archive")
}

// follow reads the documents that the entries of a document link to. read is the time at which
// the document was read.
func (w *walker) follow(ctx context.Context, d *document, read time.Time, children []child, x expectation, st *set) error {
	switch {
	case d.capability == resourcesync.CapabilityList:
		return w.capabilities(ctx, d, read, children)
	case d.capability == resourcesync.ResourceDump && !d.head.Index, d.capability == resourcesync.ChangeDump && !d.head.Index:
		var packages, parts []child
		for _, ch := range children {
			if d.isPart(&ch.entry) {
				parts = append(parts, ch)
			} else {
				packages = append(packages, ch)
			}
		}
		if len(packages) > 0 || len(parts) == 0 {
			if err := w.dump(ctx, d, packages, st); err != nil {
				return err
			}
		}
		children = parts
	}
	for _, ch := range children {
		next := expectation{at: ch.at, read: read, metadata: ch.entry.Metadata, child: ch.content()}
		inner := st
		switch {
		case d.isPart(&ch.entry):
			next.capability, next.nested, next.up = d.capability, true, x.up
		case d.head.Index:
			next.capability, next.nested, next.index, next.up = d.capability, true, d.name, x.up
			w.parts[hashOf(ch.uri)] = indexed{d.name, d.head.Metadata.At}
			w.parts[hashOf(d.name)] = indexed{"", d.head.Metadata.At}
		case d.capability == resourcesync.Description:
			next.capability, next.up = resourcesync.CapabilityList, d.name
		default: // an archive
			next.capability = resourcesync.Capability(strings.TrimSuffix(string(d.capability), "-archive"))
			inner = nil // it is about the past
		}
		if d.capability == resourcesync.Description && d.head.Index {
			next.up = ""
		}
		if err := w.walk(ctx, ch.uri, next, inner); err != nil {
			return err
		}
	}
	return nil
}

// capabilities reads the documents of a Capability List, and compares them.
func (w *walker) capabilities(ctx context.Context, d *document, read time.Time, children []child) error {
	has := make(map[resourcesync.Capability]bool)
	st := newSet(w.checker)
	walk := func(c resourcesync.Capability, ch child) error {
		return w.walk(ctx, ch.uri, expectation{at: ch.at, read: read, capability: c, up: d.name}, st)
	}
	for _, c := range []resourcesync.Capability{resourcesync.ResourceList, resourcesync.ChangeList} {
		for _, ch := range children {
			if tree.Today(ch.entry.Metadata.Capability) == c {
				if err := walk(c, ch); err != nil {
					return err
				}
			}
		}
	}
	if err := st.finish(ctx); err != nil {
		return err
	}
	w.covers(d.name, st)
	var topics []child // whose notifications are about the other documents
	for _, ch := range children {
		c := tree.Today(ch.entry.Metadata.Capability)
		has[c] = true
		switch c {
		case resourcesync.ResourceList, resourcesync.ChangeList:
		case resourcesync.ChangeNotification, resourcesync.FrameworkNotification:
			topics = append(topics, ch)
		default:
			if err := walk(c, ch); err != nil {
				return err
			}
		}
	}
	for _, ch := range topics {
		if err := w.topic(ctx, ch, d); err != nil {
			return err
		}
	}
	if err := st.compareDump(ctx); err != nil {
		return err
	}
	if !has[resourcesync.ResourceList] && !has[resourcesync.ResourceDump] {
		w.add("baseline-missing", d.place, "", "the Capability List has neither a Resource List nor a Resource Dump")
	}
	if !has[resourcesync.ChangeList] && !has[resourcesync.ChangeDump] && len(has) > 0 {
		w.add("changes-missing", d.place, "", "the Capability List has neither a Change List nor a Change Dump")
	}
	return nil
}
