package rshttp

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/covercache"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Set is a set of resources that a Source publishes (section 9). Provider is mandatory.
//
// The upgrades of a set are found by type assertion on Provider, and on the values that a
// [resourcesync.Combined] has. A field with the name of
// an interface overrides that: it combines a wrapper with the upgrades that it hides, or a
// provider with a journal. Without another Stater, the Changer is
// the Stater if it implements that interface, and without another ChangeArchiver, its own
// archive is used if it has one ([resourcesync.ChangeArchived]).
type Set struct {
	// Name is the folder of the set's documents: letters, digits, '.', '_' and '-'. It
	// may be empty if the Source has only one set.
	Name string

	// Provider supplies the resources.
	Provider resourcesync.Provider

	Stater         resourcesync.Stater
	Cutter         resourcesync.Cutter
	Changer        resourcesync.Changer
	Opener         resourcesync.Opener
	ChangeOpener   resourcesync.ChangeOpener
	Watcher        resourcesync.Watcher
	Coverer        resourcesync.Coverer
	Archiver       resourcesync.Archiver
	ChangeArchiver resourcesync.ChangeArchiver

	// Memento gives each version in the ChangeOpener a URI of its own, to which the
	// entries of Change Lists link (section 14.6; RFC 7089). It needs a Changer and a
	// ChangeOpener. Versions of deleted resources are available as long as the
	// ChangeOpener has them.
	Memento bool

	// RemoteHubs are WebSub hubs, beside [Options].Hub, at which Destinations
	// subscribe to the set's notification channels. A set with a hub has a Framework
	// Notification channel and, if it has a journal, a Change Notification channel.
	// [Source.Run] publishes to them.
	RemoteHubs []topic.RemoteHub

	// NoFramework leaves out the Framework Notification channel. It is for a set whose documents
	// are kept elsewhere, as by a static.Publication: the channel would name documents
	// before they are there.
	NoFramework bool

	// Require names capabilities that the set must have. [New] fails if one is
	// missing, for example because a wrapper hides it.
	Require []resourcesync.Capability

	// About tells people what the set is. Its Title stands for Name on pages.
	About About

	// DescribedBy is the URI of a document that describes the set. The Capability
	// List and the Source Description link to it. If empty, they link to the page of the set
	// if there is one and About is not zero; otherwise, there is no link.
	DescribedBy string

	// Prefix is the path prefix of the set's URLs, such as "/papers/", if the
	// provider is not a Coverer. Without a Prefix and a Coverer, no URL gets a Link
	// header, because the link must name covered resources only.
	Prefix string
}

// given returns the values on which the documents of s depend. ownHub is the URI of the Hub of
// the Source, or empty.
func (s *Set) given(ownHub string) document.Given {
	g := document.Given{
		Name: s.Name, Provider: s.Provider, Stater: s.Stater, Cutter: s.Cutter, Changer: s.Changer,
		Opener: s.Opener, ChangeOpener: s.ChangeOpener, Watcher: s.Watcher, Archiver: s.Archiver, ChangeArchiver: s.ChangeArchiver,
		Memento: s.Memento, NoFramework: s.NoFramework, Require: s.Require, About: document.About(s.About), DescribedBy: s.DescribedBy,
	}
	if ownHub != "" {
		g.Hubs = append(g.Hubs, ownHub)
	}
	for _, h := range s.RemoteHubs {
		g.Hubs = append(g.Hubs, h.URI)
	}
	return g
}

// covers returns the condition that s covers a URL, or nil if that is unknown, and the cache
// that it has if a Coverer knows.
func (s *Set) covers() (func(*url.URL) bool, *covercache.Cache, error) {
	if s.Prefix != "" && !strings.HasPrefix(s.Prefix, "/") {
		return nil, nil, fmt.Errorf("%s: Prefix %q must be a path beginning with '/'", document.Title(s.Name), s.Prefix)
	}
	if c := document.Upgrade(s.Coverer, s.Provider); c != nil {
		cache := covercache.New(c.Covers)
		return cache.Covers, cache, nil
	}
	if s.Prefix == "" {
		return nil, nil, nil
	}
	return func(u *url.URL) bool { return strings.HasPrefix(u.Path, s.Prefix) }, nil, nil
}
