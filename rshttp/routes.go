package rshttp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// A kind is a kind of document: where it lies, and how it is made. The same
// route finds the document of a request and writes its URL into other
// documents, so the two cannot differ.
type kind struct {
	name string
	// path is a gorilla/mux template. One that begins with '/' is a path of
	// the host; others are below the Source's base, and those with a set
	// below the set.
	path   string
	ofSet  bool
	static bool // a function of the configuration alone
	render func(s *Source, ctx context.Context, t target) (*document, error)
	of     resourcesync.Capability // that a set must have
}

// isChannel reports whether what is of kind k is a notification channel.
func (k kind) isChannel() bool {
	switch k.name {
	case kindChangeTopic, kindChangeSocket, kindFrameworkTopic, kindFrameworkSocket:
		return true
	}
	return false
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
	kindDumpPackage     = "resourcedump-package" // not a document
	kindChangeList      = "changelist"
	kindChangeWindow    = "changelist-window"
	kindRecentChanges   = "changelist-recent"
	kindChangeDump      = "changedump"
	kindChangeDumpPart  = "changedump-part"
	kindChangeManifest  = "changedump-manifest"
	kindChangePackage   = "changedump-package" // not a document
	kindSitemap         = "sitemap"
	kindSitemapPage     = "sitemap-page"

	kindMemento = "memento" // not a document: a version of a resource

	// An archive has the name of its capability, and its pages have that name
	// with this end.
	archivePage = "-page"

	// Not documents but notification channels: topics, and the same channels by
	// WebSockets.
	kindChangeTopic     = "change-notification"
	kindChangeSocket    = kindChangeTopic + socket
	kindFrameworkTopic  = "framework-notification"
	kindFrameworkSocket = kindFrameworkTopic + socket

	socket = "-socket"
)

// kinds returns the kinds of documents of a Source. channels says that a set has
// notification channels.
func kinds(o *Options, channels bool) []kind {
	ks := []kind{
		{kindDescription, wellknown.Path, false, true, (*Source).renderDescription, ""},
		{kindDescriptionPart, "description/{part:[0-9]+}.xml", false, true, (*Source).renderDescription, ""},
		{kindCapabilityList, "capabilitylist.xml", true, true, (*Source).renderCapabilityList, ""},
		{kindResourceList, "resourcelist.xml", true, false, (*Source).renderResourceList, resourcesync.ResourceList},
		{kindResourcePage, "resourcelist/{part:[A-Za-z0-9_~.-]+}.xml", true, false, (*Source).renderResourcePage, resourcesync.ResourceList},
		{kindResourceDump, "resourcedump.xml", true, false, (*Source).renderResourceDump, resourcesync.ResourceDump},
		{kindDumpPart, "resourcedumps/{part:[A-Za-z0-9_~.-]+}.xml", true, false, (*Source).renderResourceDump, resourcesync.ResourceDump},
		{kindDumpManifest, "resourcedump/{part:[A-Za-z0-9_~.-]+}.xml", true, false, (*Source).renderManifest, resourcesync.ResourceDump},
		{kindDumpPackage, "resourcedump/{part:[A-Za-z0-9_~.-]+}.zip", true, false, nil, resourcesync.ResourceDump},
		{kindChangeList, "changelist.xml", true, false, (*Source).renderChangeList, resourcesync.ChangeList},
		{kindRecentChanges, "changelist/recent.xml", true, false, (*Source).renderRecentChanges, resourcesync.ChangeList},
		{kindChangeWindow, "changelist/{part:[0-9TZ.]+}.xml", true, false, (*Source).renderChangeWindow, resourcesync.ChangeList},
		{kindChangeDump, "changedump.xml", true, false, (*Source).renderChangeDump, resourcesync.ChangeDump},
		{kindChangeDumpPart, "changedumps/{part:[0-9TZ.]+}.xml", true, false, (*Source).renderChangeDumpPart, resourcesync.ChangeDump},
		{kindChangeManifest, "changedump/{part:[0-9TZ.-]+}.xml", true, false, (*Source).renderManifest, resourcesync.ChangeDump},
		{kindChangePackage, "changedump/{part:[0-9TZ.-]+}.zip", true, false, nil, resourcesync.ChangeDump},
		{kindMemento, "memento", true, false, nil, resourcesync.ChangeDump},
	}
	for _, c := range archives {
		path := strings.ReplaceAll(string(c), "-", "")
		ks = append(ks,
			kind{string(c), path + ".xml", true, false, (*Source).renderArchive, c},
			kind{string(c) + archivePage, path + "/{part:[0-9TZ.]+}.xml", true, false, (*Source).renderArchive, c})
	}
	if o.Sitemap {
		ks = append(ks,
			kind{kindSitemap, "sitemap.xml", true, false, (*Source).renderResourceList, resourcesync.ResourceList},
			kind{kindSitemapPage, "sitemap/{part:[A-Za-z0-9_~.-]+}.xml", true, false, (*Source).renderResourcePage, resourcesync.ResourceList})
	}
	if channels {
		ks = append(ks,
			kind{kindChangeTopic, "change/", true, false, nil, resourcesync.ChangeNotification},
			kind{kindFrameworkTopic, "framework/", true, false, nil, resourcesync.FrameworkNotification})
	}
	if o.WebSocket != nil {
		ks = append(ks,
			kind{kindChangeSocket, "change/websocket", true, false, nil, resourcesync.ChangeNotification},
			kind{kindFrameworkSocket, "framework/websocket", true, false, nil, resourcesync.FrameworkNotification})
	}
	return ks
}

