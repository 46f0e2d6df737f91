package main

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A content defines how the resources of a set are found and served. Fields that do not say
// otherwise may be nil.
type content struct {
	from slog.Attr // what the resources come from, for the log; mandatory
	unit string    // what they are, in the singular: file, page; mandatory

	// origin fills the stored set. Without it, nothing is scanned, and set has a Provider.
	origin scan.Origin

	// health returns the errors of a Provider of set that its Health does not report.
	health func() error

	// notes returns remarks that are not failures, for the public: they name no file and no
	// table.
	notes func() []string

	// changed is called at a ping with the URLs that it names, or none if anything may
	// have changed. Without it, a ping causes a complete scan.
	changed func(urls ...*url.URL)

	// ping returns the handler of pings with a token, in place of one that calls changed.
	ping func(token string) http.Handler

	// set has the fields that the published set adds to the scanned one, such as an Opener.
	// Its Provider, if there is one, replaces the scanned set.
	set rshttp.Set

	// handler returns the handler of the URLs of the set, which also serves the documents
	// of the Source: the result of Source.Wrap or sidecar.Wrap.
	handler func(src *rshttp.Source) (http.Handler, error)

	disk string // the folder that the origin fills; "" for none

	uploads bool // the handler bounds the bodies of requests

	// status adds the fields that only sets of this kind have to a status.
	status func(*status.Set)

	// close releases the resources that open has acquired.
	close func() error
}

// An originSet is the set in which an origin is published.
type originSet struct {
	name      string // "" if the set is alone
	log       *slog.Logger
	state     *state.State
	callback  *destination.Callback // of hubs; nil if they cannot reach it
	baseURL   string                // of the URLs that the set serves
	base      *url.URL              // baseURL, parsed
	hub       string                // the path of the built-in hub
	documents *url.URL              // the base of the set's documents
	retained  time.Duration         // how long changes are in Change Lists, or in the archive
	window    time.Duration         // how much longer the rest of a Change List can be
	stored    *sqlstore.Set
	scanned   *scan.Set                // nil if nothing is scanned, and until the origin is open
	reserved  atomic.Pointer[[]string] // paths of URLs of documents and other sets; folders end in a slash
}

// isReserved reports whether a document or another set has a URL path.
func (s *originSet) isReserved(path string) bool {
	reserved := s.reserved.Load()
	return reserved != nil && slices.ContainsFunc(*reserved, func(at string) bool {
		return path == at || strings.HasSuffix(at, "/") && strings.HasPrefix(path, at)
	})
}

// capabilityList returns the URL of the set's Capability List.
func (s *originSet) capabilityList() string {
	return s.documents.JoinPath("capabilitylist.xml").String()
}

// home returns the URL at which people see a Source: its page or, without pages, the Source
// Description.
func home(src *rshttp.Source) string { return cmp.Or(src.Page(), src.Description()) }
