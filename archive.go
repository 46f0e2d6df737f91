package resourcesync

import (
	"context"
	"iter"
	"time"
)

// An Archiver is a Provider that keeps earlier Resource Lists, Resource Dumps,
// Change Lists or Change Dumps of its set. It gives the set the archives of
// ResourceSync Archives: documents that list the earlier documents. The host serves
// the earlier documents itself, at URIs outside of the set.
type Archiver interface {
	// Archives returns the capabilities of the archives that exist:
	// [ResourceListArchive], [ResourceDumpArchive], [ChangeListArchive] or
	// [ChangeDumpArchive]. It always returns the same capabilities.
	Archives() []Capability

	// Snapshots yields the documents in one of these archives, under the contract
	// of [Provider], in chronological order of At or Interval.From.
	Snapshots(ctx context.Context, archive Capability) iter.Seq2[Snapshot, error]
}

// A Snapshot is an earlier document of a set: an entry of an archive.
type Snapshot struct {
	// URI is the absolute URI of the document.
	URI string

	// LastModified is when the document was last modified; zero if unknown.
	LastModified time.Time

	// At is the time as of which a Resource List or Resource Dump is complete.
	// Completed is optional: the time at which the host finished taking it.
	At, Completed time.Time

	// Interval is the closed interval that a Change List or Change Dump covers.
	Interval Interval
}

// A ChangeArchiver keeps closed Change Lists for longer than its journal, a
// [Changer], guarantees to be complete. It gives the set a Change List Archive: the
// lists stay available at the URIs that they had.
type ChangeArchiver interface {
	// StatArchive describes the archive.
	StatArchive(ctx context.Context) (ArchiveStat, error)

	// ArchivedWindows returns the intervals of the archived Change Lists, of at
	// most max changes each, in order. All of them are closed. The first begins
	// at the Since of the archive, each of the others where the previous one
	// ends, and none ends after the Since of the journal.
	ArchivedWindows(ctx context.Context, max int) ([]Interval, error)

	// ArchivedChanges yields the archived changes in iv, under the contract of
	// Changes of [Changer].
	ArchivedChanges(ctx context.Context, iv Interval) iter.Seq2[Change, error]
}

// An ArchiveStat describes the state of a [ChangeArchiver].
type ArchiveStat struct {
	// Since is the time after which the archive is complete, except for erased
	// changes. It may move forward.
	Since time.Time

	// Erased is when a change was last erased from within the archive; zero if
	// none ever was. Archived lists rendered before that time are stale.
	Erased time.Time
}
