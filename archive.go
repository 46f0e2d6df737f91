package resourcesync

import (
	"context"
	"iter"
	"time"
)

// An Archiver is a Provider that keeps earlier Resource Lists, Resource Dumps,
// Change Lists or Change Dumps of its set. It gives the set the archives that
// ResourceSync Archives defines: documents that list earlier documents, which the
// host serves itself, under URIs of its own.
type Archiver interface {
	// Archives returns the capabilities of the archives that exist:
	// [ResourceListArchive], [ResourceDumpArchive], [ChangeListArchive] or
	// [ChangeDumpArchive]. The answer is always the same.
	Archives() []Capability

	// Snapshots yields the documents in one of these archives, by the contract
	// of [Provider], in forward chronological order of At or Interval.From.
	Snapshots(ctx context.Context, archive Capability) iter.Seq2[Snapshot, error]
}

// A Snapshot is an earlier document of a set: an entry of an archive.
type Snapshot struct {
	// URI is the absolute URI of the document.
	URI string

	// LastModified is when the document was last modified; zero if unknown.
	LastModified time.Time

	// At is the time as of which a Resource List or Resource Dump is complete,
	// and Completed, which is optional, the time at which taking it ended.
	At, Completed time.Time

	// Interval is the time that a Change List or Change Dump covers. It is closed.
	Interval Interval
}

// A ChangeArchiver keeps closed Change Lists for longer than a journal, its
// [Changer], promises to be complete. It gives the set a Change List Archive: the
// lists stay available under the URIs that they had.
type ChangeArchiver interface {
	// StatArchive describes the archive.
	StatArchive(ctx context.Context) (ArchiveStat, error)

	// ArchivedWindows returns the intervals of the archived Change Lists of at
	// most max changes each, in order. All of them are closed, each begins where
	// the one before it ends, the first at the Since of the archive, and none
	// ends after the Since of the journal.
	ArchivedWindows(ctx context.Context, max int) ([]Interval, error)

	// ArchivedChanges yields, as Changes of [Changer] does, those changes in iv
	// that are in the archive.
	ArchivedChanges(ctx context.Context, iv Interval) iter.Seq2[Change, error]
}

// An ArchiveStat describes the state of a [ChangeArchiver].
type ArchiveStat struct {
	// Since is the time after which the archive has changes. It may move
	// forward.
	Since time.Time

	// Erased is when something was last removed from within the archive; zero
	// if that has never happened. Archived lists are not the same after it.
	Erased time.Time
}
