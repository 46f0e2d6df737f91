package rshttp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// routes maps between paths and targets.
type routes struct {
	origin string // scheme and host of the public URLs
	base   string // path of the base, with a slash at its end
	router *mux.Router
	kinds  map[string]*kind
	named  bool            // sets have a segment of their own
	static bool            // parts have the names of [staticName]
	ends   []string        // of all paths below the base
	begin  map[string]bool // how paths below the base begin, unless sets are named; see folderOf
}

func newRoutes(base *url.URL, named bool, ks []*kind) *routes {
	rt := &routes{
		origin: base.Scheme + "://" + base.Host,
		base:   base.Path,
		router: mux.NewRouter().SkipClean(true),
		kinds:  make(map[string]*kind),
		named:  named,
		ends:   []string{".xml", ".zip", ".html", kindMemento},
		begin:  make(map[string]bool),
	}
	for _, k := range ks {
		path := k.path
		switch {
		case strings.HasPrefix(path, "/"):
		case k.needs != nil && named:
			path = rt.base + "{set}/" + path
		default:
			path = rt.base + path
		}
		rt.router.Path(path).Name(k.name)
		rt.kinds[k.name] = k
		rt.begin[folderOf(k.path)] = true
		if k.anyMethod {
			rt.ends = append(rt.ends, k.path)
		}
	}
	return rt
}

// A target is the document that a path names.
type target struct {
	kind *kind
	path string
	set  *set   // nil for the Source Description
	part string // which page, window or part
}

// isUnlisted reports whether t is not known to be listed.
func (t target) isUnlisted() bool { return t.kind.listed != nil && !t.kind.listed(t) }

// isSocket reports whether t is served by WebSocket.
func (t target) isSocket() bool { return strings.HasSuffix(t.kind.name, socket) }

// url returns the public URL of a document of the same set.
func (t target) url(kind, part string) string { return t.set.url(kind, part) }

func (rt *routes) match(path string, sets map[string]*set) (target, bool) {
	// Most requests to a wrapped application are for other paths. Avoid the cost of the
	// router for them.
	if path != wellknown.Path && !rt.mayHave(path) {
		return target{}, false
	}
	var m mux.RouteMatch
	if !rt.router.Match(&http.Request{URL: &url.URL{Path: path}}, &m) || m.MatchErr != nil {
		return target{}, false
	}
	t := target{kind: rt.kinds[m.Route.GetName()], path: path, part: m.Vars["part"]}
	if t.kind.needs != nil {
		if t.set = sets[m.Vars["set"]]; t.set == nil || !t.kind.needs(t.set) {
			return target{}, false
		}
	}
	return t, true
}

// mayHave reports whether path looks like one of the Source's below its base.
func (rt *routes) mayHave(path string) bool {
	below, ok := strings.CutPrefix(path, rt.base)
	if !ok {
		return false
	}
	for _, end := range rt.ends {
		if strings.HasSuffix(below, end) {
			return rt.named || rt.begin[folderOf(below)]
		}
	}
	return false
}

// folderOf returns the first folder of a path, with a trailing slash, or the path itself if
// it has none.
func folderOf(path string) string {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return path
}

func (rt *routes) url(kind string, st *set, part string) string {
	return rt.origin + rt.locate(kind, st, part).EscapedPath()
}

// path returns the path of a document, decoded.
func (rt *routes) path(kind string, st *set, part string) string {
	return rt.locate(kind, st, part).Path
}

