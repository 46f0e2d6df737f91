package destination

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// maxIndexes is the maximum depth of indexes.
	maxIndexes = 3

	// maxPages is the maximum number of documents that are read because another one links to
	// them with the relation next. maxPageBytes is the maximum number of bytes of their URLs,
	// which are in memory.
	maxPages     = 100_000
	maxPageBytes = 32 << 20

	// readAttempts is the number of attempts to read a list whose transfer breaks.
	readAttempts = 3
)

// A walk reads lists with all that belongs to them: the parts of indexes, and the pages of lists
// that continue in another document (rel="next"). A list that cannot be read does not stop it.
type walk struct {
	*run

	// known returns the validators of a document that need not be read again, and visit
	// handles a document. The parts that it returns are read as well.
	known func(uri string) (state.Document, error)
	visit func(ctx context.Context, p *page) (parts []rsxml.Entry, err error)

	// then, if it is not nil, is called when a document has been visited and closed, before its
	// parts are read.
	then func(ctx context.Context, p *page) error

	seen   map[string]bool
	listed map[string]bool // parts of indexes, which may be at any host
	pages  int             // that have been read after others
	bytes  int             // of their URLs
	failed error
}

// A page is a document of a list.
type page struct {
	*tree.Document
	uri string

	top   bool   // it is not part of an index
	first bool   // it does not continue another document
	next  string // the document that continues it, or ""
	last  bool   // no other document continues it
	cut   error  // the reason why the document that continues it is not read

	at time.Time // as of when it is complete, if it says so

	from     time.Time      // of the changes of a Change Dump
	unit     time.Duration  // in which the times of the packages seem to be written
	packages []packageEntry // of a dump
	listed   []string       // the URIs of these, and of the parts of an index of dumps
}

// A listError is an error of reading a document, as opposed to one of the state or the Sink.
type listError struct{ error }

func (e *listError) Unwrap() error { return e.error }

func isListError(err error) bool {
	_, ok := errors.AsType[*listError](err)
	return ok
}

// all reads lists. Afterwards, failed has the errors of those that cannot be read.
func (w *walk) all(ctx context.Context, lists []string) error {
	w.seen, w.listed, w.pages, w.bytes, w.failed = make(map[string]bool), make(map[string]bool), 0, 0, nil
	for _, uri := range lists {
		if err := w.list(ctx, uri, 0); err != nil {
			return err
		}
	}
	return nil
}

// list reads a list or an index, and the pages that continue it.
func (w *walk) list(ctx context.Context, uri string, depth int) error {
	var before *page
	for uri != "" && !w.seen[uri] {
		w.seen[uri] = true
		p := &page{uri: uri, top: depth == 0, first: before == nil}
		var parts []rsxml.Entry
		err := w.attempt(ctx, uri, func() (err error) {
			parts, err = w.read(ctx, p, before)
			return err
		})
		if err == nil && len(parts) > 0 && depth == maxIndexes {
			err = &listError{fmt.Errorf("%s: there are more than %d levels of indexes", uri, maxIndexes)}
		}
		if err != nil {
			return w.fail(ctx, err)
		}
		if w.then != nil {
			if err := w.then(ctx, p); err != nil {
				return err
			}
		}
		for _, part := range parts {
			w.listed[part.Loc] = true
		}
		for _, part := range parts {
			if err := w.list(ctx, part.Loc, depth+1); err != nil {
				return err
			}
		}
		if p.cut != nil {
			return w.fail(ctx, p.cut)
		}
		before, uri = p, p.next
	}
	return nil
}

// fail records an error of a list. It returns any other error.
func (w *walk) fail(ctx context.Context, err error) error {
	if !isListError(err) || ctx.Err() != nil {
		return err
	}
	w.log.Warn("a list cannot be read", "error", err)
	w.failed = errors.Join(w.failed, err)
	return nil
}

