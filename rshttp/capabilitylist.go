package rshttp

import (
	"context"
	"slices"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// renderCapabilityList renders the Capability List of a set (section 9).
func renderCapabilityList(_ context.Context, t target, _ *state, b *render.Body) error {
	b.Head = &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.CapabilityList}}
	if t.set.DescribedBy != "" {
		b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelDescribedBy, Href: t.set.DescribedBy})
	}
	b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelUp, Href: t.set.routes.url(kindDescription, nil, "")})
	for _, c := range t.set.capabilities() {
		b.Add(&rsxml.Entry{
			Loc:      t.url(string(c), ""),
			Metadata: rsxml.Metadata{Capability: c},
		})
	}
	for _, c := range t.set.channels() {
		b.Add(t.set.channelEntry(c))
	}
	return nil
}

// capabilities returns the capabilities in the set's Capability List, without channels.
func (st *set) capabilities() []resourcesync.Capability {
	out := []resourcesync.Capability{resourcesync.ResourceList}
	if st.Opener != nil {
		out = append(out, resourcesync.ResourceDump)
	}
	if st.Changer != nil {
		out = append(out, resourcesync.ChangeList)
	}
	if st.Changer != nil && st.ChangeOpener != nil {
		out = append(out, resourcesync.ChangeDump)
	}
	return append(out, st.archives...)
}

func (st *set) channels() []resourcesync.Capability {
	switch {
	case len(st.hubs) == 0 && !st.sockets:
		return nil
	case st.Changer == nil:
		return []resourcesync.Capability{resourcesync.FrameworkNotification}
	}
	return []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification}
}

func (st *set) has(c resourcesync.Capability) bool {
	return slices.Contains(st.capabilities(), c) || slices.Contains(st.channels(), c)
}

// missing returns why the set does not have c.
func (st *set) missing(c resourcesync.Capability) string {
	isChannel := c == resourcesync.ChangeNotification || c == resourcesync.FrameworkNotification
	switch {
	case isChannel && len(st.hubs) == 0 && !st.sockets:
		return "it has no hub"
	case c == resourcesync.ResourceDump:
		return "it has no Opener"
	case c == resourcesync.ResourceListArchive, c == resourcesync.ResourceDumpArchive, c == resourcesync.ChangeDumpArchive:
		return "it has no Archiver of this capability"
	case c == resourcesync.ChangeListArchive:
		return "it has no ChangeArchiver, and no Archiver of this capability"
	case c == resourcesync.ChangeList, c == resourcesync.ChangeDump, c == resourcesync.ChangeNotification:
		if st.Changer == nil {
			return "it has no Changer"
		}
		return "it has no ChangeOpener"
	}
	return "a set has no such capability"
}
