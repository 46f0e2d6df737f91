package document

import (
	"context"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
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
	// Parts is the kind of the documents that it lists if it is an index.
	Parent, Parts string

	// Capability is stated by the document. It is empty for a plain sitemap.
	Capability resourcesync.Capability

	// listed reports whether a document lists t. Clients can request any range of
	// keys and any time, so requests for unlisted documents form a separate group, share a
	// part of the places, and are refused first. If it is nil, all are listed.
	listed func(t Target) bool

	// State reads the state of t. was is the state that a cached document shows, or
	// nil; if that is still current, State returns was itself. If State is nil, the document
	// is a function of the configuration.
	State func(ctx context.Context, t Target, was *State) (*State, error)

	// Render writes the document in the state st into b. It may set fields of st that
	// depend on the content. It returns ErrMoved if st is no longer current.
	Render func(ctx context.Context, t Target, st *State, b *render.Body) error

	// html means that the document has an HTML page, of the kind Page unless there are no
	// pages. Document is the kind of the document whose page this one is, or nil.
	html           bool
	Page, Document *Kind

	// Form is the response to a request for the URL.
	Form Form

	Manifest string // the kind of the manifest of a package

	// ranges returns the partitioner that names documents for ranges of keys.
	ranges func(*Set) *partition.Partitioner
}

// A Form is the response to a request for the URL of a kind: a document, or something
// else that documents link to.
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

// Kinds have the names of the capabilities that they implement.
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
	KindSitemapPage     = "sitemap-page"
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

// PageOf is the suffix of the name of the kind that is the page of another kind.
const PageOf = "-page-html"

// DocumentName returns the name of k or, if it is a page, of its document.
func (k *Kind) DocumentName() string {
	if k.Document != nil {
		return k.Document.Name
	}
	return k.Name
}

// names are the names of documents as the specifications write them.
var names = map[string]string{
	"description": "Source Description", "capabilitylist": "Capability List", "sitemap": "sitemap", "memento": "past version",
	"resourcelist": "Resource List", "changelist": "Change List", "resourcedump": "Resource Dump", "changedump": "Change Dump",
	"change": "Change", "framework": "Framework",
}

// NameOf returns the name of a kind of document for people.
func NameOf(kind string) string {
	of, part, _ := strings.Cut(kind, "-")
	name, ok := names[of]
	if !ok {
		return kind
	}
	if word, more, _ := strings.Cut(part, "-"); word == "manifest" || word == "archive" || word == "notification" {
		name, part = name+" "+strings.ToUpper(word[:1])+word[1:], more
	}
	if part != "" {
		name += " (" + strings.ReplaceAll(part, "-", " ") + ")"
	}
	return name
}
