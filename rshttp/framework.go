package rshttp

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

const (
	// maxNamed is how many of the documents under one index a notification names
	// at most. The index leads to the others: it is up to date by then.
	maxNamed = 100

	// maxPages and maxDumps are how many pages and Resource Dumps are known one by
	// one, so that what is known stays below the 64 KiB of an outbox.
	maxPages = 6000
	maxDumps = 500
)

// documents tells the framework channel of a set what has changed among the
// documents about it (Framework Notification 2). It renders none of them: that one
// has changed is known from the state that it is a function of.
//
// That a Capability List is no more cannot be told by a Source that no longer has
// the set; the Source Description, which no longer leads to it, is told as updated
// on the channels of the others.
type documents struct {
	*Source
	set                         *set
	description, capabilityList string // digests
}

func (s *Source) documentsOf(st *set) (*documents, error) {
	list, err := s.renderCapabilityList(context.Background(), target{kind: kindCapabilityList, set: st})
	if err != nil {
		return nil, err
	}
	d := &documents{Source: s, set: st, capabilityList: digestOf(list.hdrETag[0]), description: digestOf(string(s.description))}
	for _, part := range s.parts {
		d.description = digestOf(d.description, string(part))
	}
	return d, nil
}

// hasVersion reports whether Stat knows everything that Next depends on.
func (d *documents) hasVersion() bool {
	return d.set.stater != nil && (d.set.changer == nil || d.set.changeStater != nil)
}

// Stat describes what Next depends on: the set, its journal, and how the set is
// divided, which comes to fit the set a little later. It has only a Version.
func (d *documents) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	stat, err := d.set.stater.Stat(ctx, r)
	if err != nil || stat.Version == "" {
		return resourcesync.Stat{}, err
	}
	version := strconv.Quote(stat.Version)
	if d.set.changer != nil {
		if stat, err = d.set.changeStater.Stat(ctx, r); err != nil || stat.Version == "" {
			return resourcesync.Stat{}, err
		}
		version += strconv.Quote(stat.Version)
	}
	for _, division := range []*division{&d.set.pages, &d.set.packages} {
		if p, _ := division.get(); p != nil {
			version += " " + strconv.FormatUint(p.number, 10)
		}
	}
	if d.readyFor(ctx, target{}) == nil {
		version += " all are ready" // and the Source Description can be told of
	}
	return resourcesync.Stat{Version: version}, nil
}

// Next implements [topic.Documents].
func (d *documents) Next(ctx context.Context, before string) (*topic.Update, string, error) {
	k := parseKnown(before)
	if d.readyFor(ctx, target{}) == nil { // all sets, as with the document itself
		if u := d.ofSource(&k); u != nil {
			now, err := k.text()
			return u, now, err
		}
	}
	if err := d.set.ready(ctx); err != nil {
		return nil, before, err
	}
	if u := d.ofSet(&k); u != nil {
		now, err := k.text()
		return u, now, err
	}
	var entries []rsxml.Entry
	for _, look := range []func(context.Context, *known) ([]rsxml.Entry, error){d.resources, d.dumps, d.changes} {
		news, err := look(ctx, &k)
		if err != nil {
			return nil, before, err
		}
		entries = append(entries, news...)
	}
	now, err := k.text()
	if err != nil || len(entries) == 0 {
		return nil, now, err
	}
	return &topic.Update{Up: d.routes.url(kindCapabilityList, d.set, ""), Entries: entries}, now, nil
}

// ofSource tells of the Source Description, and of its last part if it is an index.
func (d *documents) ofSource(k *known) *topic.Update {
	change := changeOf(k.Description, d.description)
	if change == "" {
		return nil
	}
	k.Description = d.description
	e := entry(d.Description(), resourcesync.Description, change, time.Time{})
	if n := len(d.parts); n > 0 {
		e.Loc = d.routes.url(kindDescriptionPart, nil, strconv.Itoa(n))
		e.Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: d.Description()}}
	}
	return &topic.Update{Entries: []rsxml.Entry{e}}
}

// ofSet tells of the Capability List.
func (d *documents) ofSet(k *known) *topic.Update {
	change := changeOf(k.CapabilityList, d.capabilityList)
	if change == "" {
		return nil
	}
	k.CapabilityList = d.capabilityList
	e := entry(d.routes.url(kindCapabilityList, d.set, ""), resourcesync.CapabilityList, change, time.Time{})
	return &topic.Update{Up: d.Description(), Entries: []rsxml.Entry{e}}
}

func changeOf(before, now string) resourcesync.ChangeType {
	switch before {
	case "":
		return resourcesync.Created
	case now:
		return ""
	}
	return resourcesync.Updated
}

