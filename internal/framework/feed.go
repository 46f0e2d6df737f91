// Package framework reports the changes of the documents of a set for its Framework
// Notification channel. It reads the states of documents, and renders none.
package framework

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/publisher"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Feed reports the changes of the documents about a set for its framework channel
// (Framework Notification 2). It renders no documents: a document has changed if its state
// has. Of the lists under an index, it names the newest created and the newest updated one,
// with a link to the index, which leads to the others (Framework Notification 3).
//
// The Publisher announces that a set has been removed.
type Feed struct {
	set                         *document.Set
	description, capabilityList string                              // digests
	isOld                       func(context.Context) (bool, error) // whether the Source is
	dumpInterval                time.Duration                       // between two announcements of a Resource Dump
}

// NewFeed returns the feed of st, which announces a Resource Dump once in dumpInterval. isOld
// reports whether the Source existed before this process was started.
func NewFeed(st *document.Set, dumpInterval time.Duration, isOld func(context.Context) (bool, error)) (*Feed, error) {
	list, err := document.Target{Kind: st.Routes.Kinds[document.KindCapabilityList], Set: st}.Render(context.Background(), new(document.State), nil)
	if err != nil {
		return nil, err
	}
	d := &Feed{set: st, isOld: isOld, dumpInterval: dumpInterval, capabilityList: document.DigestOf(`"` + list.Tag() + `"`), description: document.DigestOf(string(st.Description.Text))}
	for _, part := range st.Description.Parts {
		d.description = document.DigestOf(d.description, string(part))
	}
	return d, nil
}

// HasVersion reports whether Stat covers everything on which Next depends.
func (d *Feed) HasVersion() bool {
	return d.set.Stater != nil && (d.set.Changer == nil || d.set.ChangeStater != nil)
}

// presentable reports whether a change of the Source Description can be announced: each set
// that it names has data, or has had presentTime to get it. So a set that cannot be read does
// not hide the change from the subscribers of the other sets.
func presentable(ctx context.Context, s *document.Site) bool {
	return time.Since(s.Made) >= presentTime || !slices.ContainsFunc(s.Order, func(st *document.Set) bool { return st.Ready(ctx) != nil })
}

const presentTime = 10 * time.Minute

// Stat describes everything on which Next depends: the states of the set and its journal, and
// the partitions, which lag behind the set. It has only a Version.
func (d *Feed) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	now, err := d.set.ResourceState(ctx, r, nil)
	if err != nil || now.Version == "" {
		return resourcesync.Stat{}, err
	}
	version := strconv.Quote(now.Version)
	if d.set.Changer != nil {
		if now, err = document.JournalState(ctx, document.Target{Set: d.set}, nil); err != nil || now.Version == "" {
			return resourcesync.Stat{}, err
		}
		version += strconv.Quote(now.Version)
	}
	for _, of := range []*partition.Partitioner{d.set.Pages, d.set.Packages} {
		if p := of.Current(); p != nil {
			version += " " + strconv.FormatUint(p.Number, 10)
		}
	}
	if presentable(ctx, d.set.Site) {
		version += " presentable" // a change of the Source Description can be announced
	}
	return resourcesync.Stat{Version: version}, nil
}

// Next implements [publisher.Documents].
func (d *Feed) Next(ctx context.Context, before string) (*publisher.Update, string, error) {
	k := parseKnown(before)
	u, err := d.next(ctx, &k)
	if err != nil {
		return nil, before, err
	}
	now, err := json.Marshal(k) // fails for times in years that have more than four digits
	return u, string(now), err
}

// next returns the first update that k lacks, and adds it to k.
func (d *Feed) next(ctx context.Context, k *known) (*publisher.Update, error) {
	notReady := d.set.Ready(ctx)
	first := k.Description == "" // parents come first, so it waits for no other set
	if first && notReady == nil || !first && presentable(ctx, d.set.Site) {
		if u, err := d.ofSource(ctx, k); u != nil || err != nil {
			return u, err
		}
	}
	if notReady != nil {
		return nil, notReady
	}
	if u := d.ofSet(k); u != nil {
		return u, nil
	}
	var entries []rsxml.Entry
	for _, look := range []func(context.Context, *known) ([]rsxml.Entry, error){d.resources, d.dumps, d.changes, d.archives} {
		news, err := look(ctx, k)
		if err != nil {
			return nil, err
		}
		entries = append(entries, news...)
	}
	if len(entries) == 0 {
		return nil, nil
	}
	return &publisher.Update{Up: d.set.URL(document.KindCapabilityList, ""), Entries: entries}, nil
}

// ofSource returns an update of the Source Description. On a new channel, it is created only
// if the Source is new as well.
func (d *Feed) ofSource(ctx context.Context, k *known) (*publisher.Update, error) {
	if k.Description == d.description {
		return nil, nil
	}
	change := resourcesync.Updated
	if k.Description == "" {
		if old, err := d.isOld(ctx); err != nil {
			return nil, err
		} else if !old {
			change = resourcesync.Created
		}
	}
	k.Description = d.description
	return AnnounceDescription(d.set.Site, change), nil
}

// AnnounceDescription returns an update of the Source Description, or of its last part if it
// is an index.
func AnnounceDescription(s *document.Site, change resourcesync.ChangeType) *publisher.Update {
	e := entry(s.Routes.URL(document.KindDescription, nil, ""), resourcesync.Description, change, time.Time{})
	if n := len(s.Description.Parts); n > 0 {
		e.Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: e.Loc}}
		e.Loc = s.Routes.URL(document.KindDescriptionPart, nil, strconv.Itoa(n))
	}
	return &publisher.Update{Entries: []rsxml.Entry{e}}
}

