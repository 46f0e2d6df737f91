package rshttp

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// resources announces the Resource List, or the lists under its index.
func (d *frameworkFeed) resources(ctx context.Context, k *known) ([]rsxml.Entry, error) {
	p := d.set.pages.Current()
	if p == nil {
		return nil, resourcesync.ErrNotReady // it is being divided for the first time
	}
	if len(p.Cuts) == 1 {
		// It is rendered on request, independently of the partition.
		var err error
		if p, err = d.onlyPage(ctx, p); err != nil {
			return nil, err
		}
	}
	was := k.ResourceList
	k.ResourceList = knownPagesOf(p)
	if was != nil && was.Version == k.ResourceList.Version {
		return nil, nil
	}
	var entries []rsxml.Entry
	created, updated := newsOf(p, was)
	if created >= 0 {
		at := p.Cuts[created].Newest
		if was != nil {
			at = p.Splits[p.Range(created)] // or else now, as it becomes known
		}
		entries = append(entries, d.pageEntry(p, created, resourcesync.Created, at))
	}
	if updated >= 0 {
		entries = append(entries, d.pageEntry(p, updated, resourcesync.Updated, p.Cuts[updated].Newest))
	}
	return entries, nil
}

// onlyPage updates p, a partition into one page, to the current state of the set.
func (d *frameworkFeed) onlyPage(ctx context.Context, p *partition.Partition) (*partition.Partition, error) {
	now := *p
	now.Cuts = []resourcesync.Cut{{Count: p.Cuts[0].Count, Newest: p.At}}
	st, err := d.set.resourceState(ctx, partition.Whole, nil)
	if err != nil {
		return nil, err
	}
	if st.version != "" {
		now.Version, now.At = st.version, st.modified
		now.Cuts[0] = resourcesync.Cut{Newest: st.modified} // the version says it all
	}
	return &now, nil
}

// knownPagesOf returns the part of p that a channel stores.
func knownPagesOf(p *partition.Partition) *knownPages {
	k := &knownPages{Count: len(p.Cuts)}
	for _, at := range p.Splits {
		if at.After(k.Born) {
			k.Born = at
		}
	}
	var state []string
	for _, c := range p.Cuts {
		state = append(state, c.Key, strconv.Itoa(c.Count), stamp(c.Newest))
		if c.Newest.After(k.Newest) {
			k.Newest = c.Newest.UTC()
		}
	}
	if !dated(p) {
		state = append(state, p.Version, stamp(p.At))
	}
	k.Version = digestOf(state...)
	return k
}

// dated reports whether each of several pages has the time of its newest change.
func dated(p *partition.Partition) bool {
	undated := func(c resourcesync.Cut) bool { return c.Newest.IsZero() }
	return len(p.Cuts) > 1 && !slices.ContainsFunc(p.Cuts, undated)
}

// newsOf returns the index of the newest page of p that was created since k, and that of the
// newest one that was updated; -1 for none. A larger number of pages shows that some are
// new, and their times show which ones. Joined pages are not announced.
func newsOf(p *partition.Partition, k *knownPages) (created, updated int) {
	grown := k == nil || k.Count > 0 && len(p.Cuts) > k.Count
	born := func(i int) time.Time { return p.Splits[p.Range(i)] }
	later := func(i, than int) bool { return than < 0 || !p.Cuts[i].Newest.Before(p.Cuts[than].Newest) }
	newest, created, updated := -1, -1, -1
	for i, c := range p.Cuts {
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
	changed := k == nil || updated >= 0 || !dated(p) // or else the set is only divided otherwise
	switch {
	case created < 0 && grown && changed: // only another process has seen which are new
		return newest, -1
	case created < 0 && changed:
		return -1, newest
	}
	return created, updated
}

// pageEntry returns the entry of page i of p.
func (d *frameworkFeed) pageEntry(p *partition.Partition, i int, change resourcesync.ChangeType, at time.Time) rsxml.Entry {
	part := ""
	if len(p.Cuts) > 1 {
		part = partition.FormatRange(p.Range(i))
	}
	return d.entry(kindResourceList, kindResourcePage, part, change, at)
}
