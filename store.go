package resourcesync

import (
	"context"
	"iter"
	"time"
)

// This file is for authors of stores, which keep sets and journals for others. It has the
// upgrades that only stores have; no application implements or calls them.

// PartStater is a [Stater] that describes a range in parts. After a change to a long list,
// the Source then reads and renders only the parts that have changed. A wrapper that has a
// Stat of its own because it yields other resources needs its own StatParts as well.
type PartStater interface {
	Stater

	// StatParts divides r into adjacent parts, in order, each of up to some hundred
	// resources. The first part begins at r.From, every other one where the previous
	// one ends. All belong to one state. StatParts should cost far less than listing r.
	StatParts(ctx context.Context, r Range) ([]Part, error)
}

// A Part describes the state of a part of a range.
type Part struct {
	From string // the first key; the part ends where the next one begins

	// Version is opaque and differs between any two different states of a part with
	// the same two ends. If it changes more often, resources are rendered again. It should
	// not come back after a change that is undone: a list that was rendered in between would
	// keep it. Empty means unknown.
	Version string
}

// Sealer is a Windower that stores where packages of a Change Dump end. It lets the
// dump include the newest changes even if no later change comes.
type Sealer interface {
	// Seals returns the recorded ends of packages after a time, in order.
	Seals(ctx context.Context, after time.Time) ([]time.Time, error)

	// Seal records that a package ends at newest, the Datetime of the newest
	// change. If there is a later change, it does nothing. The store keeps a
	// recorded end until Since reaches it.
	Seal(ctx context.Context, newest time.Time) error
}

// A WindowSpanner is a [Windower] whose windows begin at multiples of a span of time, in UTC.
// Pages for people then say when the next Change List begins.
type WindowSpanner interface {
	// Window returns the span.
	Window() time.Duration
}

// A Pender is a [Changer] that shows changes some time after they have been recorded.
type Pender interface {
	// Pending returns when the oldest change was recorded that is not shown yet, or the
	// zero time if there is none.
	Pending(ctx context.Context) (time.Time, error)
}

// A ChangerChecker is a Provider that can check a journal in another value, which is to be
// the [Changer] of its set.
type ChangerChecker interface {
	// CheckChanger returns an error if c cannot be the journal of the set. A warning says
	// what it could not check.
	CheckChanger(c Changer) (warning string, err error)
}

// A ChangerCutter is a Provider that divides its set with the help of a journal in another
// value.
type ChangerCutter interface {
	// CutterFor returns the Cutter that uses c, or nil if c does not help.
	CutterFor(c Changer) Cutter
}

// A ChangeArchived is a [Changer] that may have an archive. It is found by its method, unless
// the set has another ChangeArchiver.
type ChangeArchived interface {
	// Archive returns the archive of the journal, or nil if it has none.
	Archive() ChangeArchiver
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