// read reads a document that continues another one, unless that is nil.
func (w *walk) read(ctx context.Context, p, before *page) (parts []rsxml.Entry, err error) {
	known, err := w.known(p.uri)
	if err != nil {
		return nil, err
	}
	if p.Document, err = w.reader.Open(ctx, p.uri, known.Validators); err != nil {
		return nil, &listError{err}
	}
	defer p.Close()
	switch {
	case p.NotModified:
		p.at = known.At
		p.next, err = w.state.Next(p.uri)
	case before != nil && !before.NotModified && p.Capability != before.Capability:
		err = &listError{fmt.Errorf("%s continues %s, but has the capability %q instead of %q", p.uri, before.uri, p.Capability, before.Capability)}
	default:
		p.at = notAfter(p.Head.Metadata.At, p.Header)
		p.next, p.cut = p.Next()
	}
	if err != nil {
		return nil, err
	}
	if p.next != "" && !w.seen[p.next] && p.cut == nil {
		p.cut = w.continues(p)
	}
	p.last = p.cut == nil && (p.next == "" || w.seen[p.next])
	if p.cut != nil {
		p.cut = &listError{p.cut}
	}
	// This is before the validators are stored, because later answers may be that p is not
	// modified.
	if err := w.state.SaveNext(p.uri, p.next); err != nil {
		return nil, err
	}
	return w.visit(ctx, p)
}

// continues checks whether the document after p may be read.
func (w *walk) continues(p *page) error {
	if !p.NotModified && !w.listed[p.next] && !p.Continues(p.next) {
		return fmt.Errorf("%s continues at another host, which is not followed: %s", p.uri, p.next)
	}
	if w.pages++; w.pages > maxPages {
		return fmt.Errorf("%s: the list has more than %d pages", p.uri, maxPages)
	}
	if w.bytes += len(p.next); w.bytes > maxPageBytes {
		return fmt.Errorf("%s: the URLs of the pages have more than %d bytes", p.uri, maxPageBytes)
	}
	return nil
}

// save records that p has been read completely for a set. Unless it is final, it has to be read
// again, even if it has not been modified.
func (r *run) save(p *page, set *state.Set, baseline int64, final bool) error {
	d := state.Document{Validators: p.Validators, At: p.at}
	if !final || p.cut != nil {
		d.Validators = fetch.Validators{}
	}
	return r.state.SaveDocument(set.URI, p.uri, d, baseline)
}

// attempt repeats f if the transfer of a document breaks.
func (r *run) attempt(ctx context.Context, uri string, f func() error) error {
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == readAttempts || ctx.Err() != nil || !errors.Is(err, fetch.ErrBroken) && !tree.IsInvalid(err) {
			return err
		}
		r.log.Warn("a list is read again", "list", uri, "error", err)
	}
}

// maxParts is the maximum number of entries of an index that is read, and maxPartBytes the
// maximum number of bytes of their URLs, which are in memory. The Sitemap protocol allows
// 50,000 entries.
const (
	maxParts     = 100_000
	maxPartBytes = 32 << 20
)

// parts are the entries of an index or a dump: their URIs, times and lengths, and the links to
// copies of manifests.
type parts struct {
	entries []rsxml.Entry
	bytes   int // of their URLs
}

// add adds an entry.
func (p *parts) add(e *rsxml.Entry) error {
	part := rsxml.Entry{Loc: e.Loc, Metadata: rsxml.Metadata{From: e.Metadata.From, Until: e.Metadata.Until, Length: e.Metadata.Length}}
	p.bytes += len(e.Loc)
	for _, l := range e.Links {
		if l.Rel == resourcesync.RelContents {
			part.Links = []resourcesync.Link{l}
			p.bytes += len(l.Href)
			break
		}
	}
	if p.entries = append(p.entries, part); len(p.entries) > maxParts || p.bytes > maxPartBytes {
		return fmt.Errorf("the index has more than %d entries, or more than %d bytes of URLs", maxParts, maxPartBytes)
	}
	return nil
}

// sorted returns the entries as sortParts sorts them.
func (p *parts) sorted() []rsxml.Entry {
	sortParts(p.entries)
	return p.entries
}

// sortParts sorts entries by time if all have one, and none ends before it begins: then a clock was set back. It reports
// whether they had another order.
func sortParts(entries []rsxml.Entry) (moved bool) {
	byTime := func(a, b rsxml.Entry) int { return a.Metadata.From.Compare(b.Metadata.From) }
	if slices.IsSortedFunc(entries, byTime) || slices.ContainsFunc(entries, func(e rsxml.Entry) bool {
		from, until := e.Metadata.From, e.Metadata.Until
		return from.IsZero() || !until.IsZero() && until.Before(from)
	}) {
		return false
	}
	slices.SortStableFunc(entries, byTime)
	return true
}
