package framework

import (
	"context"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// archiveInterval is the minimum time between two reads of an archive whose Archiver has no
// state.
const archiveInterval = time.Hour

// A knownArchive is the last announced state of an archive.
type knownArchive struct {
	Version string    `json:"version"`          // a digest
	Newest  string    `json:"newest,omitempty"` // its newest page; empty for a single document
	Read    time.Time `json:"read,omitzero"`    // when a complete archive was read to find out
}

// archives announces changes of archives (Framework Notification 3), or of their newest pages.
// An archive changes when it gets a document; that has no datetime, so the entry has the time
// at which the change became known.
func (d *Feed) archives(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	var news []rsxml.Entry
	was := k.Archives
	k.Archives = make(map[resourcesync.Capability]knownArchive, len(d.set.Archives))
	for _, c := range d.set.Archives {
		before, isKnown := was[c]
		t := document.Target{Kind: d.set.Routes.Kinds[string(c)], Set: d.set}
		now, err := archiveNews(ctx, t, before)
		if err != nil {
			return nil, err
		}
		k.Archives[c] = now
		switch {
		case isKnown && now.Version == before.Version, was == nil && k.quiet:
		case !isKnown || now.Newest != before.Newest:
			news = append(news, d.entry(string(c), now.Newest, resourcesync.Created, time.Time{}))
		default:
			news = append(news, d.entry(string(c), now.Newest, resourcesync.Updated, time.Time{}))
		}
	}
	return news, nil
}

// archiveNews returns the state of the archive t. It reads the archive only if it may have
// changed since before.
func archiveNews(ctx context.Context, t document.Target, before knownArchive) (now knownArchive, err error) {
	if isOfJournal(t) {
		if now.Version, err = archivedSpan(ctx, t); err != nil || now.Version == before.Version {
			return before, err
		}
	} else if time.Since(before.Read) < archiveInterval {
		return before, nil
	} else {
		now.Read = time.Now().UTC()
	}
	var times []int64
	var last resourcesync.Snapshot
	for snapshot, err := range t.Snapshots(ctx) {
		if err != nil {
			return before, err
		}
		times = append(times, document.TimeOf(&snapshot))
		last = snapshot
	}
	if pages := partition.Spans(times, partition.AllTime, t.Set.Division.PageSize); len(pages) > 1 {
		now.Newest = partition.FormatTime(time.UnixMicro(pages[len(pages)-1].From))
	}
	if now.Version == "" {
		first := int64(0)
		if len(times) > 0 {
			first = times[0]
		}
		now.Version = document.DigestOf(strconv.Itoa(len(times)), strconv.FormatInt(first, 10), last.URI, document.Stamp(last.At), document.Stamp(last.Interval.Until), document.Stamp(last.LastModified))
	}
	return now, nil
}

// isOfJournal reports whether the archive t has the Change Lists that the journal has dropped.
func isOfJournal(t document.Target) bool {
	return t.Kind.Capability == resourcesync.ChangeListArchive && t.Set.ChangeArchiver != nil
}

// archivedSpan returns a digest of the times between which the archive has the changes: it
// gets a list when the journal drops one.
func archivedSpan(ctx context.Context, t document.Target) (string, error) {
	stat, err := t.Set.ChangeArchiver.StatArchive(ctx)
	if err != nil {
		return "", err
	}
	until, err := t.Set.Changer.Since(ctx)
	if err != nil {
		return "", err
	}
	return document.DigestOf(document.Stamp(stat.Since), document.Stamp(until)), nil
}
