package document

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

// IsOfSpans reports whether the documents in an archive have an interval, not an At.
func IsOfSpans(archive resourcesync.Capability) bool {
	return archive == resourcesync.ChangeListArchive || archive == resourcesync.ChangeDumpArchive
}

// newArchives returns the archives of a set, in the order of the specification, or an error
// if its Archiver has others.
func newArchives(st *Set) ([]resourcesync.Capability, error) {
	var offered []resourcesync.Capability
	if st.Archiver != nil {
		offered = slices.Clone(st.Archiver.Archives())
	}
	if st.ChangeArchiver != nil {
		offered = append(offered, resourcesync.ChangeListArchive)
	}
	var known []resourcesync.Capability
	for _, c := range archives {
		if slices.Contains(offered, c) {
			known = append(known, c)
		}
	}
	if len(known) != len(offered) {
		return nil, fmt.Errorf("its archives are %q: they must be distinct archive capabilities", offered)
	}
	return known, nil
}

// archiveState returns an empty state: archives have no version.
func archiveState(context.Context, Target, *State) (*State, error) { return new(State), nil }

// isNever treats every page of an archive as unlisted: finding out would require reading the
// complete archive.
func isNever(Target) bool { return false }

// renderArchive renders an archive: a single document if that is enough, otherwise an index
// of pages or one of the pages.
func renderArchive(ctx context.Context, t Target, _ *State, b *render.Body) error {
	pages, err := t.ArchivePages(ctx)
	if err != nil {
		return err
	}
	if t.Kind.Parent == "" && len(pages) <= 1 {
		return renderArchivePage(ctx, t, b, partition.AllTime)
	}
	if t.Kind.Parent == "" {
		b.Head = t.head(true)
		for _, p := range render.Listed(b, pages, false) {
			if err := t.addPart(b, partition.FormatTime(time.UnixMicro(p.From)), &rsxml.Entry{}); err != nil {
				return err
			}
		}
		return nil
	}
	from, err := partition.ParseTime(t.Part)
	if err != nil {
		return t.NotExist("a time")
	}
	i, found := slices.BinarySearchFunc(pages, from.UnixMicro(), func(p partition.Span, from int64) int { return cmp.Compare(p.From, from) })
	if !found || len(pages) == 1 {
		return &Gone{Index: t.URL(t.Kind.Parent, ""), Reason: "the division of the archive has changed"}
	}
	return renderArchivePage(ctx, t, b, pages[i])
}

// ArchivePages divides the archive t into pages.
func (t Target) ArchivePages(ctx context.Context) ([]partition.Span, error) {
	var times []int64
	for snapshot, err := range t.Snapshots(ctx) {
		if err != nil {
			return nil, err
		}
		times = append(times, TimeOf(&snapshot))
	}
	return partition.Spans(times, partition.AllTime, t.Set.Division.PageSize), nil
}

// Snapshots yields the documents in the archive t, checked against the contract of
// Archiver.
func (t Target) Snapshots(ctx context.Context) iter.Seq2[resourcesync.Snapshot, error] {
	archive := t.Kind.Capability
	return func(yield func(resourcesync.Snapshot, error) bool) {
		var seq iter.Seq2[resourcesync.Snapshot, error]
		if archive == resourcesync.ChangeListArchive && t.Set.ChangeArchiver != nil {
			seq = t.Set.archivedLists(ctx)
		} else {
			seq = t.Set.Archiver.Snapshots(ctx, archive)
		}
		var last int64
		for snapshot, err := range seq {
			if err != nil {
				err = checked.Error("archiver", err)
			} else if err = checkSnapshot(&snapshot, archive, last); err != nil {
				err = fmt.Errorf("archiver broke its contract: %w", err)
			}
			if err != nil {
				yield(resourcesync.Snapshot{}, err)
				return
			}
			last = TimeOf(&snapshot)
			if !yield(snapshot, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(resourcesync.Snapshot{}, err)
		}
	}
}

func checkSnapshot(snapshot *resourcesync.Snapshot, archive resourcesync.Capability, last int64) error {
	iv := snapshot.Interval
	switch {
	case IsOfSpans(archive) && (iv.From.IsZero() || iv.Until.IsZero() || iv.Until.Before(iv.From)):
		return fmt.Errorf("%s in a %s has no closed interval", snapshot.URI, archive)
	case !IsOfSpans(archive) && snapshot.At.IsZero():
		return fmt.Errorf("%s in a %s has no At", snapshot.URI, archive)
	case TimeOf(snapshot) < last:
		return fmt.Errorf("%s is older than the previous document", snapshot.URI)
	}
	return nil
}

// TimeOf returns the time at which the content of snapshot begins, in microseconds
// since 1970.
func TimeOf(snapshot *resourcesync.Snapshot) int64 {
	t := snapshot.At
	if t.IsZero() {
		t = snapshot.Interval.From
	}
	return partition.Micros(t)
}

func renderArchivePage(ctx context.Context, t Target, b *render.Body, page partition.Span) error {
	b.Head = t.head(false)
	var left render.Omitted
	for snapshot, err := range t.Snapshots(ctx) {
		if err != nil {
			return err
		}
		at := TimeOf(&snapshot)
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
			return b.Full(fmt.Errorf("a page of the %s of set %q has outgrown the limits of a document: lower PageSize", t.Kind.Capability, t.Set.Name))
		}
	}
	t.Set.report(b, left)
	return nil
}
