package document

import (
	"context"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
)

// A Record is the source of the changes in a document: a set's journal, or the archive
// of the changes that the journal has dropped.
type Record interface {
	// Changes yields the changes in iv; see [checked.Changes].
	Changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error]

	// Stat returns the time after which the record is complete, and the time of the
	// last erasure, zero if there was none.
	Stat(ctx context.Context) (since, erased time.Time, err error)
}

// A Journal is the journal of a set.
type Journal struct{ *Set }

// Journal returns the journal of st, which must have a Changer.
func (st *Set) Journal() Journal { return Journal{st} }

func (j Journal) Changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.Changes(ctx, j.Changer, iv, omit)
}

// First returns the time of the first change after the beginning of w, or zero.
func (j Journal) First(ctx context.Context, w resourcesync.Interval) (time.Time, error) {
	for c, err := range j.Changes(ctx, resourcesync.Interval{From: w.From}, nil) {
		return c.Datetime, err
	}
	return time.Time{}, nil
}

func (j Journal) Stat(ctx context.Context) (since, erased time.Time, err error) {
	since, err = j.Changer.Since(ctx)
	return since, time.Time{}, err
}

// A versionJournal is the part of a journal for which the set keeps versions.
type versionJournal struct{ Journal }

func (j versionJournal) Stat(ctx context.Context) (since, erased time.Time, err error) {
	since, erased, err = j.Journal.Stat(ctx)
	if err != nil || j.retainer == nil {
		return since, erased, err
	}
	kept, err := j.retainer.Since(ctx)
	if kept.After(since) {
		since = kept
	}
	return since, erased, err
}

// A ChangeArchive is the archive of the changes that a journal has dropped.
type ChangeArchive struct{ resourcesync.ChangeArchiver }

func (a ChangeArchive) Changes(ctx context.Context, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return checked.ArchivedChanges(ctx, a, iv, omit)
}

func (a ChangeArchive) Stat(ctx context.Context) (since, erased time.Time, err error) {
	stat, err := a.StatArchive(ctx)
	return stat.Since, stat.Erased, err
}