// routes maps between paths and targets.
type routes struct {
	origin string // scheme and host of the public URLs
	base   string // path of the base, with a slash at its end
	router *mux.Router
	kinds  map[string]kind
	named  bool            // sets have a segment of their own
	ends   []string        // of all paths below the base
	begin  map[string]bool // how paths below the base begin, unless sets are named; see folderOf
}

func newRoutes(base *url.URL, named bool, ks []kind) *routes {
	rt := &routes{
		origin: base.Scheme + "://" + base.Host,
		base:   base.Path,
		router: mux.NewRouter().SkipClean(true),
		kinds:  make(map[string]kind),
		named:  named,
		ends:   []string{".xml", ".zip", kindMemento},
		begin:  make(map[string]bool),
	}
	for _, k := range ks {
		path := k.path
		switch {
		case strings.HasPrefix(path, "/"):
		case k.ofSet && named:
			path = rt.base + "{set}/" + path
		default:
			path = rt.base + path
		}
		rt.router.Path(path).Name(k.name)
		rt.kinds[k.name] = k
		rt.begin[folderOf(k.path)] = true
		if k.isChannel() {
			rt.ends = append(rt.ends, k.path)
		}
	}
	return rt
}

// A target is a document that a path leads to.
type target struct {
	kind string
	path string
	set  *set   // nil for the Source Description
	part string // which page, window or part
}

// capability returns the capability of a document that lists resources, changes
// or packages of them.
func (t target) capability() resourcesync.Capability {
	if index := t.index(); index != "" {
		return resourcesync.Capability(index)
	}
	if t.kind == kindRecentChanges {
		return resourcesync.ChangeList
	}
	return resourcesync.Capability(t.kind)
}

// index returns the kind of the index that t is a part of, or "".
func (t target) index() string {
	switch t.kind {
	case kindResourcePage:
		return kindResourceList
	case kindDumpPart:
		return kindResourceDump
	case kindChangeWindow:
		return kindChangeList
	case kindChangeDumpPart:
		return kindChangeDump
	}
	if t.isArchivePage() {
		return strings.TrimSuffix(t.kind, archivePage)
	}
	return ""
}

// isArchivePage reports whether t is a page of an archive.
func (t target) isArchivePage() bool {
	archive, isPage := strings.CutSuffix(t.kind, archivePage)
	return isPage && slices.Contains(archives, resourcesync.Capability(archive))
}

// manifest returns the manifest of the package t.
func (t target) manifest() target {
	if t.kind == kindChangePackage {
		t.kind = kindChangeManifest
	} else {
		t.kind = kindDumpManifest
	}
	return t
}

// isPackage reports whether t is no document but a package.
func (t target) isPackage() bool { return t.kind == kindDumpPackage || t.kind == kindChangePackage }

// isTopic reports whether t is no document but a topic, and isSocket whether it is
// a channel by WebSockets.
func (t target) isTopic() bool  { return t.kind == kindChangeTopic || t.kind == kindFrameworkTopic }
func (t target) isSocket() bool { return t.kind == kindChangeSocket || t.kind == kindFrameworkSocket }

// isSitemap reports whether t is a plain sitemap.
func (t target) isSitemap() bool { return t.kind == kindSitemap || t.kind == kindSitemapPage }

// match finds what a path leads to.
func (rt *routes) match(path string, sets map[string]*set) (target, bool) {
	// Most requests to a wrapped application are none of ours. They should
	// not pay for the router.
	if path != wellknown.Path && !rt.mayHave(path) {
		return target{}, false
	}
	var m mux.RouteMatch
	if !rt.router.Match(&http.Request{URL: &url.URL{Path: path}}, &m) || m.MatchErr != nil {
		return target{}, false
	}
	t := target{kind: m.Route.GetName(), path: path, part: m.Vars["part"]}
	if rt.kinds[t.kind].ofSet {
		of := rt.kinds[t.kind].of
		if t.set = sets[m.Vars["set"]]; t.set == nil || of != "" && !t.set.has(of) {
			return target{}, false
		}
	}
	if t.isTopic() && len(t.set.hubs) == 0 {
		return target{}, false // a topic must name its hubs
	}
	if t.kind == kindMemento && !t.set.memento {
		return target{}, false
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

// folderOf returns the first folder of a path, with a slash at its end, or the
// path itself if it is in none.
func folderOf(path string) string {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return path
}

// url returns the public URL of a document.
func (rt *routes) url(kind string, st *set, part string) string {
	var pairs []string
	if rt.kinds[kind].ofSet && rt.named {
		pairs = append(pairs, "set", st.name)
	}
	if part != "" {
		pairs = append(pairs, "part", part)
	}
	u, err := rt.router.Get(kind).URLPath(pairs...)
	if err != nil {
		// Every part is written by a function whose output its route takes.
		panic(fmt.Sprintf("rshttp: no URL for %s %v: %v", kind, pairs, err))
	}
	return rt.origin + u.EscapedPath()
}
