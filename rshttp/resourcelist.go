package rshttp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// errOutgrown means that a range has more resources than a document can hold.
var errOutgrown = errors.New("the range has outgrown the limits of a document")

// listState reads the state of resourcelist.xml: of an index if the set has several pages,
// otherwise of the complete set.
func listState(ctx context.Context, t target, was *state) (*state, error) {
	if was != nil && was.partition == nil {
		now, err := t.set.resourceState(ctx, partition.Whole, was)
		if err != nil || now == was {
			return was, err
		}
	}
	p, err := t.set.pages.Get(ctx)
	if err != nil {
		return nil, err
	}
	if len(p.Cuts) > 1 {
		return partitionState(p, was), nil
	}
	return t.set.resourceState(ctx, partition.Whole, nil)
}

// renderResourceList renders resourcelist.xml: the Resource List if one page is enough
// (section 10.1), otherwise the index (section 10.2).
func renderResourceList(ctx context.Context, t target, st *state, b *render.Body) error {
	if st.partition != nil {
		return renderRangeIndex(t, st.partition.At, st.partition.Cuts, b)
	}
	p := t.set.pages.Current()
	err := listResources(ctx, t, st, b, t.set.Division.PageSize, nil)
	if !errors.Is(err, errOutgrown) {
		return err
	}
	// The set has grown since it was divided.
	if p, err = t.set.pages.Renew(ctx, p); err != nil {
		return err
	}
	b.Free()
	if len(p.Cuts) > 1 {
		return errMoved
	}
	return listResources(ctx, t, st, b, rsxml.MaxEntries, nil)
}

func renderRangeIndex(t target, at time.Time, cuts []resourcesync.Cut, b *render.Body) error {
	b.Head = resourceHead(t, true, at)
	i := 0
	for r := range partition.Ranges(cuts, "") {
		// There is no at: the at of the index applies to the page, and the page's
		// own newest change is earlier (section 10.2).
		if err := t.addPart(b, partition.FormatRange(r), &rsxml.Entry{LastMod: cuts[i].Newest}); err != nil {
			return err
		}
		i++
	}
	return nil
}

// addPart adds e, the entry of a part, to the index t.
func (t target) addPart(b *render.Body, part string, e *rsxml.Entry) error {
	e.Loc = t.url(t.kind.parts, part)
	if !b.Add(e) {
		return fmt.Errorf("the index of the %s of set %q has outgrown the limits of a document: raise PageSize", t.kind.name, t.set.Name)
	}
	return nil
}

// renderResourcePage renders a page of an indexed Resource List from its range of keys, which
// is its name.
func renderResourcePage(ctx context.Context, t target, st *state, b *render.Body) error {
	err := listResources(ctx, t, st, b, rsxml.MaxEntries, nil)
	if errors.Is(err, errOutgrown) {
		return &goneError{index: t.url(t.kind.parent, ""), reason: err.Error()}
	}
	return err
}

// listResources writes the head of the document t and an entry for each resource in st.keys,
// at most limit of them, into b. If pack is not nil, the document is a manifest: pack returns
// the path of a resource in the package, an error if the resource must be omitted, or
// errOutgrown if the package is too large.
func listResources(ctx context.Context, t target, st *state, b *render.Body, limit int, pack func(resourcesync.Resource) (path string, err error)) error {
	l := &lister{t: t, body: b, limit: limit, pack: pack, st: st, started: time.Now(), at: st.modified}
	b.Head = resourceHead(t, false, l.at)
	if err := l.listParts(ctx); err != nil {
		return err
	}
	t.set.report(l.left, b.Fields)
	b.Head = resourceHead(t, false, l.at)
	return nil
}

// A lister writes the entries of resources into a document.
type lister struct {
	t     target
	st    *state
	body  *render.Body
	limit int
	pack  func(resourcesync.Resource) (path string, err error)

	started time.Time
	at      time.Time // of the document
	builder entries.Builder
	left    render.Omitted
	last    string // the key of the last entry
}

// restart empties the document.
func (l *lister) restart() {
	l.body.Free()
	l.body.Head = resourceHead(l.t, false, l.at)
	l.left = render.Omitted{}
}

// list writes the entries of the resources in keys.
func (l *lister) list(ctx context.Context, keys resourcesync.Range) error {
	for res, err := range checked.Resources(ctx, l.t.set.Provider, keys, l.left.Add) {
		if err != nil {
			return err
		}
		path := ""
		if l.pack != nil {
			path, err = l.pack(res)
		}
		if errors.Is(err, errOutgrown) {
			return err
		}
		if err != nil {
			l.left.Add(res.Key, res.URI, err)
			continue
		}
		if l.st.modified.IsZero() && res.LastModified.After(l.at) && res.LastModified.Before(l.started) {
			l.at = res.LastModified
		}
		e := l.builder.Resource(&res)
		e.Metadata.Path = path
		l.last = res.Key
		if !l.body.AddKey(res.Key, e) || l.body.Entries > l.limit {
			return errOutgrown
		}
	}
	return nil
}

// listAll writes the entries of all resources of the document.
func (l *lister) listAll(ctx context.Context) error {
	err := l.list(ctx, l.st.keys)
	tooLarge := l.body.Entries <= l.limit
	if errors.Is(err, errOutgrown) && l.pack == nil && (tooLarge || l.limit == rsxml.MaxEntries) {
		l.t.set.pages.Split(l.st.keys, l.last, tooLarge && l.t.set.Cutter != nil)
	}
	return err
}

// resourceHead returns the head of a Resource List or its index. at is the time of the newest
// change that it shows; if it is unknown, the at of the document is the epoch.
func resourceHead(t target, index bool, at time.Time) *rsxml.Head {
	h := t.head(index)
	if t.isSitemap() {
		return h
	}
	if h.Metadata.At = at; at.Before(epoch) {
		h.Metadata.At = epoch
	}
	return h
}

// head returns the beginning of the head of t: its capability and links.
func (t target) head(index bool) *rsxml.Head {
	h := &rsxml.Head{Index: index, Metadata: rsxml.Metadata{Capability: t.kind.capability}}
	if t.isSitemap() {
		return h
	}
	h.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: t.url(kindCapabilityList, "")}}
	if t.kind.parent != "" {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: t.url(t.kind.parent, "")})
	}
	if archive := t.kind.capability + "-archive"; t.set.has(archive) {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelArchives, Href: t.url(string(archive), "")})
	}
	return h
}

// isSitemap reports whether t is a plain sitemap, which has no head.
func (t target) isSitemap() bool { return t.kind.capability == "" }

var epoch = time.Unix(0, 0).UTC()