func (d *Feed) ofSet(k *known) *publisher.Update {
	change := resourcesync.Updated
	switch k.CapabilityList {
	case d.capabilityList:
		return nil
	case "":
		change = resourcesync.Created
	}
	k.CapabilityList = d.capabilityList
	return AnnounceSet(d.set.Site, d.set.URL(document.KindCapabilityList, ""), change)
}

// AnnounceSet returns an update of the Capability List at uri.
func AnnounceSet(s *document.Site, uri string, change resourcesync.ChangeType) *publisher.Update {
	e := entry(uri, resourcesync.CapabilityList, change, time.Time{})
	return &publisher.Update{Up: s.Routes.URL(document.KindDescription, nil, ""), Entries: []rsxml.Entry{e}}
}

// dumps announces the Resource Dump, or the newest one under its index. Each change of the
// set creates another dump, which Destinations would have to fetch completely, so dumps
// announces at most one in Options.DumpInterval.
func (d *Feed) dumps(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	if d.set.Opener == nil {
		k.ResourceDump = nil
		return nil, nil
	}
	p := d.set.Packages.Current()
	if p == nil {
		return nil, nil // it is being divided for the first time
	}
	st, err := d.set.ResourceState(ctx, partition.Whole, nil)
	if err != nil {
		return nil, err
	}
	version := knownPagesOf(p).Version
	if st.Version != "" {
		version = document.DigestOf(st.Version)
	}
	was := k.ResourceDump
	if was != nil && (was.Version == version || time.Since(was.Announced) < d.dumpInterval) {
		return nil, nil
	}
	k.ResourceDump = &knownDump{version, time.Now().UTC()}
	if len(p.Groups) == 1 {
		return []rsxml.Entry{d.entry(document.KindResourceDump, "", resourcesync.Created, p.At)}, nil
	}
	part, newest := "", time.Time{}
	i := 0
	for r := range partition.Ranges(p.Groups, "") {
		if at := p.Groups[i].Newest; !at.Before(newest) {
			part, newest = partition.FormatRange(r), at
		}
		i++
	}
	return []rsxml.Entry{d.entry(document.KindResourceDump, part, resourcesync.Created, newest)}, nil
}

// entry returns the entry of a document: of the kind if part is empty, otherwise of one of its
// parts. at is the time of its change; if it is unknown, entry uses the current time, at which
// the change became known.
func (d *Feed) entry(kind, part string, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	e := entry(d.set.URL(kind, ""), resourcesync.Capability(kind), change, at)
	if part != "" {
		e.Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: e.Loc}}
		e.Loc = d.set.URL(d.set.Routes.Kinds[kind].Parts, part)
	}
	return e
}

func entry(uri string, c resourcesync.Capability, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	if now := time.Now(); !at.After(document.Epoch) || at.After(now) {
		at = now.UTC().Truncate(time.Microsecond)
	}
	return rsxml.Entry{Loc: uri, Metadata: rsxml.Metadata{Capability: c, Change: change, Datetime: at}}
}

// knownFormat is the version of the format of a known. A known in an unsupported format
// is discarded, and all documents are announced as new.
const knownFormat = 3

// A known is the state of the documents at the newest Framework Notification of a channel.
// Its size does not depend on the number of documents.
type known struct {
	Format         int           `json:"format"`
	Description    string        `json:"description,omitempty"`    // a digest
	CapabilityList string        `json:"capabilitylist,omitempty"` // a digest
	ResourceList   *knownPages   `json:"resourcelist,omitempty"`
	ResourceDump   *knownDump    `json:"resourcedump,omitempty"`
	Journal        *knownJournal `json:"journal,omitempty"`
	ChangeList     *knownWindows `json:"changelist,omitempty"`
	ChangeDump     *knownWindows `json:"changedump,omitempty"`

	Archives map[resourcesync.Capability]knownArchive `json:"archives,omitempty"`

	quiet bool // an earlier format had no Archives, so they are not announced as new
}

// knownPages is the last announced state of the pages of a Resource List.
type knownPages struct {
	Version string    `json:"version"` // a digest of the content of all pages
	Count   int       `json:"count"`   // zero if unknown
	Newest  time.Time `json:"newest,omitzero"`
	Born    time.Time `json:"born,omitzero"` // when the newest of them was split off
}

type knownDump struct {
	Version   string    `json:"version"`
	Announced time.Time `json:"announced"`
}

type knownJournal struct {
	Version string    `json:"version,omitempty"`
	Newest  time.Time `json:"newest,omitzero"` // of its changes
}

// knownWindows is the last announced state of the documents for windows of a journal.
type knownWindows struct {
	Index bool      `json:"index,omitempty"`
	Open  time.Time `json:"open"`           // where the open window begins
	Until time.Time `json:"until,omitzero"` // of the packages of a Change Dump
}

// parseKnown parses the JSON of a known. Format 2 had no archives. Format 1 had a mark for each page, in fields with
// other names. Because it has no version of the pages, the newest list is announced once
// more, and a dump when it is due.
func parseKnown(s string) known {
	var k known
	if json.Unmarshal([]byte(s), &k) != nil || (k.Format < 1 || k.Format > knownFormat) {
		return known{Format: knownFormat}
	}
	if k.Format == 1 && k.ResourceDump != nil {
		k.ResourceDump.Announced = time.Now().UTC()
	}
	k.quiet = k.Format < knownFormat
	k.Format = knownFormat
	return k
}
