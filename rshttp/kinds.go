package rshttp

import (
	"context"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
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

	// parent is the kind of the index that lists the document, if there is one, and
	// parts is the kind of the documents that it lists if it is an index.
	parent, parts string

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

	// html means that the document has an HTML page, of the kind page unless there are no
	// pages. document is the kind of the document whose page this one is, or nil.
	html           bool
	page, document *kind

	// form is what a request for the URL gets.
	form form

	manifest string // the kind of the manifest of a package

	// ranges returns the partitioner that names documents for ranges of keys.
	ranges func(*set) *partition.Partitioner
}

// A form is what a request for the URL of a kind gets: a document, or something else that
// documents link to.
type form int

// The forms.
const (
	formDocument form = iota
	formPackage       // of content
	formVersion       // of a resource
	formTopic         // the latest notification of a channel
	formSocket        // the notifications of a channel, over a WebSocket
	formPage          // the HTML page of a document
)

// anyMethod reports whether requests can have other methods than GET and HEAD.
func (k *kind) anyMethod() bool { return k.form == formTopic || k.form == formSocket }

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

	// frameworkPath is the path of a framework topic, below its set.
	frameworkPath = "framework/"
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
func kinds(o *config, d *description, channels bool) []*kind {
	var (
		every    = func(*set) bool { return true }
		list     = has(resourcesync.ResourceList)
		dump     = has(resourcesync.ResourceDump)
		changes  = has(resourcesync.ChangeList)
		versions = has(resourcesync.ChangeDump)
		pages    = func(st *set) *partition.Partitioner { return st.pages }
		packages = func(st *set) *partition.Partitioner { return st.packages }
	)
	rows := []*kind{
		{name: kindDescription, path: wellknown.Path, html: true, render: d.render},
		{name: kindDescriptionPart, path: "description/" + byNumber + ".xml", render: d.render},
		{name: kindCapabilityList, path: "capabilitylist.xml", needs: every, capability: resourcesync.CapabilityList, html: true, render: renderCapabilityList},

		{name: kindResourceList, path: "resourcelist.xml", needs: list, parts: kindResourcePage, capability: resourcesync.ResourceList, state: listState, html: true, render: renderResourceList},
		{name: kindResourcePage, path: "resourcelist/" + byKeys + ".xml", needs: list, parent: kindResourceList, capability: resourcesync.ResourceList, ranges: pages, listed: isRange, state: rangeState, html: true, render: renderResourcePage},

		{name: kindResourceDump, path: "resourcedump.xml", needs: dump, parts: kindDumpPart, capability: resourcesync.ResourceDump, state: dumpState, html: true, render: renderResourceDump},
		{name: kindDumpPart, path: "resourcedumps/" + byKeys + ".xml", needs: dump, parent: kindResourceDump, capability: resourcesync.ResourceDump, listed: isDumpPart, state: dumpState, html: true, render: renderResourceDump},
		{name: kindDumpManifest, path: "resourcedump/" + byKeys + ".xml", needs: dump, capability: resourcesync.ResourceDumpManifest, ranges: packages, listed: isRange, state: rangeState, html: true, render: renderManifest},
		{name: kindDumpPackage, path: "resourcedump/" + byKeys + ".zip", needs: dump, manifest: kindDumpManifest, ranges: packages, listed: isRange, state: rangeState, form: formPackage},

		{name: kindChangeList, path: "changelist.xml", needs: changes, parts: kindChangeWindow, capability: resourcesync.ChangeList, state: journalState, html: true, render: renderChangeList},
		{name: kindRecentChanges, path: "changelist/recent.xml", needs: changes, capability: resourcesync.ChangeList, state: journalState, html: true, render: renderRecentChanges},
		{name: kindChangeWindow, path: "changelist/" + byTime + ".xml", needs: changes, parent: kindChangeList, capability: resourcesync.ChangeList, listed: isWindow, state: journalState, html: true, render: renderChangeWindow},

		{name: kindChangeDump, path: "changedump.xml", needs: versions, parts: kindChangeDumpPart, capability: resourcesync.ChangeDump, state: changeDumpState, html: true, render: renderChangeDump},
		{name: kindChangeDumpPart, path: "changedumps/" + byTime + ".xml", needs: versions, parent: kindChangeDump, capability: resourcesync.ChangeDump, listed: isChangePackage, state: changeDumpState, html: true, render: renderChangeDumpPart},
		{name: kindChangeManifest, path: "changedump/" + byInterval + ".xml", needs: versions, capability: resourcesync.ChangeDumpManifest, listed: isChangePackage, state: journalState, html: true, render: renderManifest},
		{name: kindChangePackage, path: "changedump/" + byInterval + ".zip", needs: versions, manifest: kindChangeManifest, listed: isChangePackage, state: journalState, form: formPackage},
		{name: kindMemento, path: "memento", needs: func(st *set) bool { return st.Memento }, form: formVersion},
	}
	for _, c := range archives {
		path := strings.ReplaceAll(string(c), "-", "")
		rows = append(rows,
			&kind{name: string(c), path: path + ".xml", needs: has(c), parts: string(c) + archivePage, capability: c, state: archiveState, html: true, render: renderArchive},
			&kind{name: string(c) + archivePage, path: path + "/" + byTime + ".xml", needs: has(c), parent: string(c), capability: c, listed: isNever, state: archiveState, html: true, render: renderArchive})
	}
	if o.PlainSitemaps {
		rows = append(rows,
			&kind{name: kindSitemap, path: "sitemap.xml", needs: list, parts: kindSitemapPage, state: listState, render: renderResourceList},
			&kind{name: kindSitemapPage, path: "sitemap/" + byKeys + ".xml", needs: list, parent: kindSitemap, ranges: pages, listed: isRange, state: rangeState, render: renderResourcePage})
	}
	for _, c := range []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification} {
		has, path := has(c), strings.TrimSuffix(string(c), "-notification")+"/"
		if channels { // a topic must name its hubs
			rows = append(rows, &kind{name: string(c), path: path, needs: func(st *set) bool { return has(st) && len(st.Hubs) > 0 }, form: formTopic, html: true})
		}
		if o.Sockets {
			rows = append(rows, &kind{name: string(c) + socket, path: path + "websocket", needs: has, form: formSocket})
		}
	}
	return withPages(rows, o)
}

// has returns the condition that a set offers c.
func has(c resourcesync.Capability) func(*set) bool {
	return func(st *set) bool { return st.has(c) }
}

// pageOf is the suffix of the name of the kind that is the page of another kind.
const pageOf = "-page-html"

// withPages returns rows and the kinds of their pages, if o turns them on.
func withPages(rows []*kind, o *config) []*kind {
	for _, k := range rows {
		if !k.html || !o.HTML {
			continue
		}
		path := strings.TrimSuffix(strings.TrimSuffix(k.path, "/"), ".xml") + ".html"
		if k.name == kindDescription {
			path = "description.html"
		}
		k.page = &kind{name: k.name + pageOf, path: path, needs: k.needs, document: k, listed: alwaysUnlisted(k), form: formPage}
		rows = append(rows, k.page)
	}
	return rows
}

// alwaysUnlisted returns the listed of the page of k. Pages share the places of unlisted
// documents, so that people never displace harvesters.
func alwaysUnlisted(k *kind) func(target) bool {
	if k.needs == nil {
		return nil
	}
	return isNever
}

// documentName returns the name of k or, if it is a page, of its document.
func (k *kind) documentName() string {
	if k.document != nil {
		return k.document.name
	}
	return k.name
}
