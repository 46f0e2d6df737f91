package rshttp

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// archives are the capabilities of archives, in the order of the specification.
var archives = []resourcesync.Capability{
	resourcesync.ResourceListArchive,
	resourcesync.ResourceDumpArchive,
	resourcesync.ChangeListArchive,
	resourcesync.ChangeDumpArchive,
}

// archiveOf returns the capability of the archive of documents of capability c.
func archiveOf(c resourcesync.Capability) resourcesync.Capability { return c + "-archive" }

// isOfSpans reports whether the documents in an archive have an interval, and not
// a moment.
func isOfSpans(archive resourcesync.Capability) bool {
	return archive == resourcesync.ChangeListArchive || archive == resourcesync.ChangeDumpArchive
}

// newArchives returns the archives that a set has, in the order of the
// specification, or an error if its Archiver offers anything else.
func newArchives(st *set) ([]resourcesync.Capability, error) {
	var offered []resourcesync.Capability
	if st.archiver != nil {
		offered = slices.Clone(st.archiver.Archives())
	}
	if st.changeArchiver != nil {
		offered = append(offered, resourcesync.ChangeListArchive)
	}
	var known []resourcesync.Capability
	for _, c := range archives {
		if slices.Contains(offered, c) {
			known = append(known, c)
		}
	}
	if len(known) != len(offered) {
		return nil, fmt.Errorf("its archives are %q: each must be one of the four archive capabilities, and different", offered)
	}
	return known, nil
}

// archiveLink appends a link to the archive of documents like t, if there is one.
func (s *Source) archiveLink(links []resourcesync.Link, t target) []resourcesync.Link {
	archive := archiveOf(t.capability())
	if !slices.Contains(t.set.archives, archive) {
		return links
	}
	return append(links, resourcesync.Link{Rel: resourcesync.RelArchives, Href: s.routes.url(string(archive), t.set, "")})
}

// renderArchive makes an archive: one document if that is enough, else an index of
// pages, or one of these.
func (s *Source) renderArchive(ctx context.Context, t target) (*document, error) {
	var times []int64
	for snapshot, err := range s.snapshots(ctx, t) {
		if err != nil {
			return nil, err
		}
		times = append(times, timeOf(&snapshot))
	}
	all := partition.AllTime
	pages := partition.Spans(times, all, s.options.PageSize)
	if t.index() == "" {
		if len(pages) > 1 {
			return s.renderArchiveIndex(t, pages)
		}
		return s.renderArchivePage(ctx, t, all)
	}
	from, err := partition.ParseTime(t.part)
	if err != nil {
		return nil, notExist("a time", t)
	}
	i, found := slices.BinarySearchFunc(pages, from.UnixMicro(), func(p partition.Span, from int64) int { return cmp.Compare(p.From, from) })
	if !found || len(pages) == 1 {
		return nil, &goneError{index: s.routes.url(t.index(), t.set, ""), reason: "the archive is divided otherwise"}
	}
	return s.renderArchivePage(ctx, t, pages[i])
}

// snapshots yields the documents in the archive t, checked against the contract of
// Archiver.
func (s *Source) snapshots(ctx context.Context, t target) iter.Seq2[resourcesync.Snapshot, error] {
	archive := t.capability()
	return func(yield func(resourcesync.Snapshot, error) bool) {
		var seq iter.Seq2[resourcesync.Snapshot, error]
		if archive == resourcesync.ChangeListArchive && t.set.changeArchiver != nil {
			seq = s.archivedLists(ctx, t.set)
		} else {
			seq = t.set.archiver.Snapshots(ctx, archive)
		}
		last := int64(0)
		for snapshot, err := range seq {
			if err != nil {
				yield(resourcesync.Snapshot{}, checked.Error("archiver", err))
				return
			}
			if err := checkSnapshot(&snapshot, archive); err != nil {
				yield(resourcesync.Snapshot{}, fmt.Errorf("archiver broke its contract: %w", err))
				return
			}
			at := timeOf(&snapshot)
			if at < last {
				yield(resourcesync.Snapshot{}, fmt.Errorf("archiver broke its contract: %s is older than the document before it", snapshot.URI))
				return
			}
			last = at
			if !yield(snapshot, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(resourcesync.Snapshot{}, err)
		}
	}
}

func checkSnapshot(snapshot *resourcesync.Snapshot, archive resourcesync.Capability) error {
	iv := snapshot.Interval
	switch {
	case isOfSpans(archive) && (iv.From.IsZero() || iv.Until.IsZero() || iv.Until.Before(iv.From)):
		return fmt.Errorf("%s in a %s has no closed interval", snapshot.URI, archive)
	case !isOfSpans(archive) && snapshot.At.IsZero():
		return fmt.Errorf("%s in a %s has no At", snapshot.URI, archive)
	}
	return nil
}

// timeOf returns the time at which the content of snapshot begins, in microseconds
// since 1970.
func timeOf(snapshot *resourcesync.Snapshot) int64 {
	t := snapshot.At
	if t.IsZero() {
		t = snapshot.Interval.From
	}
	return partition.Micros(t)
}

func (s *Source) renderArchiveIndex(t target, pages []partition.Span) (*document, error) {
	b := render.Body{Head: s.archiveHead(t, true)}
	defer b.Free()
	for _, p := range pages {
		fits := b.Add(&rsxml.Entry{Loc: s.routes.url(t.kind+archivePage, t.set, partition.FormatTime(time.UnixMicro(p.From)))})
		if !fits {
			return nil, fmt.Errorf("the %s index of set %q has outgrown the limits of a document: raise PageSize", t.capability(), t.set.name)
		}
	}
	return (&document{target: t}).complete(b.Text())
}

func (s *Source) renderArchivePage(ctx context.Context, t target, page partition.Span) (*document, error) {
	b := render.Body{Head: s.archiveHead(t, false)}
	defer b.Free()
	var left render.Omitted
	for snapshot, err := range s.snapshots(ctx, t) {
		if err != nil {
			return nil, err
		}
		at := timeOf(&snapshot)
		if at < page.From {
			continue
		}
		if at >= page.Until {
			break
		}
		if err := rsxml.CheckURI(snapshot.URI); err != nil {
			left.Add("", snapshot.URI, err)
			continue
		}
		fits := b.Add(&rsxml.Entry{
			Loc:      snapshot.URI,
			LastMod:  snapshot.LastModified,
			Metadata: rsxml.Metadata{At: snapshot.At, Completed: snapshot.Completed, From: snapshot.Interval.From, Until: snapshot.Interval.Until},
		})
		if !fits {
			return nil, fmt.Errorf("a page of the %s of set %q has outgrown the limits of a document: lower PageSize", t.capability(), t.set.name)
		}
	}
	s.report(t.set, left, b.Fields)
	return (&document{target: t}).complete(b.Text())
}

func (s *Source) archiveHead(t target, index bool) *rsxml.Head {
	h := &rsxml.Head{
		Index:    index,
		Metadata: rsxml.Metadata{Capability: t.capability()},
		Links:    []resourcesync.Link{{Rel: resourcesync.RelUp, Href: s.routes.url(kindCapabilityList, t.set, "")}},
	}
	if index := t.index(); index != "" {
		h.Links = append(h.Links, resourcesync.Link{Rel: resourcesync.RelIndex, Href: s.routes.url(index, t.set, "")})
	}
	return h
}