func (rt *routes) locate(kind string, st *set, part string) *url.URL {
	if rt.static {
		part = staticName(part)
	}
	var pairs []string
	if rt.kinds[kind].needs != nil && rt.named {
		pairs = append(pairs, "set", st.Name)
	}
	if part != "" {
		pairs = append(pairs, "part", part)
	}
	u, err := rt.router.Get(kind).URLPath(pairs...)
	if err != nil {
		// Every part comes from a function whose result matches the route.
		panic(fmt.Sprintf("rshttp: no URL for %s %v: %v", kind, pairs, err))
	}
	return u
}

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

	// page gathers the content of the HTML page of the document. If it is nil, the document
	// has no page. document is the kind of the document whose page this one is, or nil.
	page     func(ctx context.Context, v *view) (page, error)
	document *kind

	// serve answers requests for packages, versions and channels, which are not
	// documents. It returns an error if it has not begun to answer. If anyMethod is
	// true, serve checks the method and the body itself.
	serve     func(request) error
	anyMethod bool

	manifest string // the kind of the manifest of a package

	// ranges returns the partitioner that names documents for ranges of keys.
	ranges func(*set) *partition.Partitioner
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
func kinds(o *Options, d *description, channels bool) []*kind {
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
		{name: kindDescription, path: wellknown.Path, page: pageSource, render: d.render},
		{name: kindDescriptionPart, path: "description/" + byNumber + ".xml", render: d.render},
		{name: kindCapabilityList, path: "capabilitylist.xml", needs: every, capability: resourcesync.CapabilityList, page: pageSet, render: renderCapabilityList},

		{name: kindResourceList, path: "resourcelist.xml", needs: list, parts: kindResourcePage, capability: resourcesync.ResourceList, state: listState, page: pageResourceList, render: renderResourceList},
		{name: kindResourcePage, path: "resourcelist/" + byKeys + ".xml", needs: list, parent: kindResourceList, capability: resourcesync.ResourceList, ranges: pages, listed: isRange, state: rangeState, page: pageResourcePage, render: renderResourcePage},

		{name: kindResourceDump, path: "resourcedump.xml", needs: dump, parts: kindDumpPart, capability: resourcesync.ResourceDump, state: dumpState, page: pageDump, render: renderResourceDump},
		{name: kindDumpPart, path: "resourcedumps/" + byKeys + ".xml", needs: dump, parent: kindResourceDump, capability: resourcesync.ResourceDump, listed: isDumpPart, state: dumpState, page: pageDump, render: renderResourceDump},
		{name: kindDumpManifest, path: "resourcedump/" + byKeys + ".xml", needs: dump, capability: resourcesync.ResourceDumpManifest, ranges: packages, listed: isRange, state: rangeState, page: pageResourcePage, render: renderManifest},
		{name: kindDumpPackage, path: "resourcedump/" + byKeys + ".zip", needs: dump, manifest: kindDumpManifest, ranges: packages, listed: isRange, state: rangeState, serve: request.servePackage},

		{name: kindChangeList, path: "changelist.xml", needs: changes, parts: kindChangeWindow, capability: resourcesync.ChangeList, state: journalState, page: pageChangeList, render: renderChangeList},
		{name: kindRecentChanges, path: "changelist/recent.xml", needs: changes, capability: resourcesync.ChangeList, state: journalState, page: pageRecentChanges, render: renderRecentChanges},
		{name: kindChangeWindow, path: "changelist/" + byTime + ".xml", needs: changes, parent: kindChangeList, capability: resourcesync.ChangeList, listed: isWindow, state: journalState, page: pageChangeWindow, render: renderChangeWindow},

		{name: kindChangeDump, path: "changedump.xml", needs: versions, parts: kindChangeDumpPart, capability: resourcesync.ChangeDump, state: changeDumpState, page: pageChangeDump, render: renderChangeDump},
		{name: kindChangeDumpPart, path: "changedumps/" + byTime + ".xml", needs: versions, parent: kindChangeDump, capability: resourcesync.ChangeDump, listed: isChangePackage, state: changeDumpState, page: pageChangeDump, render: renderChangeDumpPart},
		{name: kindChangeManifest, path: "changedump/" + byInterval + ".xml", needs: versions, capability: resourcesync.ChangeDumpManifest, listed: isChangePackage, state: journalState, page: pageChangeManifest, render: renderManifest},
		{name: kindChangePackage, path: "changedump/" + byInterval + ".zip", needs: versions, manifest: kindChangeManifest, listed: isChangePackage, state: journalState, serve: request.servePackage},
		{name: kindMemento, path: "memento", needs: func(st *set) bool { return st.Memento }, serve: request.serveMemento},
	}
	for _, c := range archives {
		path := strings.ReplaceAll(string(c), "-", "")
		rows = append(rows,
			&kind{name: string(c), path: path + ".xml", needs: has(c), parts: string(c) + archivePage, capability: c, state: archiveState, page: pageArchive, render: renderArchive},
			&kind{name: string(c) + archivePage, path: path + "/" + byTime + ".xml", needs: has(c), parent: string(c), capability: c, listed: isNever, state: archiveState, page: pageArchive, render: renderArchive})
	}
	if o.Sitemaps&PlainSitemaps != 0 {
		rows = append(rows,
			&kind{name: kindSitemap, path: "sitemap.xml", needs: list, parts: kindSitemapPage, state: listState, render: renderResourceList},
			&kind{name: kindSitemapPage, path: "sitemap/" + byKeys + ".xml", needs: list, parent: kindSitemap, ranges: pages, listed: isRange, state: rangeState, render: renderResourcePage})
	}
	for _, c := range []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification} {
		has, path := has(c), strings.TrimSuffix(string(c), "-notification")+"/"
		if channels { // a topic must name its hubs
			rows = append(rows, &kind{name: string(c), path: path, needs: func(st *set) bool { return has(st) && len(st.hubs) > 0 }, serve: request.serveTopic, page: pageChannel, anyMethod: true})
		}
		if o.WebSocket != nil {
			rows = append(rows, &kind{name: string(c) + socket, path: path + "websocket", needs: has, serve: request.serveSocket, anyMethod: true})
		}
	}
	return withPages(rows, o)
}

// has returns the condition that a set offers c.
func has(c resourcesync.Capability) func(*set) bool {
	return func(st *set) bool { return st.has(c) }
}
