package main

import (
	"log/slog"
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
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

	uploads bool // the handler bounds the bodies of requests

	// status adds the fields that only sets of this kind have to a status.
	status func(*status.Set)

	// close releases the resources that open has acquired.
	close func() error
}
