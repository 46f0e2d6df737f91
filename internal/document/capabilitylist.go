package document

import (
	"context"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// renderCapabilityList renders the Capability List of a set (section 9).
func renderCapabilityList(_ context.Context, t Target, _ *State, b *render.Body) error {
	b.Head = &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.CapabilityList}}
	if uri := t.Set.description(); uri != "" {
		b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelDescribedBy, Href: uri})
	}
	b.Head.Links = append(b.Head.Links, resourcesync.Link{Rel: resourcesync.RelUp, Href: t.Set.Routes.URL(KindDescription, nil, "")})
	for _, c := range t.Set.Capabilities() {
		b.Add(&rsxml.Entry{
			Loc:      t.URL(string(c), ""),
			Metadata: rsxml.Metadata{Capability: c},
		})
	}
	for _, c := range t.Set.Channels() {
		b.Add(t.Set.channelEntry(c))
	}
	return nil
}

// Capabilities returns the capabilities in the set's Capability List, without channels.
func (st *Set) Capabilities() []resourcesync.Capability {
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
	return append(out, st.Archives...)
}

func (st *Set) Channels() []resourcesync.Capability {
	var all []resourcesync.Capability
	if len(st.Hubs) == 0 && !st.Sockets {
		return nil
	}
	if st.Changer != nil {
		all = append(all, resourcesync.ChangeNotification)
	}
	if !st.NoFramework {
		all = append(all, resourcesync.FrameworkNotification)
	}
	return all
}

func (st *Set) Has(c resourcesync.Capability) bool {
	return slices.Contains(st.Capabilities(), c) || slices.Contains(st.Channels(), c)
}

// missing returns why the set does not have c.
func (st *Set) missing(c resourcesync.Capability) string {
	isChannel := c == resourcesync.ChangeNotification || c == resourcesync.FrameworkNotification
	switch {
	case isChannel && len(st.Hubs) == 0 && !st.Sockets:
		return "it has no hub"
	case c == resourcesync.FrameworkNotification:
		return "NoFramework is set"
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

// channelEntry returns the entry of st's channel of the capability c in a Capability
// List: the topic with its hubs (Change Notification 5, Framework Notification 5) or, if
// it has none, the WebSocket (section 3 of the 0.8 draft). A channel that has both is one
// entry, because there must not be two of one capability (core 9): the WebSocket is an
// alternate of the topic.
func (st *Set) channelEntry(c resourcesync.Capability) *rsxml.Entry {
	e := &rsxml.Entry{
		Loc:      st.URL(string(c), ""),
		Metadata: rsxml.Metadata{Capability: c},
	}
	for _, uri := range st.Hubs {
		e.Links = append(e.Links, resourcesync.Link{Rel: resourcesync.RelHub, Href: uri})
	}
	if st.Sockets {
		uri := st.SocketURL(c)
		if len(st.Hubs) > 0 {
			e.Links = append(e.Links, resourcesync.Link{Rel: resourcesync.RelAlternate, Href: uri})
		} else {
			e.Loc = uri
		}
	}
	return e
}

// SocketURL returns the URL of the WebSocket of a channel.
func (st *Set) SocketURL(c resourcesync.Capability) string {
	return "ws" + strings.TrimPrefix(st.URL(string(c)+Socket, ""), "http")
}

// LiveURL returns the URL of the WebSocket with the changes of st, or "".
func (st *Set) LiveURL() string {
	if !st.Sockets || st.Changer == nil {
		return ""
	}
	return st.SocketURL(resourcesync.ChangeNotification)
}
