package document

import (
	"context"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A Kind is a kind of document: one row of the table that [kinds] returns. A request
// goes through the columns from left to right: its route finds the kind, the kind reads
// the state of the document, and renders it unless a document of the same state is
// cached. The same route writes the URL of the document into other documents.
type Kind struct {
	Name string

	// path is a gorilla/mux template. One that begins with '/' is a path of the host.
	// Others are below the base of the Source, and below the set if there is one.
	path string

	// Needs reports whether a set has documents of this kind. It is nil for documents
	// of the Source.
	Needs func(*Set) bool

	// Parent is the kind of the index that lists the document, if there is one, and
	// parts is the kind of the documents that it lists if it is an index.
	Parent, Parts string

	// Capability is stated by the document. It is empty for a plain sitemap.
	Capability resourcesync.Capability

	// listed reports whether a document lists t. Clients can request any range of
	// keys and any time, so requests for unlisted documents have a group of their own,
	// share a part of the places, and are refused first. If it is nil, all are listed.
	listed func(t Target) bool

	// State reads the state of t. was is the state that a cached document shows, or
	// nil; if that is still current, state returns was itself. If state is nil, the document
	// is a function of the configuration.
	State func(ctx context.Context, t Target, was *State) (*State, error)

	// Render writes the document in the state st into b. It may set fields of st that
	// depend on the content. It returns ErrMoved if st is no longer current.
	Render func(ctx context.Context, t Target, st *State, b *render.Body) error

	// html means that the document has an HTML page, of the kind page unless there are no
	// pages. document is the kind of the document whose page this one is, or nil.
	html           bool
	Page, Document *Kind

	// Form is what a request for the URL gets.
	Form Form

	Manifest string // the kind of the manifest of a package

	// ranges returns the partitioner that names documents for ranges of keys.
	ranges func(*Set) *partition.Partitioner
}

// A Form is what a request for the URL of a kind gets: a document, or something else that
// documents link to.
type Form int

// The forms.
const (
	FormDocument Form = iota
	FormPackage       // of content
	FormVersion       // of a resource
	FormTopic         // the latest notification of a channel
	FormSocket        // the notifications of a channel, over a WebSocket
	formPage          // the HTML page of a document
)

// AnyMethod reports whether requests can have other methods than GET and HEAD.
func (k *Kind) AnyMethod() bool { return k.Form == FormTopic || k.Form == FormSocket }

// The names of kinds are those of the capabilities they implement.
const (
	KindDescription     = "description"
	KindDescriptionPart = "description-part"
	KindCapabilityList  = "capabilitylist"
	KindResourceList    = "resourcelist"
	KindResourcePage    = "resourcelist-page"
	KindResourceDump    = "resourcedump"
	KindDumpPart        = "resourcedump-part"
	KindDumpManifest    = "resourcedump-manifest"
	KindDumpPackage     = "resourcedump-package"
	KindChangeList      = "changelist"
	KindChangeWindow    = "changelist-window"
	KindRecentChanges   = "changelist-recent"
	KindChangeDump      = "changedump"
	KindChangeDumpPart  = "changedump-part"
	KindChangeManifest  = "changedump-manifest"
	KindChangePackage   = "changedump-package"
	KindSitemap         = "sitemap"
	kindSitemapPage     = "sitemap-page"
	kindMemento         = "memento"

	// archivePage is the suffix of the kind of an archive's pages. The kind of the
	// archive has the name of its capability.
	archivePage = "-page"

	// Socket is the suffix of the kind of a channel that is served by WebSocket. The
	// kind of the channel has the name of its capability.
	Socket = "-socket"

	// FrameworkPath is the path of a framework topic, below its set.
	FrameworkPath = "framework/"
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
func kinds(o *Config, d *Description, channels bool) []*Kind {
	var (
		every    = func(*Set) bool { return true }
		list     = has(resourcesync.ResourceList)
		dump     = has(resourcesync.ResourceDump)
		changes  = has(resourcesync.ChangeList)
		versions = has(resourcesync.ChangeDump)
		pages    = func(st *Set) *partition.Partitioner { return st.Pages }
		packages = func(st *Set) *partition.Partitioner { return st.Packages }
	)
	rows := []*Kind{
		{Name: KindDescription, path: wellknown.Path, html: true, Render: d.render},
		{Name: KindDescriptionPart, path: "description/" + byNumber + ".xml", Render: d.render},
		{Name: KindCapabilityList, path: "capabilitylist.xml", Needs: every, Capability: resourcesync.CapabilityList, html: true, Render: renderCapabilityList},

		{Name: KindResourceList, path: "resourcelist.xml", Needs: list, Parts: KindResourcePage, Capability: resourcesync.ResourceList, State: listState, html: true, Render: renderResourceList},
		{Name: KindResourcePage, path: "resourcelist/" + byKeys + ".xml", Needs: list, Parent: KindResourceList, Capability: resourcesync.ResourceList, ranges: pages, listed: isRange, State: rangeState, html: true, Render: renderResourcePage},

		{Name: KindResourceDump, path: "resourcedump.xml", Needs: dump, Parts: KindDumpPart, Capability: resourcesync.ResourceDump, State: dumpState, html: true, Render: renderResourceDump},
		{Name: KindDumpPart, path: "resourcedumps/" + byKeys + ".xml", Needs: dump, Parent: KindResourceDump, Capability: resourcesync.ResourceDump, listed: isDumpPart, State: dumpState, html: true, Render: renderResourceDump},
		{Name: KindDumpManifest, path: "resourcedump/" + byKeys + ".xml", Needs: dump, Capability: resourcesync.ResourceDumpManifest, ranges: packages, listed: isRange, State: rangeState, html: true, Render: renderManifest},
		{Name: KindDumpPackage, path: "resourcedump/" + byKeys + ".zip", Needs: dump, Manifest: KindDumpManifest, ranges: packages, listed: isRange, State: rangeState, Form: FormPackage},

		{Name: KindChangeList, path: "changelist.xml", Needs: changes, Parts: KindChangeWindow, Capability: resourcesync.ChangeList, State: JournalState, html: true, Render: renderChangeList},
		{Name: KindRecentChanges, path: "changelist/recent.xml", Needs: changes, Capability: resourcesync.ChangeList, State: JournalState, html: true, Render: renderRecentChanges},
		{Name: KindChangeWindow, path: "changelist/" + byTime + ".xml", Needs: changes, Parent: KindChangeList, Capability: resourcesync.ChangeList, listed: isWindow, State: JournalState, html: true, Render: renderChangeWindow},

		{Name: KindChangeDump, path: "changedump.xml", Needs: versions, Parts: KindChangeDumpPart, Capability: resourcesync.ChangeDump, State: changeDumpState, html: true, Render: renderChangeDump},
		{Name: KindChangeDumpPart, path: "changedumps/" + byTime + ".xml", Needs: versions, Parent: KindChangeDump, Capability: resourcesync.ChangeDump, listed: isChangePackage, State: changeDumpState, html: true, Render: renderChangeDumpPart},
		{Name: KindChangeManifest, path: "changedump/" + byInterval + ".xml", Needs: versions, Capability: resourcesync.ChangeDumpManifest, listed: isChangePackage, State: JournalState, html: true, Render: renderManifest},
		{Name: KindChangePackage, path: "changedump/" + byInterval + ".zip", Needs: versions, Manifest: KindChangeManifest, listed: isChangePackage, State: JournalState, Form: FormPackage},
		{Name: kindMemento, path: "memento", Needs: func(st *Set) bool { return st.Memento }, Form: FormVersion},
	}
	for _, c := range archives {
		path := strings.ReplaceAll(string(c), "-", "")
		rows = append(rows,
			&Kind{Name: string(c), path: path + ".xml", Needs: has(c), Parts: string(c) + archivePage, Capability: c, State: archiveState, html: true, Render: renderArchive},
			&Kind{Name: string(c) + archivePage, path: path + "/" + byTime + ".xml", Needs: has(c), Parent: string(c), Capability: c, listed: isNever, State: archiveState, html: true, Render: renderArchive})
	}
	if o.PlainSitemaps {
		rows = append(rows,
			&Kind{Name: KindSitemap, path: "sitemap.xml", Needs: list, Parts: kindSitemapPage, State: listState, Render: renderResourceList},
			&Kind{Name: kindSitemapPage, path: "sitemap/" + byKeys + ".xml", Needs: list, Parent: KindSitemap, ranges: pages, listed: isRange, State: rangeState, Render: renderResourcePage})
	}
	for _, c := range []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification} {
		has, path := has(c), strings.TrimSuffix(string(c), "-notification")+"/"
		if channels { // a topic must name its hubs
			rows = append(rows, &Kind{Name: string(c), path: path, Needs: func(st *Set) bool { return has(st) && len(st.Hubs) > 0 }, Form: FormTopic, html: true})
		}
		if o.Sockets {
			rows = append(rows, &Kind{Name: string(c) + Socket, path: path + "websocket", Needs: has, Form: FormSocket})
		}
	}
	return withPages(rows, o)
}

// has returns the condition that a set offers c.
func has(c resourcesync.Capability) func(*Set) bool {
	return func(st *Set) bool { return st.Has(c) }
}

// PageOf is the suffix of the name of the kind that is the page of another kind.
const PageOf = "-page-html"

// withPages returns rows and the kinds of their pages, if o turns them on.
func withPages(rows []*Kind, o *Config) []*Kind {
	for _, k := range rows {
		if !k.html || !o.HTML {
			continue
		}
		path := strings.TrimSuffix(strings.TrimSuffix(k.path, "/"), ".xml") + ".html"
		if k.Name == KindDescription {
			path = "description.html"
		}
		k.Page = &Kind{Name: k.Name + PageOf, path: path, Needs: k.Needs, Document: k, listed: alwaysUnlisted(k), Form: formPage}
		rows = append(rows, k.Page)
	}
	return rows
}

// alwaysUnlisted returns the listed of the page of k. Pages share the places of unlisted
// documents, so that people never displace harvesters.
func alwaysUnlisted(k *Kind) func(Target) bool {
	if k.Needs == nil {
		return nil
	}
	return isNever
}

// DocumentName returns the name of k or, if it is a page, of its document.
func (k *Kind) DocumentName() string {
	if k.Document != nil {
		return k.Document.Name
	}
	return k.Name
}
