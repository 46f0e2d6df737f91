package rshttp

import (
	"context"
	"net/http"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A kind is a kind of document: one row of the table that [kinds] returns. A request
// goes through the columns from left to right: its route finds the kind, the kind reads
// the state of the document, and renders it unless a document of the same state is
// cached. The same route writes the URL of the document into other documents.
type kind struct {
	name string

	// path is a gorilla/mux template. One that begins with '/' is a path of the host.
	// Others are below the base of the Source, and below the set if there is one.
	path string

	// needs reports whether a set has documents of this kind. It is nil for documents
	// of the Source.
	needs func(*set) bool

	// parent is the kind of the index that lists the document, if there is one.
	parent string

	// capability is stated by the document. It is empty for a plain sitemap.
	capability resourcesync.Capability

	// listed reports whether a document lists t. Clients can request any range of
	// keys and any time, so requests for unlisted documents have a group of their own,
	// share a part of the places, and are refused first. If it is nil, all are listed.
	listed func(t target) bool

	// state reads the state of t. was is the state that a cached document shows, or
	// nil; if that is still current, state returns was itself. If state is nil, the document
	// is a function of the configuration.
	state func(ctx context.Context, t target, was *state) (*state, error)

	// render writes the document in the state st into b. It may set fields of st that
	// depend on the content. It returns errMoved if st is no longer current.
	render func(ctx context.Context, t target, st *state, b *render.Body) error

	// serve answers requests for packages, versions and channels, which are not
	// documents. If anyMethod is true, serve checks the method and the body itself.
	serve     func(s *Source, w http.ResponseWriter, r *http.Request, t target)
	anyMethod bool

	manifest string // the kind of the manifest of a package
}

// The names of kinds are those of the capabilities they implement.
const (
	kindDescription     = "description"
	kindDescriptionPart = "description-part"
	kindCapabilityList  = "capabilitylist"
	kindResourceList    = "resourcelist"
	kindResourcePage    = "resourcelist-page"
	kindResourceDump    = "resourcedump"
	kindDumpPart        = "resourcedump-part"
	kindDumpManifest    = "resourcedump-manifest"
	kindDumpPackage     = "resourcedump-package"
	kindChangeList      = "changelist"
	kindChangeWindow    = "changelist-window"
	kindRecentChanges   = "changelist-recent"
	kindChangeDump      = "changedump"
	kindChangeDumpPart  = "changedump-part"
	kindChangeManifest  = "changedump-manifest"
	kindChangePackage   = "changedump-package"
	kindSitemap         = "sitemap"
	kindSitemapPage     = "sitemap-page"
	kindMemento         = "memento"

	// archivePage is the suffix of the kind of an archive's pages. The kind of the
	// archive has the name of its capability.
	archivePage = "-page"

	// socket is the suffix of the kind of a channel that is served by WebSocket. The
	// kind of the channel has the name of its capability.
	socket = "-socket"
)

// The templates of the names of parts.
const (
	byNumber   = "{part:[0-9]+}"
	byKeys     = "{part:[A-Za-z0-9_~.-]+}"
	byTime     = "{part:[0-9TZ.]+}"
	byInterval = "{part:[0-9TZ.-]+}"
)

// kinds returns the kinds of documents of a Source. channels states that some set has
// notification channels.
func kinds(o *Options, d *description, channels bool) []*kind {
	var (
		every    = func(*set) bool { return true }
		list     = has(resourcesync.ResourceList)
		dump     = has(resourcesync.ResourceDump)
		changes  = has(resourcesync.ChangeList)
		versions = has(resourcesync.ChangeDump)
	)
	rows := []*kind{
		{name: kindDescription, path: wellknown.Path, render: d.render},
		{name: kindDescriptionPart, path: "description/" + byNumber + ".xml", render: d.render},
		{name: kindCapabilityList, path: "capabilitylist.xml", needs: every, capability: resourcesync.CapabilityList, render: renderCapabilityList},

		{name: kindResourceList, path: "resourcelist.xml", needs: list, capability: resourcesync.ResourceList, state: listState, render: renderResourceList},
		{name: kindResourcePage, path: "resourcelist/" + byKeys + ".xml", needs: list, parent: kindResourceList, capability: resourcesync.ResourceList, listed: isPage, state: pageState, render: renderResourcePage},

		{name: kindResourceDump, path: "resourcedump.xml", needs: dump, capability: resourcesync.ResourceDump, state: dumpState, render: renderResourceDump},
		{name: kindDumpPart, path: "resourcedumps/" + byKeys + ".xml", needs: dump, parent: kindResourceDump, capability: resourcesync.ResourceDump, listed: isDumpPart, state: dumpState, render: renderResourceDump},
		{name: kindDumpManifest, path: "resourcedump/" + byKeys + ".xml", needs: dump, capability: resourcesync.ResourceDumpManifest, listed: isDumpPackage, state: dumpPackageState, render: renderManifest},
		{name: kindDumpPackage, path: "resourcedump/" + byKeys + ".zip", needs: dump, manifest: kindDumpManifest, listed: isDumpPackage, state: dumpPackageState, serve: (*Source).servePackage},

		{name: kindChangeList, path: "changelist.xml", needs: changes, capability: resourcesync.ChangeList, state: journalState, render: renderChangeList},
		{name: kindRecentChanges, path: "changelist/recent.xml", needs: changes, capability: resourcesync.ChangeList, state: journalState, render: renderRecentChanges},
		{name: kindChangeWindow, path: "changelist/" + byTime + ".xml", needs: changes, parent: kindChangeList, capability: resourcesync.ChangeList, listed: isWindow, state: journalState, render: renderChangeWindow},

		{name: kindChangeDump, path: "changedump.xml", needs: versions, capability: resourcesync.ChangeDump, state: changeDumpState, render: renderChangeDump},
		{name: kindChangeDumpPart, path: "changedumps/" + byTime + ".xml", needs: versions, parent: kindChangeDump, capability: resourcesync.ChangeDump, listed: isChangePackage, state: changeDumpState, render: renderChangeDumpPart},
		{name: kindChangeManifest, path: "changedump/" + byInterval + ".xml", needs: versions, capability: resourcesync.ChangeDumpManifest, listed: isChangePackage, state: journalState, render: renderManifest},
		{name: kindChangePackage, path: "changedump/" + byInterval + ".zip", needs: versions, manifest: kindChangeManifest, listed: isChangePackage, state: journalState, serve: (*Source).servePackage},
		{name: kindMemento, path: "memento", needs: func(st *set) bool { return st.memento }, serve: (*Source).serveMemento},
	}
	for _, c := range archives {
		path := strings.ReplaceAll(string(c), "-", "")
		rows = append(rows,
			&kind{name: string(c), path: path + ".xml", needs: has(c), capability: c, state: archiveState, render: renderArchive},
			&kind{name: string(c) + archivePage, path: path + "/" + byTime + ".xml", needs: has(c), parent: string(c), capability: c, listed: isNever, state: archiveState, render: renderArchive})
	}
	if o.Sitemap {
		rows = append(rows,
			&kind{name: kindSitemap, path: "sitemap.xml", needs: list, state: listState, render: renderResourceList},
			&kind{name: kindSitemapPage, path: "sitemap/" + byKeys + ".xml", needs: list, parent: kindSitemap, listed: isPage, state: pageState, render: renderResourcePage})
	}
	for _, c := range []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification} {
		has, path := has(c), strings.TrimSuffix(string(c), "-notification")+"/"
		if channels { // a topic must name its hubs
			rows = append(rows, &kind{name: string(c), path: path, needs: func(st *set) bool { return has(st) && len(st.hubs) > 0 }, serve: (*Source).serveTopic, anyMethod: true})
		}
		if o.WebSocket != nil {
			rows = append(rows, &kind{name: string(c) + socket, path: path + "websocket", needs: has, serve: (*Source).serveSocket, anyMethod: true})
		}
	}
	return rows
}

// has returns the condition that a set offers c.
func has(c resourcesync.Capability) func(*set) bool {
	return func(st *set) bool { return st.has(c) }
}