// resources tells of the Resource List, or of the lists under its index.
func (d *documents) resources(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	p, _ := d.set.pages.get()
	if p == nil {
		return nil, resourcesync.ErrNotReady // it is being divided for the first time
	}
	var (
		pages []page
		state string
	)
	if len(p.pages) == 1 {
		only, err := d.onlyPage(ctx, p)
		if err != nil {
			return nil, err
		}
		pages = []page{only}
	} else {
		from := ""
		for _, c := range p.pages {
			r := resourcesync.Range{From: from, To: c.Key}
			pages = append(pages, page{formatRange(r), strconv.Itoa(c.Count) + " " + stamp(c.Newest), c.Newest})
			if from = c.Key; c.Newest.IsZero() {
				state = p.version + " " + stamp(p.at)
			}
		}
	}
	now := mark(pages, digestOf(state), maxPages)
	created, updated := k.ResourceList.news(pages, now)
	k.ResourceList = now
	return slices.Concat(
		d.pageEntries(kindResourceList, kindResourcePage, resourcesync.Created, created),
		d.pageEntries(kindResourceList, kindResourcePage, resourcesync.Updated, updated),
	), nil
}

// onlyPage returns the Resource List of a set that is not divided. It is made when
// it is asked for, whatever the division knows, so the set itself is asked.
func (d *documents) onlyPage(ctx context.Context, p *pages) (page, error) {
	unknown := page{state: strconv.Itoa(p.pages[0].Count) + " " + stamp(p.at), at: p.at}
	if d.set.stater == nil {
		return unknown, nil
	}
	stat, err := d.set.stater.Stat(ctx, wholeSet)
	if err != nil || stat.Version == "" {
		return unknown, err
	}
	return page{state: stat.Version, at: stat.LastModified}, nil
}

// dumps tells of the Resource Dump. Each change of the set makes another dump; one
// is told of as new only when its packages are others. Until somebody has asked for
// a dump, its packages are not known.
func (d *documents) dumps(_ context.Context, k *known) ([]rsxml.Entry, error) {
	if d.set.opener == nil {
		k.ResourceDump = nil
		return nil, nil
	}
	p, _ := d.set.packages.get()
	if p == nil {
		if k.ResourceDump != nil {
			return nil, nil
		}
		k.ResourceDump = &knownPages{}
		return d.pageEntries(kindResourceDump, kindDumpPart, resourcesync.Created, []page{{}}), nil
	}
	pages := []page{{state: packagesOf(p.ranges()), at: p.at}}
	if len(p.dumps) > 1 {
		pages = pages[:0]
		for r := range rangesOf(p.dumps, "") {
			inside, _ := p.beginningIn(r)
			pages = append(pages, page{formatRange(r), packagesOf(inside), p.dumps[len(pages)].Newest})
		}
	}
	now := mark(pages, "", maxDumps)
	var created, updated []page
	if k.ResourceDump == nil || *k.ResourceDump != (knownPages{}) {
		created, updated = k.ResourceDump.news(pages, now)
	}
	k.ResourceDump = now
	return d.pageEntries(kindResourceDump, kindDumpPart, resourcesync.Created, append(created, updated...)), nil
}

// packagesOf returns a digest of which packages there are.
func packagesOf(ranges iter.Seq[resourcesync.Range]) string {
	var names []string
	for r := range ranges {
		names = append(names, formatRange(r))
	}
	return digestOf(names...)
}

// pageEntries returns an entry for each of pages, which are of the kind only, or of
// the kind part of an index of that kind.
func (d *documents) pageEntries(only, part string, change resourcesync.ChangeType, pages []page) []rsxml.Entry {
	var entries []rsxml.Entry
	for _, p := range pages[:min(len(pages), maxNamed)] {
		entries = append(entries, d.entry(only, part, p.part, change, p.at))
	}
	return entries
}

// entry returns the entry of a document: of that of the kind only if part is empty,
// else of one under its index. at is when it changed, as far as that is known: now,
// if it is not, because now it has become known.
func (d *documents) entry(only, kind, part string, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	c := resourcesync.Capability(only)
	if part == "" {
		return entry(d.routes.url(only, d.set, ""), c, change, at)
	}
	e := entry(d.routes.url(kind, d.set, part), c, change, at)
	e.Links = []resourcesync.Link{{Rel: resourcesync.RelIndex, Href: d.routes.url(only, d.set, "")}}
	return e
}

func entry(uri string, c resourcesync.Capability, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	if now := time.Now(); !at.After(epoch) || at.After(now) {
		at = now.UTC().Truncate(time.Microsecond)
	}
	return rsxml.Entry{Loc: uri, Metadata: rsxml.Metadata{Capability: c, Change: change, Datetime: at}}
}

// stamp writes a time for comparing, which may be zero.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
