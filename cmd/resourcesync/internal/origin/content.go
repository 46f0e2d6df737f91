package origin

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

// A Content defines how the resources of a set are found and served. Fields that do not say
// otherwise may be nil.
type Content struct {
	From slog.Attr // what the resources come from, for the log; mandatory
	Unit string    // what they are, in the singular: file, page; mandatory

	// Origin fills the stored set. Without it, nothing is scanned, and Set has a Provider.
	Origin scan.Origin

	// Health returns the errors of a Provider of Set that its Health does not report.
	Health func() error

	// Notes returns remarks that are not failures, for the public: they name no file and no
	// table.
	Notes func() []string

	// Changed is called at a ping with the URLs that it names, or none if anything may
	// have changed. Without it, a ping causes a complete scan.
	Changed func(urls ...*url.URL)

	// Ping returns the handler of pings with a token, in place of one that calls Changed.
	Ping func(token string) http.Handler

	// Set has the fields that the published set adds to the scanned one, such as an Opener.
	// Its Provider, if there is one, replaces the scanned set.
	Set rshttp.Set

	// Handler returns the handler of the URLs of the set, which also serves the documents
	// of the Source: the result of Source.Wrap or sidecar.Wrap.
	Handler func(src *rshttp.Source) (http.Handler, error)

	Disk string // the folder that the origin fills; "" for none

	Uploads bool // the handler bounds the bodies of requests

	// Status adds the fields that only sets of this kind have to a status.
	Status func(*status.Set)

	// Close releases the resources that Open has acquired.
	Close func() error
}

// A Set is the set in which an origin is published.
type Set struct {
	Name      string // "" if the set is alone
	Log       *slog.Logger
	State     *state.State
	Callback  *destination.Callback // of hubs; nil if they cannot reach it
	BaseURL   string                // of the URLs that the set serves
	Base      *url.URL              // BaseURL, parsed
	Hub       string                // the path of the built-in hub
	Documents *url.URL              // the base of the set's documents
	Retained  time.Duration         // how long changes are in Change Lists, or in the archive
	Window    time.Duration         // how much longer the rest of a Change List can be
	Stored    *sqlstore.Set
	Scanned   *scan.Set                // nil if nothing is scanned, and until the origin is open
	Reserved  atomic.Pointer[[]string] // paths of URLs of documents and other sets; folders end in a slash
}

// isReserved reports whether a document or another set has a URL path.
func (s *Set) isReserved(path string) bool {
	reserved := s.Reserved.Load()
	return reserved != nil && slices.ContainsFunc(*reserved, func(at string) bool {
		return path == at || strings.HasSuffix(at, "/") && strings.HasPrefix(path, at)
	})
}

// CapabilityList returns the URL of the set's Capability List.
func (s *Set) CapabilityList() string {
	return s.Documents.JoinPath("capabilitylist.xml").String()
}

// Home returns the URL at which people see a Source: its page or, without pages, the Source
// Description.
func Home(src *rshttp.Source) string { return cmp.Or(src.Page(), src.Description()) }
