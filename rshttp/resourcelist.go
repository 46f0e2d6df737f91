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

// errOutgrown says that a range holds more than a document may.
var errOutgrown = errors.New("the range has outgrown the limits of a document")

// renderResourceList makes what lies at a set's resourcelist.xml: the Resource
// List if one page is enough (section 10.1), else its index (section 10.2).
func (s *Source) renderResourceList(ctx context.Context, t target) (*document, error) {
	cuts, err := t.set.pages.Get(ctx)
	if err != nil {
		return nil, err
	}
	if len(cuts.Cuts) == 1 {
		doc, err := s.renderResources(ctx, t, partition.Whole, s.options.PageSize)
		if !errors.Is(err, errOutgrown) {
			return doc, err
		}
		// More resources have come than the division knows of.
		if cuts, err = t.set.pages.Renew(ctx, cuts); err != nil {
			return nil, err
		}
		if len(cuts.Cuts) == 1 {
			return s.renderResources(ctx, t, partition.Whole, rsxml.MaxEntries)
		}
	}
	return s.renderResourceIndex(t, cuts)
}

func (s *Source) renderResourceIndex(t target, cuts *partition.Partition) (*document, error) {
	if len(cuts.Cuts) > rsxml.MaxEntries {
		return nil, fmt.Errorf("set %q has %d pages, more than the %d of an index: raise PageSize", t.set.name, len(cuts.Cuts), rsxml.MaxEntries)
	}
	head := s.resourceHead(t, true, cuts.At)
	b := render.Body{Head: head}
	defer b.Free()
	pageKind := kindResourcePage
	if t.isSitemap() {
		pageKind = kindSitemapPage
	}
	from := ""
	for _, cut := range cuts.Cuts {
		// There is no at: a page vouches for as much as the index does, and the
		// time of its own newest change is earlier (section 10.2).
		fits := b.Add(&rsxml.Entry{
			Loc:     s.routes.url(pageKind, t.set, partition.FormatRange(resourcesync.Range{From: from, To: cut.Key})),
			LastMod: cut.Newest,
		})
		if !fits {
			return nil, fmt.Errorf("the index of set %q has outgrown the limits of a document: raise PageSize", t.set.name)
		}
		from = cut.Key
	}
	// No Last-Modified: what the index says depends on the division as well,
	// which has no time of its own. The entity tag tells.
	return (&document{target: t, division: cuts.Number}).complete(b.Text())
}

// renderResourcePage makes one page of an indexed Resource List. Its range of
// keys is its name: nothing else is needed to make it.
func (s *Source) renderResourcePage(ctx context.Context, t target) (*document, error) {
	r, ok := partition.ParseRange(t.part)
	if !ok {
		return nil, notExist("a range of keys", t)
	}
	listed := t.set.pages.Lists(r)
	doc, err := s.renderResources(ctx, t, r, rsxml.MaxEntries)
	switch {
	case errors.Is(err, errOutgrown):
		kind := kindResourceList
		if t.isSitemap() {
			kind = kindSitemap
		}
		return nil, &goneError{index: s.routes.url(kind, t.set, ""), reason: err.Error()}
	case err == nil && !listed:
		// Anybody may ask for any range. It must not take the place of what
		// others will ask for.
		doc.version = ""
	}
	return doc, err
}

// renderResources makes the Resource List of the resources in r, at most limit
// of them.
func (s *Source) renderResources(ctx context.Context, t target, r resourcesync.Range, limit int) (*document, error) {
	var b render.Body
	defer b.Free()
	doc, err := s.listResources(ctx, t, r, limit, &b, nil)
	if err != nil {
		return nil, err
	}
	return doc.complete(b.Text())
}

// listResources begins the document t, and writes its head and an entry for each
// of the resources in r, at most limit of them, into b. If pack is not nil, the
// document is a manifest: pack returns the path of a resource in the package, or
// why it is left out, or errOutgrown if the package holds too much.
func (s *Source) listResources(ctx context.Context, t target, r resourcesync.Range, limit int, b *render.Body, pack func(resourcesync.Resource) (path string, err error)) (*document, error) {
	doc := &document{target: t, keys: r}
	if t.set.stater != nil {
		// The state is read before the resources: changes that come in
		// between may show in the list, but it does not vouch for them.
		whole, err := t.set.stater.Stat(ctx, partition.Whole)
		if err != nil {
			return nil, err
		}
		stat := whole
		if doc.keys != partition.Whole {
			if stat, err = t.set.stater.Stat(ctx, r); err != nil {
				return nil, err
			}
		}
		doc.version, doc.lastModified = stat.Version, stat.LastModified
		doc.setVersion.Store(&whole.Version)
	}
	started := time.Now()
	if doc.lastModified.After(started) {
		// A date in the future vouches for nothing yet.
		doc.lastModified = time.Time{}
	}
	at := doc.lastModified
	b.Head = s.resourceHead(t, false, at)
	var (
		builder entries.Builder
		left    render.Omitted
	)
	for res, err := range checked.Resources(ctx, t.set.provider, r, left.Add) {
		if err != nil {
			return nil, err
		}
		path := ""
		if pack != nil {
			path, err = pack(res)
		}
		if errors.Is(err, errOutgrown) {
			return nil, err
		}
		if err != nil {
			left.Add(res.Key, res.URI, err)
			continue
		}
		if doc.lastModified.IsZero() && res.LastModified.After(at) && res.LastModified.Before(started) {
			at = res.LastModified
		}
		e := builder.Resource(&res)
		e.Metadata.Path = path
		if !b.Add(e) || b.Entries > limit {
			if tooLarge := b.Entries <= limit; pack == nil && (tooLarge || limit == rsxml.MaxEntries) {
				t.set.pages.Split(r, res.Key, tooLarge && t.set.cutter != nil)
			}
			return nil, errOutgrown
		}
	}
	s.report(t.set, left, b.Fields)
	b.Head = s.resourceHead(t, false, at)
	return doc, nil
}

// resourceHead is the head of a Resource List or its index. at is the time of
// the newest change that it shows; a set that knows no times vouches for
// nothing later than the epoch.
func (s *Source) resourceHead(t target, index bool, at time.Time) *rsxml.Head {
	h := &rsxml.Head{Index: index}
	if t.isSitemap() {
		return h
	}
	h.Metadata.Capability = t.capability()
	if h.Metadata.At = at; at.Before(epoch) {
		h.Metadata.At = epoch
	}
	h.Links = []resourcesync.Link{{Rel: resourcesync.RelUp, Href: s.routes.url(kindCapabilityList, t.set, "")}}
	if index := t.index(); index != "" {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: s.routes.url(index, t.set, "")})
	}
	h.Links = s.archiveLink(h.Links, t)
	return h
}

var epoch = time.Unix(0, 0).UTC()
