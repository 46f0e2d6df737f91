package rshttp

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// resources announces the Resource List, or the lists under its index.
func (d *documents) resources(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	p, _ := d.set.pages.get()
	if p == nil {
		return nil, resourcesync.ErrNotReady // it is being divided for the first time
	}
	if len(p.pages) == 1 {
		// It is made on request, whatever the division knows.
		var err error
		if p, err = d.onlyPage(ctx, p); err != nil {
			return nil, err
		}
	}
	was := k.ResourceList
	k.ResourceList = p.known()
	if was != nil && was.Version == k.ResourceList.Version {
		return nil, nil
	}
	var entries []rsxml.Entry
	created, updated := p.news(was)
	if created >= 0 {
		at := p.pages[created].Newest
		if was != nil {
			at = p.born[p.rangeOf(created)] // or else now, as it becomes known
		}
		entries = append(entries, d.pageEntry(p, created, resourcesync.Created, at))
	}
	if updated >= 0 {
		entries = append(entries, d.pageEntry(p, updated, resourcesync.Updated, p.pages[updated].Newest))
	}
	return entries, nil
}

// onlyPage returns p, a division into one page, as the set is now.
func (d *documents) onlyPage(ctx context.Context, p *pages) (*pages, error) {
	now := *p
	now.pages = []resourcesync.Cut{{Count: p.pages[0].Count, Newest: p.at}}
	if d.set.stater != nil {
		stat, err := d.set.stater.Stat(ctx, wholeSet)
		if err != nil {
			return nil, err
		}
		if stat.Version != "" {
			now.version, now.at = stat.Version, stat.LastModified
			now.pages[0] = resourcesync.Cut{Newest: stat.LastModified} // the version says it all
		}
	}
	return &now, nil
}

// known returns the part of p that a channel remembers.
func (p *pages) known() *knownPages {
	k := &knownPages{Count: len(p.pages)}
	for _, at := range p.born {
		if at.After(k.Born) {
			k.Born = at
		}
	}
	var state []string
	for _, c := range p.pages {
		state = append(state, c.Key, strconv.Itoa(c.Count), stamp(c.Newest))
		if c.Newest.After(k.Newest) {
			k.Newest = c.Newest.UTC()
		}
	}
	if !p.dated() {
		state = append(state, p.version, stamp(p.at))
	}
	k.Version = digestOf(state...)
	return k
}

// dated reports whether each of several pages has the time of its newest change.
func (p *pages) dated() bool {
	undated := func(c resourcesync.Cut) bool { return c.Newest.IsZero() }
	return len(p.pages) > 1 && !slices.ContainsFunc(p.pages, undated)
}

// news returns which of p's pages is the newest that is new since k, and which the
// newest of the others that have changed; -1 for none. A larger number of pages
// shows that some are new, and their times show which. Joined pages are not
// announced.
func (p *pages) news(k *knownPages) (created, updated int) {
	grown := k == nil || k.Count > 0 && len(p.pages) > k.Count
	born := func(i int) time.Time { return p.born[p.rangeOf(i)] }
	later := func(i, than int) bool { return than < 0 || !p.pages[i].Newest.Before(p.pages[than].Newest) }
	newest, created, updated := -1, -1, -1
	for i, c := range p.pages {
		if later(i, newest) {
			newest = i
		}
		switch {
		case k == nil:
		case grown && born(i).After(k.Born):
			if created < 0 || born(i).After(born(created)) || born(i).Equal(born(created)) && later(i, created) {
				created = i
			}
		case c.Newest.After(k.Newest) && later(i, updated):
			updated = i
		}
	}
	changed := k == nil || updated >= 0 || !p.dated() // or else the set is only divided otherwise
	switch {
	case created < 0 && grown && changed: // only another process has seen which are new
		return newest, -1
	case created < 0 && changed:
		return -1, newest
	}
	return created, updated
}

// pageEntry returns the entry of page i of p.
func (d *documents) pageEntry(p *pages, i int, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	part := ""
	if len(p.pages) > 1 {
		part = formatRange(p.rangeOf(i))
	}
	return d.entry(kindResourceList, kindResourcePage, part, change, at)
}
