package document

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
func listState(ctx context.Context, t Target, was *State) (*State, error) {
	if was != nil && was.Partition == nil {
		now, err := t.Set.ResourceState(ctx, partition.Whole, was)
		if err != nil || now == was {
			return was, err
		}
	}
	p, err := t.Set.Pages.Get(ctx)
	if err != nil {
		return nil, err
	}
	if len(p.Cuts) > 1 {
		return PartitionState(p, was), nil
	}
	return t.Set.ResourceState(ctx, partition.Whole, nil)
}

// renderResourceList renders resourcelist.xml: the Resource List if one page is enough
// (section 10.1), otherwise the index (section 10.2).
func renderResourceList(ctx context.Context, t Target, st *State, b *render.Body) error {
	if st.Partition != nil {
		return renderRangeIndex(t, st.Partition.At, st.Partition.Cuts, b)
	}
	p := t.Set.Pages.Current()
	err := listResources(ctx, t, st, b, t.Set.Division.PageSize, nil)
	if !errors.Is(err, errOutgrown) {
		return err
	}
	// The set has grown since it was divided.
	if p, err = t.Set.Pages.Renew(ctx, p); err != nil {
		return err
	}
	b.Free()
	if len(p.Cuts) > 1 {
		return ErrMoved
	}
	return listResources(ctx, t, st, b, rsxml.MaxEntries, nil)
}

func renderRangeIndex(t Target, at time.Time, cuts []resourcesync.Cut, b *render.Body) error {
	b.Head = resourceHead(t, true, at)
	for i, c := range render.Listed(b, cuts, false) {
		r := resourcesync.Range{To: c.Key}
		if i > 0 {
			r.From = cuts[i-1].Key
		}
		// There is no at: the at of the index applies to the page, and the page's
		// own newest change is earlier (section 10.2).
		if err := t.addPart(b, partition.FormatRange(r), &rsxml.Entry{LastMod: c.Newest}); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds e, the entry of a part, to the index t.
func (t Target) addPart(b *render.Body, part string, e *rsxml.Entry) error {
	e.Loc = t.URL(t.Kind.Parts, part)
	if !b.Add(e) {
		return b.Full(fmt.Errorf("the index of the %s of set %q has outgrown the limits of a document: raise PageSize, up to %d, or divide the set into several", t.Kind.Name, t.Set.Name, rsxml.MaxEntries))
	}
	return nil
}

// renderResourcePage renders a page of an indexed Resource List from its range of keys, which
// is its name.
func renderResourcePage(ctx context.Context, t Target, st *State, b *render.Body) error {
	err := listResources(ctx, t, st, b, rsxml.MaxEntries, nil)
	if errors.Is(err, errOutgrown) {
		return &Gone{Index: t.URL(t.Kind.Parent, ""), Reason: err.Error()}
	}
	return err
}

// listResources writes the head of the document t and an entry for each resource in st.keys,
// at most limit of them, into b. If pack is not nil, the document is a manifest: pack returns
// the path of a resource in the package, an error if the resource must be omitted, or
// errOutgrown if the package is too large.
func listResources(ctx context.Context, t Target, st *State, b *render.Body, limit int, pack func(resourcesync.Resource) (path string, err error)) error {
	if w := b.Window; w != nil && (w.Skip > 0 || !w.Before.IsZero()) {
		return t.NotExist("a range with this position")
	}
	l := &lister{t: t, body: b, limit: limit, pack: pack, st: st, started: time.Now(), at: st.Modified}
	b.Head = resourceHead(t, false, l.at)
	if err := l.listParts(ctx); err != nil {
		return err
	}
	t.Set.report(b, l.left)
	if b.Window == nil { // otherwise, l.at covers only the entries on the page
		b.Head = resourceHead(t, false, l.at)
	}
	return nil
}

// A lister writes the entries of resources into a document.
type lister struct {
	t     Target
	st    *State
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
	for res, err := range checked.Resources(ctx, l.t.Set.Provider, keys, l.left.Add) {
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
		if l.st.Modified.IsZero() && res.LastModified.After(l.at) && res.LastModified.Before(l.started) {
			l.at = res.LastModified
		}
		e := l.builder.Resource(&res)
		e.Metadata.Path = path
		l.last = res.Key
		if !l.body.AddKey(res.Key, e) || l.body.Entries > l.limit {
			return l.body.Full(errOutgrown)
		}
	}
	return nil
}

// listAll writes the entries of all resources of the document.
func (l *lister) listAll(ctx context.Context) error {
	err := l.list(ctx, l.st.keys)
	tooLarge := l.body.Entries <= l.limit
	if errors.Is(err, errOutgrown) && l.pack == nil && (tooLarge || l.limit == rsxml.MaxEntries) {
		l.t.Set.Pages.Split(l.st.keys, l.last, tooLarge && l.t.Set.Cutter != nil)
	}
	return err
}

// resourceHead returns the head of a Resource List or its index. at is the time of the newest
// change that it shows; if it is unknown, the at of the document is the epoch.
func resourceHead(t Target, index bool, at time.Time) *rsxml.Head {
	h := t.head(index)
	if t.isSitemap() {
		return h
	}
	if h.Metadata.At = at; at.Before(Epoch) {
		h.Metadata.At = Epoch
	}
	return h
}

// head returns the beginning of the head of t: its capability and links.
func (t Target) head(index bool) *rsxml.Head {
	h := &rsxml.Head{Index: index, Metadata: rsxml.Metadata{Capability: t.Kind.Capability}}
	if t.isSitemap() {
		return h
	}
	h.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: t.URL(KindCapabilityList, "")}}
	if t.Kind.Parent != "" {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: t.URL(t.Kind.Parent, "")})
	}
	if archive := t.Kind.Capability + "-archive"; t.Set.Has(archive) {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelArchives, Href: t.URL(string(archive), "")})
	}
	return h
}

// isSitemap reports whether t is a plain sitemap, which has no head.
func (t Target) isSitemap() bool { return t.Kind.Capability == "" }

var Epoch = time.Unix(0, 0).UTC()
